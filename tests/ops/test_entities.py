"""Entities of labeled words in the graph equal those in Python."""

import numpy as np
import pytest
from keras import ops

from tfattn.formats.tag_schemes import spans, to_iob2
from tfattn.ops import entities
from tfattn.tasks.tagged_entities import tags_of

pytestmark = pytest.mark.every_backend
TYPES = ["LOC", "PER"]
DRAW = np.random.default_rng(5)
LENGTHS = np.array([7, 1, 0, 4, 7])
MASK = np.arange(7) < LENGTHS[:, None]


def labels():
    """Labels that need not go on with anything, and something at words that are none."""
    return DRAW.integers(0, 5, size=MASK.shape).astype("int32")


def listed(label_ids):
    """The entities of each row, in plain Python."""
    tags = (tags_of(row[:length], TYPES) for row, length in zip(label_ids, LENGTHS, strict=True))
    return [set(spans(to_iob2(one, "iob1"))) for one in tags]


def test_entity_bounds_do_not_depend_on_neighbors():
    for _ in range(20):
        label_ids = labels()
        types, is_first, is_last = map(ops.convert_to_numpy, entities.bounds(label_ids, MASK))
        for row, expected in enumerate(listed(label_ids)):
            pairs = zip(np.flatnonzero(is_first[row]), np.flatnonzero(is_last[row]), strict=True)
            assert {(TYPES[types[row][first] - 1], first, last) for first, last in pairs} == expected


def test_common_entities_are_counted():
    for _ in range(20):
        true, given = labels(), labels()
        given = np.where(DRAW.random(MASK.shape) < 0.7, true, given)
        found = {name: ops.convert_to_numpy(x) for name, x in entities.counts(true, given, MASK, num_types=2).items()}
        sides = listed(true), listed(given)
        both = [one & other for one, other in zip(*sides, strict=True)]
        for name, expected in zip(("true", "given", "right"), (*sides, both), strict=True):
            of_type = [sum(entity[0] == kind for row in expected for entity in row) for kind in TYPES]
            assert found[name].tolist() == of_type


def test_an_entity_with_another_bound_or_type_is_wrong():
    true = np.array([[1, 2, 2, 0]])
    for given in ([[1, 2, 0, 0]], [[0, 1, 2, 0]], [[3, 4, 4, 0]], [[1, 2, 2, 2]], [[1, 1, 2, 0]], [[0, 0, 0, 0]]):
        counts = entities.counts(true, np.array(given), np.ones((1, 4), bool), num_types=2)
        assert ops.convert_to_numpy(counts["right"]).sum() == 0
