"""Examples for tagging: labels at the first tokens of words."""

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from tfattn.data.examples.examples import IGNORE_INDEX, Example, Examples, Randomness
from tfattn.data.examples.tag_targets import Tags
from tfattn.features import IS_TAGGED, LABEL_IDS, STARTS, WORD_NUMBERS
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor


class TaggedTokens(Examples):
    """Labels at the first token of each word; `label_ids` of other tokens is -1, which the loss ignores.

    Words are those of BERT, split at spaces and punctuation, because the same split applies to any input at prediction.
    If a word of the file has several such words, such as U.N., the first has the tag of the word, and the others
    continue the entity. `is_tagged` is 1 at the first only, so metrics count words of the file. If each character has a
    tag, a word has the tag of its first character.
    """

    def require(self, preprocessor: Preprocessor) -> None:
        preprocessor.locate("words")

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Tags, randomness: Randomness
    ) -> Iterator[Example]:
        made = super().of(rows, preprocessor, targets, randomness)
        for index, windows in itertools.groupby(made, key=lambda example: example.row):
            yield from _labelled(list(windows), targets.words(rows[index]))


def _labelled(windows: Sequence[Example], words: Sequence) -> Iterator[Example]:
    """Add labels to the examples of a row."""
    starts = [word.start for word in words]
    found = {
        start: bisect_right(starts, start) - 1
        for example in windows
        for number, start in zip(example.values[WORD_NUMBERS], example.values[STARTS], strict=True)
        if number
    }
    # The first BERT word of each word of the file, by offset in the text.
    firsts = {word: start for start, word in sorted(found.items(), reverse=True)}
    for row, values in windows:
        labels, tagged = [], []
        for number, start in zip(values[WORD_NUMBERS], values[STARTS], strict=True):
            is_first = bool(number) and firsts[found[start]] == start
            word = words[found[start]] if number else None
            labels.append(IGNORE_INDEX if word is None else word.first if is_first else word.others)
            tagged.append(int(is_first))
        yield Example(row, {**values, LABEL_IDS: labels, IS_TAGGED: tagged})
