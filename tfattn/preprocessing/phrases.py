"""Detection of phrases such as new_york_city: words that are adjacent far more often than by chance."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from tfattn.errors import ConfigError
from tfattn.preprocessing.phrase_joins import DECIMALS, PairCounts, Phrase, PhraseJoins, unpack_pairs
from tfattn.preprocessing.word_streams import END_OF_TEXT, count_ids

Score = Literal["ratio", "npmi"]


class Phrases:
    """The search for phrases in the training texts.

    Each pass joins adjacent words whose score is above the threshold to one word, from left to right, with `_`
    between them; the next pass may join that word with another. For n words in total and count(a) occurrences of
    the word a,

        ratio   (count(ab) - min_count) / (count(a) count(b)) n
        npmi    log(n count(ab) / (count(a) count(b))) / log(n / count(ab)), pairs below min_count are no phrases

    A dropped word separates its neighbors. Above 20 million distinct pairs, rare pairs are pruned while counting.

    Args:
        thresholds: the threshold of each pass; later passes should have lower thresholds.
        min_count: the discount of rare pairs for `ratio`, and the lowest count of a pair for `npmi`.
        score: `ratio` or `npmi`, the normalized mutual information, which is at most 1.

    Raises:
        ConfigError: a threshold that no pair can exceed.

    Source:
        Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 6; the
        factor n, which makes thresholds independent of the size of the corpus, is that of the word2vec tool
        (gensim multiplies by the number of distinct words and pairs). Bouma 2009, "Normalized (pointwise) mutual
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
            streams: word ids of several whole texts each; read once per pass and once more.
            words: the words in the order of their ids.

        Returns:
            the phrases, and the count of each word and phrase after all phrases are joined.
        """
        words = list(words)
        ids = {word: number for number, word in enumerate(words)}
        joins = PhraseJoins()
        phrases: list[Phrase] = []
        for number, threshold in enumerate(self.thresholds, start=1):
            counts, pairs = np.zeros(len(words), np.int64), PairCounts()
            total = 0
            for stream in map(joins, streams):
                counts += count_ids(stream, len(words))
                pairs.add(stream)
                total += np.count_nonzero(stream != END_OF_TEXT)
            keys, pair_counts = pairs.result()
            firsts, seconds = unpack_pairs(keys)
            scores = self.scores(pair_counts, counts[firsts], counts[seconds], total)
            is_phrase = scores > threshold
            found = zip(*(values[is_phrase].tolist() for values in (firsts, seconds, pair_counts, scores)), strict=True)
            new = [
                Phrase(number, words[first], words[second], count, round(score, DECIMALS))
                for first, second, count, score in found
            ]
            for phrase in new:
                if ids.setdefault(phrase.word, len(words)) == len(words):
                    words.append(phrase.word)
            joins.append(new, ids)
            phrases += new
        counts = sum(count_ids(joins(stream), len(words)) for stream in streams)
        return phrases, dict(zip(words, counts.tolist(), strict=True))

    def scores(self, pairs: np.ndarray, firsts: np.ndarray, seconds: np.ndarray, total: int) -> np.ndarray:
        """Score pairs of words.

        Args:
            pairs, firsts, seconds: the counts of each pair and of its two words, (P,) each.
            total: the number of words.
        """
        by_chance = firsts * (seconds / total)
        if self.score == "ratio":
            return (pairs - self.min_count) / by_chance
        with np.errstate(divide="ignore", invalid="ignore"):  # a corpus of a single pair
            found = np.log(pairs / by_chance) / np.log(total / pairs)
        return np.where(pairs >= self.min_count, found, -1.0)
