"""Every report says what the rows that measure had a part in."""

import pytest

from tfattn.evaluation.evaluate import Evaluated, unseen

GIVEN = {"name": "x", "prepared": "", "configuration": "", "rows": [], "answers": {}, "targets": {}, "loss": 0.0}


@pytest.mark.parametrize(
    ("split", "selection", "decisions", "said"),
    [
        ("validation", "best_epoch", {}, "they chose which epoch to keep: new ones"),
        ("validation", "best_epoch", {"threshold": 0.5}, "they chose which epoch to keep and the threshold: new ones"),
        ("validation", "last_epoch", {"threshold": 0.5}, "they chose the threshold: new ones"),
        ("validation", "last_epoch", {}, "these rows, and nothing was chosen by them."),
        ("test", "best_epoch", {"threshold": 0.5}, "these rows, and nothing was chosen by them."),
    ],
)
def test_what_was_chosen_by_the_rows_that_measure_is_said(split, selection, decisions, said):
    evaluated = Evaluated(**GIVEN, split=split, selection=selection, decisions=decisions)
    assert said in unseen(evaluated, "row")
