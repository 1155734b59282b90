"""The texts that are written together, a token of each at every step; rows join and leave between steps."""

from collections.abc import Sequence
from concurrent.futures import wait
from typing import NamedTuple

import numpy as np

from tfattn.serving.generation.batch import Batch
from tfattn.serving.generation.cache import LEAST_CAPACITY, Cache, room
from tfattn.serving.generation.description import STEP, Description
from tfattn.serving.generation.drafts import num_right
from tfattn.serving.generation.piece import Token
from tfattn.serving.generation.prompts import Model
from tfattn.serving.generation.row import Row

# So many steps a batch keeps room that it could do without: others may join soon, and to move the cache costs about as
# much as a step.
PATIENCE = 16
# So many tokens a step reads, guesses included: that takes about as long as one, for either reads all weights. Twice as
# many take a third longer, and guesses seldom save as much.
MOST_READ = 8
# So long a step waits for the masks of guided rows, in seconds. Most masks take far less; rows whose masks take longer
# sit the step out, so that the others do not wait for them.
MASK_WAIT = 0.002


class Drawn(NamedTuple):
    """What a step has drawn for a row.

    Attributes:
        tokens: the next tokens: one, and one after each guess that was right; and what is reported of each.
        num_guessed: how many tokens were guessed.
        keys_values: (L, 2, G, T, K), of the tokens that were read: as many as `tokens`.
    """

    tokens: list[tuple[int, Token | None]]
    num_guessed: int
    keys_values: np.ndarray


