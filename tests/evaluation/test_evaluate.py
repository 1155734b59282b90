"""Reports state the choices that were made on evaluated rows."""

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
def test_choices_on_evaluated_rows_are_stated(split, chosen, sentence):
    assert sentence in unseen("row", split=split, chosen=chosen)
