"""The texts that are written together, a token of each at every step; rows join and leave between steps."""

from concurrent.futures import wait

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
        self.rows.append(row)
        self._make_room()
        if keys_values is not None:
            self._cache.write(place, 0, keys_values[:, :, :, : row.num_read])
        self._batch.put(place, row.settings, seed=row.seed, prompt_ids=row.prompt_ids)

    def leave(self, row: Row) -> None:
        """Take a row out; the last one takes its place."""
        place, last = self.rows.index(row), len(self.rows) - 1
        moved = self.rows.pop()
        if place != last:
            self.rows[place] = moved
            self._cache.write(place, 0, self._cache.read(last, moved.num_read))
            self._batch.move(last, place)
        if not self.rows:
            self._resize(1, LEAST_CAPACITY)

    def keys_values(self, row: Row) -> np.ndarray:
        """Return the keys and values (L, 2, G, S, K) of a row, where they lie."""
        return self._cache.read(self.rows.index(row), row.num_read)

    def step(self) -> list[tuple[Row, list[tuple[int, Token | None]]]]:
        """Draw the next tokens of each row: one, and one behind each guess that was right.

        Returns:
            each row with its tokens and what is told of them, which it is to get before any row joins or leaves. Rows
            of which it is not known which tokens may come next are left out.
        """
        is_ready = self._ready()
        if not any(is_ready):
            return []
        longest = max(row.num_read for row in self.rows)
        limit = min(MOST_READ // len(self.rows), self._description.context - longest) - 1
        guesses = [row.guesses(limit) if ready else [] for row, ready in zip(self.rows, is_ready, strict=True)]
        most = max(map(len, guesses))
        self._make_room(most)
        drawn = self._model.run(STEP, self._inputs(guesses, most, is_ready), self._outputs())
        found = []
        for place, (row, guessed) in enumerate(zip(self.rows, guesses, strict=True)):
            if not is_ready[place]:
                continue
            token_ids = drawn["token_ids"][place].tolist()
            right = num_right(guessed, token_ids)
            row.learn(len(guessed), right)
            self._cache.write(place, row.num_read, drawn["keys_values"][:, :, place, :, : right + 1])
            for token_id in token_ids[: right + 1]:
                self._batch.count(place, token_id)
            told = [self._told(row, token_ids[time], drawn, place, time) for time in range(right + 1)]
            found.append((row, list(zip(token_ids, told, strict=False))))
        return found

    def _ready(self) -> list[bool]:
        """Wait a little for masks, and tell which rows have theirs."""
        wait([row.mask for row in self.rows if row.mask is not None], timeout=MASK_WAIT)
        return [row.mask is None or row.mask.done() for row in self.rows]

    def _inputs(self, guesses: list[list[int]], most: int, is_ready: list[bool]) -> dict[str, np.ndarray]:
        num_rows = self._cache.rows
        token_ids, lengths = np.zeros((num_rows, 1 + most), np.int32), np.zeros(num_rows, np.int32)
        padding_mask = np.zeros(token_ids.shape, bool)
        for place, (row, guessed) in enumerate(zip(self.rows, guesses, strict=True)):
            if not is_ready[place]:
                continue
            token_ids[place, : 1 + len(guessed)] = [row.last_id, *guessed]
            padding_mask[place, : 1 + len(guessed)] = True
            lengths[place] = row.num_read
        return {
            "token_ids": token_ids,
            "padding_mask": padding_mask,
            "lengths": lengths,
            "past": self._cache.array,
            "allowed": self._allowed(is_ready),
            **self._batch.feeds(),
        }

    def _allowed(self, is_ready: list[bool]) -> np.ndarray:
        if all(row.mask is None for row in self.rows):
            return np.ones((self._cache.rows, 1), bool)
        allowed = np.ones((self._cache.rows, self._description.vocabulary_size), bool)
        for place, row in enumerate(self.rows):
            # Where a mask could not be computed any token is drawn: the row fails when the token is added.
            if row.mask is not None and is_ready[place] and row.mask.exception() is None:
                allowed[place] = row.mask.result()
        return allowed

    def _outputs(self) -> tuple[str, ...]:
        """Return the outputs that somebody wants: all, or those without probabilities, which take time."""
        wants_all = any(row.likeliest is not None for row in self.rows)
        return () if wants_all else ("token_ids", "keys_values")

    def _told(self, row: Row, token_id: int, drawn: dict[str, np.ndarray], place: int, time: int) -> Token | None:
        if row.likeliest is None:
            return None
        likeliest = ()
        if row.likeliest:
            ids = drawn["likeliest_ids"][place, time, : row.likeliest].tolist()
            values = drawn["likeliest_log_probabilities"][place, time, : row.likeliest].tolist()
            likeliest = tuple((self._text(one), value) for one, value in zip(ids, values, strict=True))
        return Token(token_id, self._text(token_id), float(drawn["log_probability"][place, time]), likeliest)

    def _text(self, token_id: int) -> str:
        return self._description.token_bytes[token_id].decode("latin-1")

    def _make_room(self, num_guesses: int = 0) -> None:
        """Let the cache have room for a further position of every row and guesses, and not much more for long."""
        longest = max((row.num_read + 1 + num_guesses for row in self.rows), default=0)
        rows = room(len(self.rows), least=1, most=self._most_rows)
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
        self._cache.resize(rows, capacity)
        self._batch = self._batch.resized(rows)