class RunningBatch:
    """Rows that are written together. The first rows of the cache are theirs, in the order of `rows`.

    Args:
        model: what computes.
        description: what its export says of it.
        most_rows: how many rows there are at most.

    Attributes:
        rows: the texts that are written.
    """

    def __init__(self, model: Model, description: Description, *, most_rows: int):
        self.rows: list[Row] = []
        self._model, self._description, self._most_rows = model, description, most_rows
        self._cache = Cache(description.layout)
        self._batch = Batch(1, description.vocabulary_size)
        self._too_large = 0  # steps for which there has been more room than needed

    def join(self, row: Row, keys_values: np.ndarray | None) -> None:
        """Let a row be written from the next step on.

        Args:
            row: of whose prompt all but the last token is read.
            keys_values: (L, 2, G, S, K), the first of which are those of the row; None where it has none.
        """
        place = len(self.rows)
        self._make_room([*self.rows, row])
        if keys_values is not None:
            self._cache.write(place, 0, keys_values[:, :, :, : row.num_read])
        self._batch.put(place, row.settings, seed=row.seed, prompt_ids=row.prompt_ids)
        self.rows.append(row)

    def leave(self, row: Row) -> None:
        """Take a row out; the last one takes its place."""
        place, last = self.rows.index(row), len(self.rows) - 1
        moved = self.rows.pop()
        if place != last:
            self.rows[place] = moved
            self._cache.write(place, 0, self._cache.read(last, moved.num_read))
            self._batch.move(last, place)
        self._batch.clear(last)
        if not self.rows:
            self._resize(1, LEAST_CAPACITY)

    def keys_values(self, row: Row) -> np.ndarray:
        """Return the keys and values (L, 2, G, S, K) of a row, where they lie."""
        return self._cache.read(self.rows.index(row), row.num_read)

    def step(self) -> list[tuple[Row, list[tuple[int, Token | None]] | Exception]]:
        """Draw the next tokens of each row: one, and one after each guess that was right.

        Returns:
            each row with its tokens and what is reported of them, which it is to get before any row joins or leaves; or
            with the exception that ends it. Rows whose mask is not known yet are left out.
        """
        is_ready = self._ready()
        longest = max(row.num_read for row in self.rows)
        most = max(0, min(MOST_READ // len(self.rows), self._description.context - longest) - 1)
        self._make_room(self.rows, most)
        drawn = self._drawn(slice(0, len(self.rows)), is_ready, most)
        return [(row, self._kept(index, drawn[index])) for index, row in enumerate(self.rows) if is_ready[index]]

    def _kept(self, place: int, drawn: Drawn | Exception) -> list[tuple[int, Token | None]] | Exception:
        """Note what was drawn for a row, and return its tokens."""
        if isinstance(drawn, Exception):
            return drawn
        try:
            for token_id, _ in drawn.tokens:
                self._batch.count(place, token_id)
            self._cache.write(place, self.rows[place].num_read, drawn.keys_values)
            self.rows[place].learn(drawn.num_guessed, len(drawn.tokens) - 1)
        except Exception as error:
            return error
        return drawn.tokens

    def _drawn(self, places: slice, is_ready: Sequence[bool], most: int) -> list[Drawn | Exception | None]:
        """Draw tokens for some rows; where that fails, for each of them alone, so that one cannot end the others."""
        if not any(is_ready[places]):
            return [None for _ in self.rows[places]]
        try:
            return self._computed(places, is_ready[places], most)
        except Exception as error:
            alone = [slice(place, place + 1) for place in range(places.start, places.stop)]
            each = [drawn for place in alone for drawn in self._drawn(place, is_ready, most)] if len(alone) > 1 else []
            return each or [error]

    def _computed(self, places: slice, is_ready: Sequence[bool], most: int) -> list[Drawn | None]:
        rows = self.rows[places]
        guesses = [row.guesses(most) if ready else [] for row, ready in zip(rows, is_ready, strict=True)]
        drawn = self._model.run(STEP, self._inputs(places, guesses, is_ready), self._outputs())
        found = []
        for place, (row, guessed) in enumerate(zip(rows, guesses, strict=True)):
            if not is_ready[place]:
                found.append(None)
                continue
            own = {name: array[:, :, place] if name == "keys_values" else array[place] for name, array in drawn.items()}
            token_ids = own["token_ids"].tolist()
            token_ids = token_ids[: num_right(guessed, token_ids) + 1]
            tokens = [(token_id, self._told(row, token_id, own, time)) for time, token_id in enumerate(token_ids)]
            found.append(Drawn(tokens, len(guessed), own["keys_values"][:, :, :, : len(tokens)]))
        return found

    def _ready(self) -> list[bool]:
        """Wait a little for masks, and return which rows have theirs."""
        wait([row.mask for row in self.rows if row.mask is not None], timeout=MASK_WAIT)
        return [row.mask is None or row.mask.done() for row in self.rows]

    def _inputs(
        self, places: slice, guesses: Sequence[Sequence[int]], is_ready: Sequence[bool]
    ) -> dict[str, np.ndarray]:
        """Return what a step reads of some rows: of all with the room for others, as it lies, or of one."""
        rows, past = self.rows[places], self._cache.array
        if len(rows) < len(self.rows):
            past = self._cache.row(places.start)
        else:
            places = slice(0, self._cache.rows)
        token_ids = np.zeros((past.shape[2], 1 + max(map(len, guesses))), np.int32)
        lengths, padding_mask = np.zeros(len(token_ids), np.int32), np.zeros(token_ids.shape, bool)
        for place, (row, guessed) in enumerate(zip(rows, guesses, strict=True)):
            if not is_ready[place]:
                continue
            token_ids[place, : 1 + len(guessed)] = [row.last_id, *guessed]
            padding_mask[place, : 1 + len(guessed)] = True
            lengths[place] = row.num_read
        return {
            "token_ids": token_ids,
            "padding_mask": padding_mask,
            "lengths": lengths,
            "past": past,
            "allowed": self._allowed(rows, len(token_ids), is_ready),
            **({"logit_bias": self._logit_bias(rows, len(token_ids))} if self._description.takes_logit_bias else {}),
            **{name: array[places] for name, array in self._batch.feeds().items()},
        }

    def _allowed(self, rows: Sequence[Row], count: int, is_ready: Sequence[bool]) -> np.ndarray:
        if all(row.is_free for row in rows):
            return np.ones((count, 1), bool)
        allowed = np.ones((count, self._description.vocabulary_size), bool)
        for index, row in enumerate(rows):
            if is_ready[index] and not row.is_free:
                allowed[index] = row.allowed()
        return allowed

    def _logit_bias(self, rows: Sequence[Row], count: int) -> np.ndarray:
        width = self._description.vocabulary_size if any(row.logit_bias for row in rows) else 1
        every = np.zeros((count, width), np.float32)
        for place, row in enumerate(rows):
            if row.logit_bias:
                every[place, list(row.logit_bias)] = list(row.logit_bias.values())
        return every

    def _outputs(self) -> tuple[str, ...]:
        """Return the outputs that somebody wants: all, or those without probabilities, which take time."""
        wants_all = any(row.likeliest is not None for row in self.rows)
        return () if wants_all else ("token_ids", "keys_values")

    def _told(self, row: Row, token_id: int, drawn: dict[str, np.ndarray], time: int) -> Token | None:
        if row.likeliest is None:
            return None
        likeliest = ()
        if row.likeliest:
            ids = drawn["likeliest_ids"][time, : row.likeliest].tolist()
            values = drawn["likeliest_log_probabilities"][time, : row.likeliest].tolist()
            likeliest = tuple((self._text(one), value) for one, value in zip(ids, values, strict=True))
        return Token(token_id, self._text(token_id), float(drawn["log_probability"][time]), likeliest)

    def _text(self, token_id: int) -> str:
        return self._description.token_bytes[token_id].decode("latin-1")

    def _make_room(self, for_rows: Sequence[Row], num_guesses: int = 0) -> None:
        """Let the cache have room for a further position of every row and guesses, and not much more for long."""
        longest = max(row.num_read + 1 + num_guesses for row in for_rows)
        rows = room(len(for_rows), least=1, most=self._most_rows)
        capacity = room(longest, least=LEAST_CAPACITY, most=self._description.context)
        is_small = rows > self._cache.rows or capacity > self._cache.capacity
        is_large = rows < self._cache.rows or capacity < self._cache.capacity
        self._too_large = self._too_large + 1 if is_large else 0
        if is_small:
            self._resize(max(rows, self._cache.rows), max(capacity, self._cache.capacity))
        elif self._too_large > PATIENCE:
            self._resize(rows, capacity)

    def _resize(self, rows: int, capacity: int) -> None:
        self._too_large = 0
        batch = self._batch.resized(rows)  # first, so that both change or neither
        self._cache.resize(rows, capacity)
        self._batch = batch
