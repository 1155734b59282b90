"""Documents laid end to end and cut into windows of equal length: for models that write on."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveInt

from tfattn.data.encoding import STORED_NAMES, Feature
from tfattn.data.examples import Drawing, Example, Examples
from tfattn.data.targets import Target
from tfattn.data.transforms import Transform
from tfattn.data.window_shift import WindowShift
from tfattn.errors import ConfigError
from tfattn.features import LOSS_MASK, SEQUENCE_IDS, TEXT, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.passages import batch_passages
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown


class Stream(NamedTuple):
    """Documents laid end to end, N tokens.

    Attributes:
        token_ids: (N,) int32.
        rows: (N,) int64, of which row each token is, rising.
    """

    token_ids: np.ndarray
    rows: np.ndarray


class TokenWindows(Examples):
    """Cuts documents, laid end to end with the end token before and behind each, into windows without padding.

    A window has one token more than the `max_length` of the preprocessing, all but the first of which are to be told.
    The next one begins with its last token, so each token is told exactly once; only the last window of the rows that
    are prepared together, which are of one part of one file, is shorter.

    Args:
        shift: whether training windows are cut elsewhere in each epoch, up to `max_length` - 1 tokens further on.
            Windows that measure stay where they are.
        separate: whether `sequence_ids` tell documents apart, so that models read each by itself. Each then has an end
            token of its own before it; else one stands between two.
        stride: of windows that measure, each begins so many tokens after the one before and tells these alone, so that
            every token is told by at least `max_length` - `stride` ones, where there are so many; by default they do
            not overlap. A small one takes long: each token is read `max_length` / `stride` times.

    Raises:
        ConfigError: the preprocessing does not turn whole texts into tokens, or has windows shorter than the stride.
    """

    stay_together = False
    made_of = "texts"

    def __init__(self, *, shift: bool = False, separate: bool = False, stride: PositiveInt | None = None):
        self.shift = shift
        self.separate = separate
        self.stride = stride

    def require(self, preprocessor: Preprocessor) -> None:
        """Refuse a preprocessor that does not turn whole texts into tokens."""
        if not isinstance(preprocessor, Language):
            raise ConfigError(
                "it does not turn whole texts into tokens and back",
                key="preprocessing",
                expected="byte_bpe, characters or words",
                received=type(preprocessor).__name__,
            )
        if self.stride and self.stride > preprocessor.max_length:
            raise ConfigError(
                "there would be tokens between two windows",
                key="examples.stride",
                expected=f"at most the max_length {preprocessor.max_length} of the preprocessing",
                received=str(self.stride),
            )

    def truncated(self, rows: Sequence[Row], preprocessor: Language) -> np.ndarray:
        return np.zeros(len(rows), bool)  # long ones are divided

    def unknown(self, rows: Sequence[Row], preprocessor: Language) -> dict[str, Unknown]:
        found: dict[str, Unknown] = {}
        for batch in batch_passages(row.fields[TEXT] for row in rows):
            for name, one in preprocessor.unknown({TEXT: batch.passages}).items():
                found[name] = found.get(name, Unknown()) + one
        return found

    def features(self, row: Row, preprocessor: Language, targets: Target) -> dict[str, Feature]:
        return {
            STORED_NAMES[TOKEN_IDS]: Feature("int64", (None,)),
            **({SEQUENCE_IDS: Feature("int64", (None,))} if self.separate else {}),
            **({LOSS_MASK: Feature("int64", (None,), role="target")} if self.stride else {}),
        }

    def of(self, rows: Sequence[Row], preprocessor: Language, targets: Target, drawing: Drawing) -> Iterator[Example]:
        room = preprocessor.max_length
        size = 2 * room if drawing.is_training and self.shift else room + 1
        step = self.stride if self.stride and not drawing.is_training else room
        stream = self._laid(rows, preprocessor)
        last = len(stream.token_ids) - 1
        for begin in range(0, last, step):
            told = 1 if begin == 0 or step == room else room + 1 - step  # the first token that is told
            if begin + told > last:
                return
            yield self._window(stream, slice(begin, begin + size), told)

    def transforms(self, preprocessor: Language) -> Sequence[Transform]:
        return [WindowShift(preprocessor.max_length + 1)] if self.shift else []

    def _laid(self, rows: Sequence[Row], preprocessor: Language) -> Stream:
        """Lay the documents of rows end to end."""
        end = np.array([preprocessor.end_id], np.int32)
        ids, owners = [] if self.separate else [end], [] if self.separate else [0]
        for number, found in enumerate(preprocessor.ids_of(row.fields[TEXT] for row in rows)):
            ids += [end, found, end] if self.separate else [found, end]
            owners += [number] * (3 if self.separate else 2)
        return Stream(np.concatenate(ids), np.repeat(owners, [len(part) for part in ids]))

    def _window(self, stream: Stream, place: slice, told: int) -> Example:
        """Cut a window, of which tokens are to be told from number `told` on."""
        token_ids, rows = stream.token_ids[place], stream.rows[place]
        values: dict[str, Any] = {STORED_NAMES[TOKEN_IDS]: token_ids}
        if self.separate:
            values[SEQUENCE_IDS] = np.unique(rows, return_inverse=True)[1] + 1
        if self.stride:
            values[LOSS_MASK] = (np.arange(len(token_ids)) >= told).astype(np.int32)
        return Example(int(rows[0]), values)
