"""The keys and values of texts that were read or written, for texts that begin alike."""

from collections import OrderedDict

import numpy as np

MOST = 256  # texts, which are all looked through


class Prefixes:
    """Keeps the texts that were used last.

    Args:
        most_bytes: how many bytes of keys and values there are at most; 0 keeps none.
    """

    def __init__(self, most_bytes: int):
        self._most_bytes = most_bytes
        self._texts: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._bytes = 0
        self._number = 0

    def add(self, token_ids: np.ndarray, keys_values: np.ndarray) -> None:
        """Keep a text.

        Args:
            token_ids: (S,) of the text.
            keys_values: (L, 2, G, S, K), which are copied.
        """
        if not len(token_ids) or keys_values.nbytes > self._most_bytes:
            return
        for number, (known, _) in list(self._texts.items()):
            same = common(known, token_ids)
            if same == len(token_ids):  # a longer one begins with it
                self._texts.move_to_end(number)
                return
            if same == len(known):
                self._drop(number)
        self._number += 1
        self._texts[self._number] = token_ids.copy(), np.array(keys_values, order="C")
        self._bytes += keys_values.nbytes
        while self._bytes > self._most_bytes or len(self._texts) > MOST:
            self._drop(next(iter(self._texts)))

    def longest(self, token_ids: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Find the text that begins with the most of some tokens.

        Returns:
            how many they are, and its keys and values (L, 2, G, S, K), of which the first so many are meant.
        """
        best = max(self._texts, key=lambda number: common(self._texts[number][0], token_ids), default=None)
        if best is None:
            return 0, None
        known, keys_values = self._texts[best]
        if length := common(known, token_ids):
            self._texts.move_to_end(best)
        return length, keys_values

    def _drop(self, number: int) -> None:
        self._bytes -= self._texts.pop(number)[1].nbytes


def common(one: np.ndarray, other: np.ndarray) -> int:
    """Return how many tokens two texts have in common at their beginnings."""
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length
