"""What decode_step is fed beside the cache: the settings and counts of each row, in arrays that stay where they are."""

from collections.abc import Mapping

import numpy as np

from tfattn.sampling_params import SamplingParams
from tfattn.serving.generation.cache import aligned

_TYPES = {int: np.int32, float: np.float32}


class Batch:
    """The settings of R rows.

    Args:
        rows: R.
        vocabulary_size: V.
    """

    def __init__(self, rows: int, vocabulary_size: int):
        self._arrays = {
            "seed": np.zeros(rows, np.int32),
            "index": np.zeros(rows, np.int32),
            **{name: np.full(rows, value, _TYPES[type(value)]) for name, value in vars(SamplingParams()).items()},
            "in_prompt": aligned((rows, vocabulary_size), np.dtype(bool)),
            "counts": aligned((rows, vocabulary_size), np.dtype(np.float32)),
        }

    def resized(self, rows: int) -> "Batch":
        """Return the settings of the first rows, with room for others."""
        vocabulary_size = self._arrays["counts"].shape[1]
        batch = Batch(rows, vocabulary_size)
        for name, array in batch._arrays.items():
            before = self._arrays[name]
            array[: len(before)] = before[: len(array)]
        return batch

    def put(self, row: int, settings: Mapping[str, float], *, seed: int, prompt_ids: np.ndarray) -> None:
        """Let a text begin in a row.

        Args:
            row: its number.
            settings: as `Settings.complete` returns them.
            seed: of which the low 32 bits count.
            prompt_ids: (P,).
        """
        for name, value in settings.items():
            self._arrays[name][row] = value
        self._arrays["seed"][row] = np.array(seed & 0xFFFFFFFF, np.uint32).view(np.int32)
        self._arrays["index"][row] = 0
        self._arrays["counts"][row] = 0.0
        self._arrays["in_prompt"][row] = False
        self._arrays["in_prompt"][row, prompt_ids] = True

    def clear(self, row: int) -> None:
        """Let a row be empty: a step reads its settings all the same."""
        self.put(row, vars(SamplingParams()), seed=0, prompt_ids=np.zeros(0, np.int32))

    def count(self, row: int, token_id: int) -> None:
        """Note that a token was written in a row."""
        self._arrays["index"][row] += 1
        self._arrays["counts"][row, token_id] += 1

    def move(self, source: int, target: int) -> None:
        """Let a row take the place of another."""
        for array in self._arrays.values():
            array[target] = array[source]

    def feeds(self) -> dict[str, np.ndarray]:
        """Return the arrays by the names of the inputs."""
        return dict(self._arrays)
