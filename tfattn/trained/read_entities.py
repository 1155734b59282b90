"""Entities of texts from the predictions of a tagger, for evaluation and export."""

from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from tfattn.features import ENDS, LABEL_IDS, STARTS, WORD_NUMBERS
from tfattn.preprocessing.word_bounds import align_to_words
from tfattn.tasks.tagged_entities import Entity, entities_of


def read_entities(
    texts: Sequence[str], predicted: Mapping[str, np.ndarray], labels: Sequence[str]
) -> list[list[Entity]]:
    """List the entities of N texts, in order.

    Args:
        texts: the raw texts.
        predicted: predictions of a TokenClassification, each (N, ...).
        labels: the types of entities in the order of their ids.
    """
    is_part = predicted[WORD_NUMBERS] > 0
    words = (predicted[name] for name in (LABEL_IDS, STARTS, ENDS))
    label_ids = align_to_words(tf.constant(texts, tf.string), *words, is_part).numpy()
    return [entities_of({**predicted, LABEL_IDS: label_ids}, row, labels) for row in range(len(texts))]
