"""Every report says what the rows that measure had a part in."""

import pytest

from tfattn.evaluation.evaluate import unseen

EPOCH, POINT = "which epoch to keep", "the operating point"


@pytest.mark.parametrize(
    ("split", "chosen", "said"),
    [
        ("validation", [EPOCH], "they chose which epoch to keep: new ones"),
        ("validation", [EPOCH, POINT], "they chose which epoch to keep and the operating point: new ones"),
        ("validation", [], "these rows, and nothing was chosen by them."),
        ("test", [EPOCH, POINT], "these rows, and nothing was chosen by them."),
    ],
)
def test_what_was_chosen_by_the_rows_that_measure_is_said(split, chosen, said):
    assert said in unseen("row", split=split, chosen=chosen)
