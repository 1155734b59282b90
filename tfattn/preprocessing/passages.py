"""Division of long texts into passages, which bounds the memory of the graph."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import tensorflow as tf

MAX_CHARACTERS = 1 << 20  # of a batch; the graph takes about 100 bytes per character
_PASSAGE = 1 << 18

# Every tokenizer starts a new piece before a blank or line end that follows another character.
_BOUNDARY = re.compile(r"(?<=\S)(?=[ \n])")


class Batch(NamedTuple):
    """A batch of passages, in the order of their texts.

    Attributes:
        passages: the N passages.
        texts: the index of each passage's text.
    """

    passages: list[str]
    texts: list[int]


def batch_passages(texts: Iterable[str]) -> Iterator[Batch]:
    """Divide texts into passages, and yield batches of them; a text without blanks is one passage."""
    batch, characters = Batch([], []), 0
    for number, text in enumerate(texts):
        for passage in split_passages(text):
            if batch.passages and characters + len(passage) > MAX_CHARACTERS:
                yield batch
                batch, characters = Batch([], []), 0
            batch.passages.append(passage)
            batch.texts.append(number)
            characters += len(passage)
    if batch.passages:
        yield batch


def split_passages(text: str) -> Iterator[str]:
    """Divide a text at positions that no token spans, so that its tokens are those of its passages."""
    start = 0
    while len(text) - start > _PASSAGE and (boundary := _BOUNDARY.search(text, start + _PASSAGE)):
        yield text[start : boundary.start()]
        start = boundary.start()
    yield text[start:]


def count_strings(texts: Iterable[str], split: Callable[[tf.Tensor], tf.RaggedTensor]) -> Counter[bytes]:
    """Count the strings, ragged (B, (P)), into which a function splits texts (B,); runs eagerly."""
    counts: Counter[bytes] = Counter()
    for batch in batch_passages(texts):
        found, _, numbers = tf.unique_with_counts(split(tf.constant(batch.passages)).values)
        counts.update(dict(zip(found.numpy().tolist(), numbers.numpy().tolist(), strict=True)))
    return counts
