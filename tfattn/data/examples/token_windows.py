"""Fixed-length windows of concatenated documents, for language models."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveInt

from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.targets import Target
from tfattn.data.examples.transforms import Transform, WindowShift
from tfattn.errors import ConfigError
from tfattn.features import LOSS_MASK, SEQUENCE_IDS, TEXT, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.passages import batch_passages
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown


class Stream(NamedTuple):
    """Concatenated documents of N tokens.

    Attributes:
        token_ids: (N,) int32.
        rows: (N,) int64, ascending, the row of each token.
    """

    token_ids: np.ndarray
    rows: np.ndarray


class TokenWindows(Examples):
    """Windows without padding from concatenated documents, which the end token separates.

    A window has `max_length` + 1 tokens, for the `max_length` of the preprocessing; every token but the first is a
    target. Consecutive windows share one token, so each token is a target exactly once. Rows are processed in parts of
    a file, and only the last window of a part is shorter.

    Args:
        shift: whether training windows start at another offset in each epoch, by up to `max_length` - 1 tokens.
            Evaluation windows do not move.
        separate: whether `sequence_ids` separate documents, so that attention does not cross them. Each document then
            starts with its start token, or else an end token, and ends with an end token; otherwise one end token is
            between two documents.
        stride: distance between the starts of evaluation windows. A window then predicts its last `stride` tokens
            only, each from at least `max_length` - `stride` tokens of context where available. By default windows do
            not overlap. Evaluation time grows with `max_length` / `stride`.

    Raises:
        ConfigError: the preprocessing does not tokenize whole texts, or its `max_length` is below the stride.
    """

    keep_adjacent = False
    made_of = "texts"

    def __init__(self, *, shift: bool = False, separate: bool = False, stride: PositiveInt | None = None):
        self.shift = shift
        self.separate = separate
        self.stride = stride

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor tokenizes whole texts, and that windows are not shorter than the stride."""
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
        return np.zeros(len(rows), bool)  # long texts are divided

    def unknown(self, rows: Sequence[Row], preprocessor: Language) -> dict[str, Unknown]:
        found: dict[str, Unknown] = {}
        for batch in batch_passages(row.fields[TEXT] for row in rows):
            for name, counts in preprocessor.unknown({TEXT: batch.passages}).items():
                found[name] = found.get(name, Unknown()) + counts
        return found

    def features(self, row: Row, preprocessor: Language, targets: Target) -> dict[str, Feature]:
        return {
            STORED_NAMES[TOKEN_IDS]: Feature("int64", (None,)),
            **({SEQUENCE_IDS: Feature("int64", (None,))} if self.separate else {}),
            **({LOSS_MASK: Feature("int64", (None,), role="target")} if self.stride else {}),
        }

    def of(
        self, rows: Sequence[Row], preprocessor: Language, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        room = preprocessor.max_length
        size = 2 * room if randomness.is_training and self.shift else room + 1
        step = self.stride if self.stride and not randomness.is_training else room
        stream = self._concatenate(rows, preprocessor)
        last = len(stream.token_ids) - 1
        for begin in range(0, last, step):
            first_target = 1 if begin == 0 or step == room else room + 1 - step
            if begin + first_target > last:
                return
            yield self._window(stream, slice(begin, begin + size), first_target)

    def transforms(self, preprocessor: Language) -> Sequence[Transform]:
        return [WindowShift(preprocessor.max_length + 1)] if self.shift else []

    def _concatenate(self, rows: Sequence[Row], preprocessor: Language) -> Stream:
        """Concatenate the documents of rows; a document without a start token starts with an end token."""
        end = np.array([preprocessor.end_id], np.int32)
        begin = [] if preprocessor.start_ids else [end]
        ids, owners = ([], []) if self.separate else (list(begin), [0] * len(begin))
        for number, found in enumerate(preprocessor.encode_documents(row.fields[TEXT] for row in rows)):
            parts = [*begin, found, end] if self.separate else [found, end]
            ids += parts
            owners += [number] * len(parts)
        return Stream(np.concatenate(ids), np.repeat(owners, [len(part) for part in ids]))

    def _window(self, stream: Stream, window: slice, first_target: int) -> Example:
        """Cut a window whose targets start at index `first_target`."""
        token_ids, rows = stream.token_ids[window], stream.rows[window]
        values: dict[str, Any] = {STORED_NAMES[TOKEN_IDS]: token_ids}
        if self.separate:
            values[SEQUENCE_IDS] = np.unique(rows, return_inverse=True)[1] + 1
        if self.stride:
            values[LOSS_MASK] = (np.arange(len(token_ids)) >= first_target).astype(np.int32)
        return Example(int(rows[0]), values)
