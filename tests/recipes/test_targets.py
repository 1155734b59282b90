"""The target is chosen by its name, or is the last column; what cannot be a target is an error."""

import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.recipes.columns import detect_column
from tfattn.recipes.samples import Sample
from tfattn.recipes.targets import choose_target

TEXTS = [f"the pump number {number} leaks a lot" for number in range(60)]
CLASSES = ["ab"[number % 2] for number in range(60)]
NUMBERS = [f"{number}.5" for number in range(60)]


def chosen(columns, *, named=None, answer=None, has_header=True):
    sample = Sample("rows.csv", {"name": "csv"}, {}, columns, 60, has_header=has_header)

    def ask(problem, answers, option):
        assert answer is not None, problem
        return answer

    detected = [detect_column(name, values) for name, values in columns.items()]
    return choose_target(detected, sample, named=named, ask=ask)


@pytest.mark.parametrize(
    ("columns", "name", "kind"),
    [
        ({"label": CLASSES, "text": TEXTS}, "label", "class"),
        ({"score": NUMBERS, "class": CLASSES}, "class", "class"),
        ({"relatedness_score": NUMBERS, "text": TEXTS}, "relatedness_score", "number"),
        ({"a": CLASSES, "b": NUMBERS, "c": CLASSES}, "c", "class"),
        ({"words": TEXTS, "x": CLASSES}, "x", "class"),
        ({"text": TEXTS, "stars": [str(n % 5) for n in range(60)]}, "stars", "class"),
        ({"text": TEXTS, "tags": [["x|y", "y|z", "z|x", "x"][n % 4] for n in range(60)]}, "tags", "labels"),
        ({"text": TEXTS, "labels": [["x", "y"]] * 60}, "labels", "labels"),
        ({"question": TEXTS, "reply": [text[::-1] for text in TEXTS]}, "reply", "text"),
    ],
)
def test_target(columns, name, kind):
    target = chosen(columns)
    assert (target.column.name, target.kind) == (name, kind)
    assert target.chosen and target.reason


def test_without_a_header_the_last_column_is_the_target():
    assert chosen({"1": CLASSES, "2": NUMBERS}, has_header=False).column.name == "2"
    sparse = ["x" if number % 9 == 0 else "" for number in range(60)]
    assert chosen({"1": CLASSES, "2": NUMBERS, "3": sparse}, has_header=False).column.name == "2"


def test_the_user_names_the_target_or_is_asked():
    assert chosen({"label": CLASSES, "x": NUMBERS}, named="x").column.name == "x"
    assert chosen({"score": NUMBERS, "sentiment": CLASSES}, answer="score").column.name == "score"
    with pytest.raises(ConfigError, match="expected one of label, x, received lable. Did you mean `label`"):
        chosen({"label": CLASSES, "x": NUMBERS}, named="lable")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([f"class{number}" for number in range(60)], "all values of the target are different"),
        (
            [f"class{number % 50}" for number in range(60)],
            "too many classes for its rows.*50 different values in 60 rows",
        ),
        (["a"] * 60, "a single value: received 'a'"),
        ([""] * 60, "no values"),
    ],
)
def test_columns_that_cannot_be_a_target(values, message):
    with pytest.raises(DataError, match=message):
        chosen({"text": TEXTS, "label": values})


def test_missing_targets_are_marked():
    target = chosen({"text": TEXTS, "label": ["-" if n % 3 == 0 else "ab"[n % 2] for n in range(60)]})
    assert target.markers == ("-",)
    assert target.column.num_missing == 20
