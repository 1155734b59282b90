"""WordPiece tokenization of texts from the files in a LiteRT file, with NumPy and the standard library alone.

A reference for apps: the same few steps can be written in any language. Nothing is computed from Unicode tables, whose
versions differ between languages; the file has the table of characters that the model was trained with.
"""

import bisect
import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tfattn.errors import ServingError

VOCABULARY, SETTINGS, CHARACTERS = "vocab.txt", "tokenizer_config.json", "characters.i32"
MAX_WORD_LENGTH = 100  # characters; longer words are unknown
CONTINUES = "##"
LETTER, ALONE, SPACE, DROPPED = range(4)  # the low two bits of an entry of the table of characters


class WordPieceReader:
    """A reader of texts, or of pairs of texts, for a LiteRT file.

    The table of characters has rows of int32, sorted: the first code point of a run, and the entries of the run. Each
    entry is a new character: its kind in the low two bits, and the distance to it above them. Punctuation and Chinese
    characters are words of their own.

    Args:
        files: the files of a LiteRT file, see `ModelFile`.

    Raises:
        ServingError: the model has another tokenizer, or reads long texts in windows.

    Example:
        >>> model = LiteRtModel("reports_int8.tflite")
        >>> read = WordPieceReader(model.files)
        >>> model.run("serving_default", read(["Sorter blows fuses."]))["logits"]
    """

    def __init__(self, files: Mapping[str, bytes]):
        missing = {VOCABULARY, SETTINGS, CHARACTERS} - files.keys()
        settings = json.loads(files.get(SETTINGS, b"{}"))
        if missing or settings.get("doc_stride"):
            raise ServingError(
                "the model cannot be read by the WordPiece reader",
                expected="a WordPiece vocabulary, and texts that are truncated",
                received=f"no {', '.join(sorted(missing))}" if missing else "windows of long texts",
                remedy="Let a server with the export answer, or tokenize the texts in your app.",
            )
        tokens = files[VOCABULARY].decode("utf-8").split("\n")[:-1]
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._num_fields, self._max_length = len(settings["fields"]), settings["model_max_length"]
        table = np.frombuffer(files[CHARACTERS], "<i4")
        table = table[1:].reshape(-1, int(table[0]))  # the number of columns comes first
        self._starts, self._entries = table[:, 0].tolist(), table[:, 1:].tolist()

    def __call__(self, *texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Convert texts to the inputs of the network.

        Args:
            texts: the B texts of each field of the model, one or two.

        Returns:
            `token_ids`, `padding_mask` and `segment_ids`, (B, T) int32, padded to the longest row.
        """
        rows = [self.sequence(*row) for row in zip(*texts, strict=True)]
        width = max((len(ids) for ids, _ in rows), default=0)
        arrays = {name: np.zeros((len(rows), width), np.int32) for name in ("token_ids", "padding_mask", "segment_ids")}
        for index, (ids, segments) in enumerate(rows):
            for name, values in (("token_ids", ids), ("padding_mask", 1), ("segment_ids", segments)):
                arrays[name][index, : len(ids)] = values
        return arrays

    def sequence(self, *texts: str) -> tuple[list[int], list[int]]:
        """Return the token ids and the segment ids of a row: [CLS] a [SEP] or [CLS] a [SEP] b [SEP]."""
        if len(texts) != self._num_fields:
            raise ServingError("wrong number of texts", expected=str(self._num_fields), received=str(len(texts)))
        parts = [self.ids(text) for text in texts]
        room = self._max_length - len(texts) - 1
        ids, segments = [self._ids["[CLS]"]], [0]
        for number, (part, length) in enumerate(zip(parts, _kept([*map(len, parts)], room), strict=True)):
            part = [*part[:length], self._ids["[SEP]"]]
            ids += part
            segments += [number] * len(part)
        return ids, segments

    def ids(self, text: str) -> list[int]:
        """Return the ids of the pieces of a text."""
        return [number for word in self.words(text) for number in self._pieces(word)]

    def words(self, text: str) -> Iterator[str]:
        """Yield the normalized words of a text."""
        word = ""
        for character in map(ord, text):
            for entry in self._entries[bisect.bisect_right(self._starts, character) - 1]:
                kind, new = entry & 3, chr(character + (entry >> 2)) if entry & 3 != DROPPED else ""
                if kind == LETTER:
                    word += new
                elif kind != DROPPED:
                    yield from [word] if word else []
                    yield from [new] if kind == ALONE else []
                    word = ""
        yield from [word] if word else []

    def _pieces(self, word: str) -> list[int]:
        """Split a word into the longest pieces from the left."""
        pieces, start = [], 0
        while start < len(word) <= MAX_WORD_LENGTH:
            prefix = CONTINUES if start else ""
            for end in range(len(word), start, -1):
                if (number := self._ids.get(prefix + word[start:end])) is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return [self._ids["[UNK]"]]
        return pieces or [self._ids["[UNK]"]]


def _kept(lengths: list[int], room: int) -> list[int]:
    """Return how many pieces of each text are kept: the longer text is cut first, then both alike."""
    if len(lengths) == 1:
        return [min(lengths[0], room)]
    first, second = lengths
    shorter = min(first, second, room // 2)
    longer = min(max(first, second), room - shorter)
    return [longer, shorter] if first > second else [shorter, longer]
