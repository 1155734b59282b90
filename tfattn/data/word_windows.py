"""Texts as words laid end to end and cut into long records, for models that read in both directions."""

from collections.abc import Iterator, Sequence

import numpy as np
from pydantic import PositiveInt

from tfattn.data.encoding import STORED_NAMES, Feature
from tfattn.data.examples import Drawing, Example, Examples
from tfattn.data.targets import Target
from tfattn.data.transforms import Transform, WindowShift
from tfattn.errors import ConfigError
from tfattn.features import TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.spelled_words import SpelledWords


class WordWindows(Examples):
    """Lays texts end to end, each between its marks, and cuts them into records of equally many words.

    A record has one word more than `length`: the next one begins with its last, so that in each direction every word is
    told exactly once. States of a model go on through a record, from text to text, and begin anew with the next one; so
    any order, any number of replicas and any resumed run read the same.

    Args:
        length: words of a record, marks included.
        shift: whether training records are cut elsewhere in each epoch, up to `length` - 1 words further on.
    """

    keep_adjacent = False
    made_of = "texts"

    def __init__(self, *, length: PositiveInt = 128, shift: bool = False):
        self.length = length
        self.shift = shift

    def require(self, preprocessor: Preprocessor) -> None:
        """Refuse a preprocessor that does not spell words."""
        if not isinstance(preprocessor, SpelledWords):
            raise ConfigError(
                "it does not spell words",
                key="preprocessing",
                expected="spelled_words",
                received=type(preprocessor).__name__,
            )

    def truncated(self, rows: Sequence[Row], preprocessor: SpelledWords) -> np.ndarray:
        return np.zeros(len(rows), bool)  # long ones are divided

    def features(self, row: Row, preprocessor: SpelledWords, targets: Target) -> dict[str, Feature]:
        return {STORED_NAMES[TOKEN_IDS]: Feature("int64", (None,))}

    def of(
        self, rows: Sequence[Row], preprocessor: SpelledWords, targets: Target, drawing: Drawing
    ) -> Iterator[Example]:
        (field,) = preprocessor.fields
        texts = list(preprocessor.sentences(row.fields[field] for row in rows))
        words = np.concatenate(texts)
        owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        size = 2 * self.length if self.shift and drawing.is_training else self.length + 1
        for begin in range(0, len(words) - 1, self.length):
            yield Example(int(owners[begin]), {STORED_NAMES[TOKEN_IDS]: words[begin : begin + size]})

    def transforms(self, preprocessor: SpelledWords) -> Sequence[Transform]:
        return [WindowShift(self.length + 1)] if self.shift else []
