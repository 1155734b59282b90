"""Alignment of entities to words; labels of scripts without spaces are unchanged."""

import re

import numpy as np
import pytest
import tensorflow as tf

from tfattn.formats.tag_schemes import spans, to_iob2
from tfattn.preprocessing.word_bounds import align_to_words
from tfattn.tasks.tagged_entities import tags_of

TYPES = ["LOC", "ORG"]
OUTSIDE, LOC, IN_LOC, ORG, IN_ORG = range(5)


def parts_of(text):
    return [part.span() for part in re.finditer(r"[\w\U0001f600]+?(?=[^\w\U0001f600]|$|(?<=[海の]))|[^\w\s]", text)]


def entities(*labelled):
    """The entities of texts whose parts have these labels."""
    texts, labels = zip(*labelled, strict=True)
    parts = [parts_of(text) for text in texts]
    width = max(map(len, parts), default=0)
    padded = [[*some, *[(0, 0)] * (width - len(some))] for some in parts]
    places = tf.constant(padded, tf.int32, shape=[len(texts), width, 2])
    ids = tf.constant([[*some, *[7] * (width - len(some))] for some in labels], tf.int32, shape=[len(texts), width])
    is_part = tf.sequence_mask([len(some) for some in parts], width)
    changed = tf.function(align_to_words)(tf.constant(texts), ids, places[..., 0], places[..., 1], is_part).numpy()
    assert changed.shape == ids.shape and not changed[~is_part.numpy()].any()
    found = []
    for text, some, row in zip(texts, parts, changed, strict=True):
        named = spans(to_iob2(tags_of(row[: len(some)], TYPES), "iob1"))
        found.append([(text[some[one.first][0] : some[one.last][1]], one.label) for one in named])
    return found


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("Soviet-era art", [LOC, IN_LOC, OUTSIDE, OUTSIDE], [("Soviet-era", "LOC")]),
        ("Soviet-era art", [LOC, OUTSIDE, ORG, IN_ORG], [("Soviet-era", "LOC"), ("art", "ORG")]),
        ("anti-Soviet art", [OUTSIDE, OUTSIDE, LOC, OUTSIDE], []),
        ("in Rome.", [OUTSIDE, LOC, OUTSIDE], [("Rome", "LOC")]),
        ("in (Rome).", [OUTSIDE, OUTSIDE, IN_LOC, OUTSIDE, OUTSIDE], [("Rome", "LOC")]),
        ("U.N. in", [ORG, IN_ORG, IN_ORG, IN_ORG, OUTSIDE], [("U.N.", "ORG")]),
        ("U.N. in", [ORG, OUTSIDE, OUTSIDE, LOC, OUTSIDE], [("U.N", "ORG")]),
        ("Marks & Co", [ORG, IN_ORG, IN_ORG], [("Marks & Co", "ORG")]),
        ("Rome , - in", [OUTSIDE, LOC, IN_LOC, OUTSIDE], []),
        ("Rome's art", [LOC, OUTSIDE, OUTSIDE, OUTSIDE], [("Rome", "LOC")]),
        ("Rome's art", [LOC, IN_LOC, IN_LOC, OUTSIDE], [("Rome's", "LOC")]),
        ("'s-Hage", [OUTSIDE, LOC, OUTSIDE, OUTSIDE], [("s-Hage", "LOC")]),
        ("O'Hare", [LOC, OUTSIDE, OUTSIDE], [("O'Hare", "LOC")]),
        ('"Rome" in', [LOC, IN_LOC, IN_LOC, OUTSIDE], [('"Rome"', "LOC")]),
        ('in "Rome', [ORG, IN_ORG, LOC], [("in", "ORG"), ("Rome", "LOC")]),
        ("$5 \U0001f600", [LOC, OUTSIDE, ORG], [("$5", "LOC"), ("\U0001f600", "ORG")]),
        ("海海,海。", [LOC, OUTSIDE, LOC, IN_LOC, ORG], [("海", "LOC"), (",海", "LOC")]),
        ("", [], []),
    ],
)
def test_entities_by_hand(text, labels, expected):
    assert entities((text, labels)) == [expected]


def test_no_entity_starts_or_ends_inside_a_word():
    draw = np.random.default_rng(0)
    pieces = ["Rome", "-", "(", "era", " ", " ", ".", "'", "s", "5", "\u00a0"]
    texts = ["".join(draw.choice(pieces, draw.integers(0, 30))) for _ in range(300)]
    texts = [re.sub(r"(\w)(?=\w)", r"\1-", text) for text in texts]
    labelled = [(text, draw.integers(0, 5, len(parts_of(text))).tolist()) for text in texts]
    found = entities(*labelled)
    assert sum(map(len, found)) > 500
    for (text, _), some in zip(labelled, found, strict=True):
        words = re.split(r"[ \u00a0]+", text)
        bounds = {re.sub(r"^\W+|(\W|'s)+$", "", word) for word in words} - {""}
        for entity, _ in some:
            first, last = re.split(r"[ \u00a0]+", entity)[0], re.split(r"[ \u00a0]+", entity)[-1]
            assert re.search(r"\w", entity)
            for end in (first, last):
                core = re.sub(r"^\W+|(\W|'s)+$", "", end)
                assert core in bounds or not core


def test_alignment_does_not_depend_on_the_batch():
    labelled = [
        ("Soviet-era", [LOC, OUTSIDE, OUTSIDE]),
        ("-", [IN_LOC]),
        ("", []),
        ("'s", [LOC, OUTSIDE]),
        ("Rome.", [IN_LOC, ORG]),
    ]
    assert entities(*labelled) == [entities(one)[0] for one in labelled]
