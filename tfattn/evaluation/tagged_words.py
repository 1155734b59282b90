"""Tagged texts as reports compare them: words of the file, or characters, the tags they have and those they got."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfattn.data.tag_targets import tags_of, words_of
from tfattn.features import ENDS, LABEL_IDS, STARTS, TAGS, TEXT, WORD_NUMBERS
from tfattn.formats.tag_schemes import Span, spans, to_iob2
from tfattn.tasks.tagged_entities import tags_of as tags_of_labels


@dataclass(frozen=True)
class TaggedText:
    """A row.

    Args:
        place: its file and line.
        text: as it was read.
        words: what has tags, its words or its characters: the first character of each, and the one behind its last.
        true, given: the tag of each, in IOB2.
        certainty: (W,) the score of each given label; 0 of a word that was not read.
    """

    place: str
    text: str
    words: Sequence[tuple[int, int]]
    true: Sequence[str]
    given: Sequence[str]
    certainty: np.ndarray

    @property
    def is_by_character(self) -> bool:
        """Whether characters have tags, and not words."""
        return len(self.words) > len(self.text.split(" "))

    @property
    def spans(self) -> tuple[set[Span], set[Span]]:
        """The entities that there are, and those that were given."""
        return set(spans(self.true)), set(spans(self.given))

    @property
    def certainty_of_mistakes(self) -> float:
        """How certain the model was of its most certain mistake."""
        wrong = np.array([true != given for true, given in zip(self.true, self.given, strict=True)], bool)
        return float(self.certainty[wrong].max(initial=0.0))

    def place_of(self, span: Span) -> tuple[int, int]:
        """Return the first character of an entity, and the one behind its last."""
        return self.words[span.first][0], self.words[span.last][1]


def tagged(
    rows: Sequence[Mapping[str, str]], predicted: Mapping[str, np.ndarray], labels: Sequence[str]
) -> list[TaggedText]:
    """Compare rows with what was predicted for them.

    Args:
        rows: N raw rows.
        predicted: of `TokenClassification.predictions`, each (N, ...).
        labels: the types of entities in the order of their numbers.
    """
    return [_tagged(row, {name: x[number] for name, x in predicted.items()}, labels) for number, row in enumerate(rows)]


def _tagged(row: Mapping[str, str], predicted: Mapping[str, np.ndarray], labels: Sequence[str]) -> TaggedText:
    true = tags_of(row[TAGS], row["row"])
    words = words_of(row[TEXT], true)
    is_word = predicted[WORD_NUMBERS] > 0
    starts, ends, label_ids = (predicted[name][is_word] for name in (STARTS, ENDS, LABEL_IDS))
    scores = predicted["scores"][is_word]
    given, certainty = [], []
    for start, end in words:
        # A word of the file has the label of the first part of it that the model reads, and a character within such a
        # part goes on with its label; what was not read has none.
        part = int(np.searchsorted(starts, start))
        if part < len(starts) and starts[part] < end:
            given.append(int(label_ids[part]))
            certainty.append(scores[part, label_ids[part]])
        elif part > 0 and ends[part - 1] > start:
            given.append(int(label_ids[part - 1] + label_ids[part - 1] % 2))
            certainty.append(scores[part - 1, label_ids[part - 1]])
        else:
            given.append(0)
            certainty.append(0.0)
    return TaggedText(
        place=row["row"],
        text=row[TEXT],
        words=words,
        true=true,
        given=to_iob2(tags_of_labels(given, labels), "iob1"),  # what goes on with nothing begins
        certainty=np.array(certainty),
    )
