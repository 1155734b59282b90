"""A prompt that is read in parts, between the steps in which others are written."""

import numpy as np

from tfattn.serving.generation.cache import LEAST_CAPACITY, Cache, Layout, room
from tfattn.serving.generation.description import PREFILL
from tfattn.serving.generation.prompts import Model
from tfattn.serving.generation.row import Row


class Reading:
    """Reads the prompt of a row, all but its last token, into a cache of its own.

    Args:
        model: what reads.
        layout: of the cache.
        row: whose `num_read` first tokens need not be read.
        known: keys and values (L, 2, G, S, K), the first of which are of these tokens.
    """

    def __init__(self, model: Model, layout: Layout, row: Row, known: np.ndarray | None):
        self.row = row
        self._model = model
        self._until = len(row.prompt_ids) - 1
        capacity = room(self._until, least=LEAST_CAPACITY, most=max(self._until, LEAST_CAPACITY))
        self._cache = Cache(layout, capacity=capacity)
        if known is not None:
            self._cache.write(0, 0, known[:, :, :, : row.num_read])

    @property
    def is_done(self) -> bool:
        """Whether all is read."""
        return self.row.num_read >= self._until

    @property
    def keys_values(self) -> np.ndarray:
        """Of what was read, (L, 2, G, S, K)."""
        return self._cache.read(0, self.row.num_read)

    def read_more(self, most: int) -> None:
        """Read the next tokens, `most` at most."""
        start = self.row.num_read
        token_ids = self.row.prompt_ids[start : min(start + most, self._until)][None]
        inputs = {
            "token_ids": token_ids,
            "padding_mask": np.ones(token_ids.shape, bool),
            "lengths": np.array([start], np.int32),
            "past": self._cache.array,
        }
        self._cache.write(0, start, self._model.run(PREFILL, inputs)["keys_values"][:, :, 0])
        self.row.num_read += token_ids.shape[1]
