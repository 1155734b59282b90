"""Phrases such as new_york_city: words that stand side by side far more often than by chance."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from tfattn.errors import ConfigError
from tfattn.preprocessing.number_streams import END_OF_TEXT, counts_of
from tfattn.preprocessing.pair_counts import PairCounts, pairs_of
from tfattn.preprocessing.phrase_joins import DECIMALS, Phrase, PhraseJoins

Score = Literal["ratio", "npmi"]


class Phrases:
    """How phrases are found in the training texts.

    In each pass, pairs of words whose score is above the threshold become one word, from left to right, with `_`
    between them; the next pass may join that with another. With n words in all, of which a occurs count(a) times,

        ratio   (count(ab) - min_count) / (count(a) count(b)) n
        npmi    log(n count(ab) / (count(a) count(b))) / log(n / count(ab)), and none below min_count

    Words that are dropped stand between others. At most 20 million different pairs are counted at once: of more, rare
    ones are forgotten meanwhile.

    Args:
        thresholds: of each pass; passes that follow should ask for less.
        min_count: the discount of the ratio, by which rare pairs are left apart, and the least count for `npmi`.
        score: `ratio` or `npmi`, the normalized mutual information, which is at most 1.

    Raises:
        ConfigError: a threshold that no pair can exceed.

    Source:
        Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 6; the
        factor n, which makes thresholds mean the same whatever the size of the corpus, is that of the word2vec tool
        (gensim multiplies by the number of different words and pairs). Bouma 2009, "Normalized (pointwise) mutual
        information in collocation extraction".

    Example:
        Phrases(thresholds=[200, 100])  # new york -> new_york, new_york city -> new_york_city
    """

    def __init__(
        self,
        *,
        thresholds: Annotated[list[float], Field(min_length=1)],
        min_count: PositiveInt = 5,
        score: Score = "ratio",
    ):
        if score == "npmi" and max(thresholds) >= 1:
            raise ConfigError(
                "no pair of words can exceed this threshold",
                key="thresholds",
                expected="numbers below 1 for the score npmi",
                received=str(max(thresholds)),
            )
        self.thresholds = thresholds
        self.min_count = min_count
        self.score = score

    def find(self, streams: Iterable[np.ndarray], words: Sequence[str]) -> tuple[list[Phrase], dict[str, int]]:
        """Find the phrases of streams of words.

        Args:
            streams: numbers of words, several whole texts in each; read once more than there are passes.
            words: in the order of their numbers.

        Returns:
            those that have a higher score than the threshold of their pass; and how often each word and phrase occurs
            where phrases are joined.
        """
        words = list(words)
        ids = {word: number for number, word in enumerate(words)}
        joins = PhraseJoins()
        phrases: list[Phrase] = []
        for number, threshold in enumerate(self.thresholds, start=1):
            counts, pairs = np.zeros(len(words), np.int64), PairCounts()
            total = 0
            for stream in map(joins, streams):
                counts += counts_of(stream, len(words))
                pairs.add(stream)
                total += np.count_nonzero(stream != END_OF_TEXT)
            keys, pair_counts = pairs.counted()
            firsts, seconds = pairs_of(keys)
            scores = self.scores(pair_counts, counts[firsts], counts[seconds], total)
            is_phrase = scores > threshold
            found = zip(*(values[is_phrase].tolist() for values in (firsts, seconds, pair_counts, scores)), strict=True)
            new = [
                Phrase(number, words[first], words[second], count, round(score, DECIMALS))
                for first, second, count, score in found
            ]
            for one in new:
                if ids.setdefault(one.word, len(words)) == len(words):
                    words.append(one.word)
            joins.append(new, ids)
            phrases += new
        counts = sum(counts_of(joins(stream), len(words)) for stream in streams)
        return phrases, dict(zip(words, counts.tolist(), strict=True))

    def scores(self, pairs: np.ndarray, firsts: np.ndarray, seconds: np.ndarray, total: int) -> np.ndarray:
        """Score pairs of words.

        Args:
            pairs, firsts, seconds: how often each pair and its two words occur, (P,) each.
            total: of all words.
        """
        by_chance = firsts * (seconds / total)
        if self.score == "ratio":
            return (pairs - self.min_count) / by_chance
        with np.errstate(divide="ignore", invalid="ignore"):  # where there is nothing but this pair
            found = np.log(pairs / by_chance) / np.log(total / pairs)
        return np.where(pairs >= self.min_count, found, -1.0)
