"""Where texts are written: prompts are read in parts, texts get a token a step, and join and leave between steps."""

from collections.abc import Sequence

import numpy as np

from tfattn.serving.generation.description import Description
from tfattn.serving.generation.limits import TextLimits
from tfattn.serving.generation.piece import Token
from tfattn.serving.generation.prefixes import Prefixes, common
from tfattn.serving.generation.prompts import Model
from tfattn.serving.generation.reading import Reading
from tfattn.serving.generation.row import Row
from tfattn.serving.generation.running_batch import RunningBatch

# Tokens of a prompt that are read between two steps: others wait meanwhile, or nobody does.
PART, PART_ALONE = 64, 512


class Desk:
    """The rows that have begun; one prompt is read at a time. One thread may use it, but for `warm_up`.

    What was read of texts that ended is kept for a while, for prompts that begin alike.

    Args:
        model: what reads and writes.
        description: what its export says of it.
        limits: how many texts are written at a time, and how much is kept of those that ended.
    """

    def __init__(self, model: Model, description: Description, limits: TextLimits):
        self._model, self._description, self._limits = model, description, limits
        self._prefixes = Prefixes(limits.prefix_bytes)
        self.clear()

    def clear(self) -> None:
        """Forget the rows, whatever state they are in."""
        self._reading: Reading | None = None
        self._running = RunningBatch(self._model, self._description, most_rows=self._limits.most_rows)

    @property
    def num_rows(self) -> int:
        """How many rows have begun."""
        return len(self._running.rows) + (self._reading is not None)

    @property
    def has_room(self) -> bool:
        """Whether another row may begin."""
        return self._reading is None and len(self._running.rows) < self._limits.most_rows

    def begin(self, row: Row) -> None:
        """Let a row begin, with what is known of its prompt."""
        row.num_read, known = self._known(row.prompt_ids[:-1])
        row.num_cached = row.num_read
        if row.num_read == len(row.prompt_ids) - 1:
            self._running.join(row, known)
        else:
            self._reading = Reading(self._model, self._description.layout, row, known)

    def step(self) -> list[tuple[Row, Sequence[tuple[int, Token | None]] | Exception]]:
        """Read a part of a prompt, and write tokens of every row whose prompt is read.

        Returns:
            as `RunningBatch.step`, and a row whose prompt cannot be read with the exception that ends it.
        """
        failed = []
        try:
            self._read_more()
        except Exception as error:
            failed = [(self._reading.row, error)]
            self._reading = None
        return failed + (self._running.step() if self._running.rows else [])

    def _read_more(self) -> None:
        if self._reading is not None:
            self._reading.read_more(PART if self._running.rows else PART_ALONE)
            if self._reading.is_done:
                self._running.join(self._reading.row, self._reading.keys_values)
                self._reading = None

    def end(self, row: Row) -> None:
        """Let a row leave, if it has begun."""
        if row in self._running.rows:
            try:
                self._prefixes.add(row.read_ids, self._running.keys_values(row))
            finally:
                self._running.leave(row)
        elif self._reading is not None and self._reading.row is row:
            self._reading = None

    def warm_up(self, row: Row) -> None:
        """Read and write a little of a row that nobody waits for."""
        reading = Reading(self._model, self._description.layout, row, None)
        reading.read_more(PART)
        batch = RunningBatch(self._model, self._description, most_rows=1)
        batch.join(row, reading.keys_values)
        batch.step()

    def _known(self, token_ids: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Find the keys and values of a text that begins with the most of some tokens; tell how many."""
        length, keys_values = self._prefixes.longest(token_ids)
        for other in self._running.rows:
            if (shared := common(other.read_ids, token_ids)) > length:
                length, keys_values = shared, self._running.keys_values(other)
        return length, keys_values
