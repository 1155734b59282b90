"""Examples of tagged texts: labels at the first tokens of words."""

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from tfattn.data.examples import Drawing, Example, Examples
from tfattn.data.tag_targets import Tags
from tfattn.features import IS_TAGGED, LABEL_IDS, STARTS, WORD_NUMBERS
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor

NONE = -1


class TaggedTokens(Examples):
    """Gives each word a label at its first token, and none to other tokens: there `label_ids` has -1.

    Words are those that BERT finds, between spaces and around punctuation, because these can be found in any text that
    is asked about later. A word of the file that has several of them, such as U.N., has its tag at the first, and the
    others go on with the same entity. `is_tagged` is 1 at the first alone: the metrics count words of the file. Where
    each character has a tag, a word has that of its first.
    """

    def require(self, preprocessor: Preprocessor) -> None:
        preprocessor.locate("words")

    def of(self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Tags, drawing: Drawing) -> Iterator[Example]:
        made = super().of(rows, preprocessor, targets, drawing)
        for index, windows in itertools.groupby(made, key=lambda example: example.row):
            yield from _labelled(list(windows), targets.words(rows[index]))


def _labelled(windows: Sequence[Example], words: Sequence) -> Iterator[Example]:
    """Add labels to the examples of one row."""
    starts = [word.start for word in words]
    found = {
        start: bisect_right(starts, start) - 1
        for example in windows
        for number, start in zip(example.values[WORD_NUMBERS], example.values[STARTS], strict=True)
        if number
    }
    # The first of each word of the file, by their places in the text.
    firsts = {word: start for start, word in sorted(found.items(), reverse=True)}
    for row, values in windows:
        labels, tagged = [], []
        for number, start in zip(values[WORD_NUMBERS], values[STARTS], strict=True):
            is_first = bool(number) and firsts[found[start]] == start
            word = words[found[start]] if number else None
            labels.append(NONE if word is None else word.first if is_first else word.others)
            tagged.append(int(is_first))
        yield Example(row, {**values, LABEL_IDS: labels, IS_TAGGED: tagged})
