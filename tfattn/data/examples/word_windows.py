"""Windows of consecutive words for bidirectional language models."""

from collections.abc import Iterator, Sequence

import numpy as np
from pydantic import PositiveInt

from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.targets import Target
from tfattn.data.examples.transforms import Transform, WindowShift
from tfattn.errors import ConfigError
from tfattn.features import TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.spelled_words import SpelledWords


class WordWindows(Examples):
    """Records of equally many words from concatenated texts, each text between its boundary marks.

    A record has `length` + 1 words. Consecutive records share one word, so each direction predicts every word exactly
    once. The state of a recurrent model continues across the texts of a record and is reset at the next record.
    Therefore the order of records, the number of replicas and the resumption of a run do not change what a model reads.

    Args:
        length: words per record, boundary marks included.
        shift: whether training records start at another offset in each epoch, by up to `length` - 1 words.
    """

    keep_adjacent = False
    made_of = "texts"

    def __init__(self, *, length: PositiveInt = 128, shift: bool = False):
        self.length = length
        self.shift = shift

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor splits words into characters."""
        if not isinstance(preprocessor, SpelledWords):
            raise ConfigError(
                "it does not spell words",
                key="preprocessing",
                expected="spelled_words",
                received=type(preprocessor).__name__,
            )

    def truncated(self, rows: Sequence[Row], preprocessor: SpelledWords) -> np.ndarray:
        return np.zeros(len(rows), bool)  # long texts are divided

    def features(self, row: Row, preprocessor: SpelledWords, targets: Target) -> dict[str, Feature]:
        return {STORED_NAMES[TOKEN_IDS]: Feature("int64", (None,))}

    def of(
        self, rows: Sequence[Row], preprocessor: SpelledWords, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        (field,) = preprocessor.fields
        texts = list(preprocessor.sentences(row.fields[field] for row in rows))
        words = np.concatenate(texts)
        owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        size = 2 * self.length if self.shift and randomness.is_training else self.length + 1
        for begin in range(0, len(words) - 1, self.length):
            yield Example(int(owners[begin]), {STORED_NAMES[TOKEN_IDS]: words[begin : begin + size]})

    def transforms(self, preprocessor: SpelledWords) -> Sequence[Transform]:
        return [WindowShift(self.length + 1)] if self.shift else []
