"""Long texts in passages, so that memory in the graph does not follow the length of a text."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import tensorflow as tf

MOST_CHARACTERS = 1 << 20  # that are split at once; the graph takes about a hundred bytes for each
_PASSAGE = 1 << 18

# Before a blank or a line end that follows something else, every tokenizer begins a new piece.
_BORDER = re.compile(r"(?<=\S)(?=[ \n])")


class Batch(NamedTuple):
    """Passages that are split together, in the order of their texts.

    Attributes:
        passages: N strings.
        texts: of each, the number of its text.
    """

    passages: list[str]
    texts: list[int]


def batches_of(texts: Iterable[str]) -> Iterator[Batch]:
    """Divide texts into passages, and these into batches; of a text without blanks all is one passage."""
    batch, characters = Batch([], []), 0
    for number, text in enumerate(texts):
        for passage in passages_of(text):
            if batch.passages and characters + len(passage) > MOST_CHARACTERS:
                yield batch
                batch, characters = Batch([], []), 0
            batch.passages.append(passage)
            batch.texts.append(number)
            characters += len(passage)
    if batch.passages:
        yield batch


def passages_of(text: str) -> Iterator[str]:
    """Divide a text where tokens never reach across: what passages become, one after the other, the text becomes."""
    begin = 0
    while len(text) - begin > _PASSAGE and (border := _BORDER.search(text, begin + _PASSAGE)):
        yield text[begin : border.start()]
        begin = border.start()
    yield text[begin:]


def counted(texts: Iterable[str], divide: Callable[[tf.Tensor], tf.RaggedTensor]) -> Counter[bytes]:
    """Count the strings, ragged (B, (P)), into which a function divides texts (B,); not in a graph."""
    counts: Counter[bytes] = Counter()
    for batch in batches_of(texts):
        found, _, numbers = tf.unique_with_counts(divide(tf.constant(batch.passages)).values)
        counts.update(dict(zip(found.numpy().tolist(), numbers.numpy().tolist(), strict=True)))
    return counts
