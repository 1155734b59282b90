"""Streams of words for training of word vectors."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from tfattn.data.examples.encoding import STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.skip_gram_sampling import SkipGramSampling
from tfattn.data.examples.targets import Target
from tfattn.data.examples.transforms import Transform
from tfattn.errors import ConfigError
from tfattn.features import PADDING_MASK, SEQUENCE_IDS, TEXT, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.corpus_words import CorpusWords
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown

STORED = STORED_NAMES[TOKEN_IDS]


class WordStreams(Examples):
    """Records of consecutive words from concatenated texts. Context windows do not cross from one text into another.

    Training records are sampled again in each epoch, when they are read. Evaluation records are sampled once, when they
    are written.

    Args:
        length: words per record, before subsampling. With a `batch_size` of 1, a record is a training batch.
        window: the maximum number of context words on each side; the number of each word is uniform in [1, window].
        sample: threshold of subsampling: the fraction of all words above which occurrences of a word are dropped at
            random, more of them for more frequent words. Null keeps every word.
        noise_power: negative samples are drawn with probability proportional to their counts to this power.
    """

    keep_adjacent = False
    made_of = "texts that have two words"

    def __init__(
        self,
        *,
        length: PositiveInt = 1024,
        window: PositiveInt = 5,
        sample: PositiveFloat | None = 1e-3,
        noise_power: NonNegativeFloat = 0.75,
    ):
        self.length = length
        self.window = window
        self.sample = sample
        self.noise_power = noise_power
        self.sampler = functools.lru_cache(maxsize=1)(self._make_sampler)  # compiles a graph

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor counts words."""
        if not isinstance(preprocessor, CorpusWords):
            raise ConfigError(
                "it does not count the words of texts",
                key="preprocessing",
                expected="corpus_words",
                received=type(preprocessor).__name__,
            )

    def excluded(self, rows: Sequence[Row], preprocessor: CorpusWords) -> np.ndarray:
        return np.zeros(len(rows), bool)

    def truncated(self, rows: Sequence[Row], preprocessor: CorpusWords) -> np.ndarray:
        return np.zeros(len(rows), bool)  # long texts are divided

    def unknown(self, rows: Sequence[Row], preprocessor: CorpusWords) -> dict[str, Unknown]:
        return {}

    def features(self, row: Row, preprocessor: CorpusWords, targets: Target) -> dict[str, Feature]:
        sequence = Feature("int64", (None,))
        drawn = Feature("int64", (None,), mask=None, role="target")
        return {STORED: sequence, SEQUENCE_IDS: sequence, **dict.fromkeys(SkipGramSampling.targets, drawn)}

    def of(
        self, rows: Sequence[Row], preprocessor: CorpusWords, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        texts = list(preprocessor.encode(row.fields[TEXT] for row in rows))
        words = np.concatenate(texts)
        owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        draw = None if randomness.is_training else self.sampler(preprocessor)
        none = np.zeros(0, np.int32)
        for begin in range(0, len(words), self.length):
            part = slice(begin, begin + self.length)
            row = int(owners[begin])
            values = {STORED: words[part], SEQUENCE_IDS: owners[part] - row + 1}
            values |= dict.fromkeys(SkipGramSampling.targets, none)
            if draw:
                values = draw(values, randomness.seeds[row] + np.uint64(begin))
            if len(values[STORED]):
                yield Example(row, values)

    def transforms(self, preprocessor: CorpusWords) -> Sequence[Transform]:
        return [
            SkipGramSampling(preprocessor.counts, window=self.window, sample=self.sample, noise_power=self.noise_power)
        ]

    def _make_sampler(self, preprocessor: CorpusWords) -> Callable[[dict[str, Any], np.uint64], dict[str, np.ndarray]]:
        """Build the sampling function of evaluation records."""
        (transform,) = self.transforms(preprocessor)
        compiled = tf.function(transform, autograph=False, reduce_retracing=True)

        def draw(values, seed):
            words = tf.constant(values[STORED], tf.int32)[None]
            batch = {TOKEN_IDS: words, PADDING_MASK: tf.ones_like(words, tf.bool)}
            batch[SEQUENCE_IDS] = tf.constant(values[SEQUENCE_IDS], tf.int32)[None]
            found = compiled(batch, tf.constant([[int(seed.view(np.int64)), 0]], tf.int64))
            return {STORED_NAMES.get(name, name): found[name][0].numpy() for name in found if name != PADDING_MASK}

        return draw
