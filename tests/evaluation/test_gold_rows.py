"""True targets of new rows: the column that has them, and rows that cannot be evaluated."""

import pytest

from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.label_targets import LabelSets
from tfattn.data.examples.number_targets import Numbers
from tfattn.errors import DataError
from tfattn.evaluation.gold_rows import select, target_column
from tfattn.serving.client.input_rows import InputRow

PREDICTIONS = {"text": "", "label": "", "label_id": "", "scores.a": ""}


@pytest.mark.parametrize(
    ("columns", "trained_on", "named", "found"),
    [
        ({"text", "Category", "target"}, "Category", None, "Category"),
        ({"text", "target", "label"}, "Category", None, "target"),
        ({"text", "label"}, None, None, "label"),
        ({"text", "label", "Kind"}, None, "Kind", "Kind"),
        ({*PREDICTIONS, "target"}, "label", None, "target"),
        (set(PREDICTIONS), None, "label", "label"),
    ],
)
def test_the_column_of_targets(columns, trained_on, named, found):
    columns = dict.fromkeys(columns)
    assert target_column(columns, "label", trained_on=trained_on, named=named, path="gold.csv") == found


@pytest.mark.parametrize(
    ("columns", "named", "message"),
    [
        (
            {"text": ""},
            None,
            "gold.csv: there is no column of true targets: expected 'Category' or 'target' or 'label'",
        ),
        ({"text": "", "category": ""}, None, "Did you mean `category`"),
        ({"text": "", "label": ""}, "Kind", "expected 'Kind', received text, label"),
        (PREDICTIONS, None, "The column of the label has predictions"),
    ],
)
def test_a_file_without_targets_is_one_message(columns, named, message):
    with pytest.raises(DataError) as caught:
        target_column(columns, "label", trained_on="Category", named=named, path="gold.csv")
    assert message in str(caught.value)


def rows(*values):
    return [InputRow({"text": "x"}, f"gold.csv:{line}", columns={"t": value}) for line, value in enumerate(values, 2)]


def chosen(target, values, unknown_labels="leave_out"):
    return select(rows(*values), target, "t", labels=["a", "b"], unknown_labels=unknown_labels, path="gold.csv")


def test_rows_without_a_target_are_left_out():
    gold = chosen(Classes(), ["a", "", " ", "b"])
    assert [row.where for row in gold.rows] == ["gold.csv:2", "gold.csv:5"] and gold.without_target == 2
    assert chosen(LabelSets(), ["a|b", "", ["b"]]).without_target == 0


@pytest.mark.parametrize(("unknown_labels", "kept"), [("leave_out", 1), ("wrong", 3)])
def test_rows_with_unknown_labels_are_counted(unknown_labels, kept):
    gold = chosen(Classes(), ["a", "c", "c"], unknown_labels)
    assert len(gold.rows) == kept and gold.unknown == {"c": 2}
    assert chosen(LabelSets(), ["a", "a|c", "c|b"], unknown_labels).unknown == {"c": 2}


@pytest.mark.parametrize(
    ("target", "values", "message"),
    [
        (Classes(), ["", ""], "gold.csv: no row has a target: .* received 2 rows with an empty column 't'"),
        (Classes(), ["c", "d"], "gold.csv: no row has a label of the model: expected one of a, b, received c, d"),
        (Numbers(), ["1", "ten"], "gold.csv:3: the target is no finite number: .*--target"),
        (Classes(), [["a"]], "gold.csv:2: the value of 't' is nested"),
    ],
)
def test_targets_of_another_kind_are_one_message(target, values, message):
    with pytest.raises(DataError, match=message):
        chosen(target, values)
