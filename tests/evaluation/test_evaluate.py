"""Every report says what the rows that measure had a part in."""

import pytest

from tfattn.evaluation.evaluate import unseen

EPOCH, POINT = "which epoch to keep", "the operating point"


@pytest.mark.parametrize(
    ("split", "chosen", "sentence"),
    [
        ("validation", [EPOCH], "used to choose which epoch to keep: results"),
        ("validation", [EPOCH, POINT], "used to choose which epoch to keep and the operating point: results"),
        ("validation", [], "these rows, and no choice was based on them."),
        ("test", [EPOCH, POINT], "these rows, and no choice was based on them."),
    ],
)
def test_what_was_chosen_by_the_rows_that_measure_is_sentence(split, chosen, sentence):
    assert sentence in unseen("row", split=split, chosen=chosen)
