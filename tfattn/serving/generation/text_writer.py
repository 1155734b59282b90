"""The text of tokens as they come: whole characters only, and nothing of what may become a stop string."""

import codecs
from collections.abc import Sequence


class TextWriter:
    """Tells of a text what is certain.

    Held back is a character until its last byte is there, and what a stop string may begin with, until it is one or can
    no longer become one. As in the export's own texts, a character that is not finished at the end is dropped, and what
    else is no UTF-8 becomes U+FFFD. The pieces together are the whole text.

    Args:
        stops: the stop strings, none of them empty.

    Attributes:
        is_stopped: whether a stop string was there; the text ends before it.
        num_bytes: how many bytes of tokens the text that was told stands for.

    Example:
        >>> writer = TextWriter(["END"])
        >>> [writer.add(token) for token in (b"caf\\xc3", b"\\xa9 E", b"N", b"E")], writer.end()
        (['caf', 'é ', '', 'EN'], 'E')
    """

    def __init__(self, stops: Sequence[str] = ()):
        self.is_stopped = False
        self.num_bytes = 0
        self._stops = [stop.encode("utf-8", "replace") for stop in stops]
        self._held = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: bytes, *, may_stop: bool = True) -> str:
        """Add the bytes of a token; return what is certain now and was not before.

        Args:
            token: the bytes.
            may_stop: whether a stop string that is whole by now ends the text.
        """
        self._held += token
        found = [place for stop in self._stops if may_stop and (place := self._held.find(stop)) >= 0]
        if found:
            self.is_stopped = True
            return self._told(min(found))
        return self._told(len(self._held) - self._may_begin_stop())

    def end(self) -> str:
        """Return what was held back for a stop string: there is no more to come."""
        return self._told(len(self._held))

    def _told(self, count: int) -> str:
        told, self._held = self._held[:count], self._held[count:]
        before = len(self._decoder.getstate()[0])
        text = self._decoder.decode(told)
        self.num_bytes += before + count - len(self._decoder.getstate()[0])
        return text

    def _may_begin_stop(self) -> int:
        """Return how many of the last bytes may be the beginning of a stop string."""
        longest = min(max(map(len, self._stops), default=1) - 1, len(self._held))
        for length in range(longest, 0, -1):
            ending = self._held[-length:]
            if any(stop.startswith(ending) for stop in self._stops):
                return length
        return 0
