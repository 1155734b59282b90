"""Rows of a file with their true targets, for the evaluation of a model on new rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.label_targets import LabelSets
from tfattn.data.examples.number_targets import Numbers
from tfattn.data.examples.targets import Target
from tfattn.errors import DataError, listed, nearest
from tfattn.features import LABEL, LABELS, TARGET
from tfattn.formats.columns import Columns
from tfattn.formats.json_objects import text_of, value_of
from tfattn.formats.source import Row
from tfattn.serving.client.input_rows import InputRow

UnknownLabels = Literal["leave_out", "wrong"]


@dataclass(frozen=True)
class GoldRows:
    """Rows with true targets.

    Attributes:
        rows: N rows.
        gold: the N rows with the role of the target only, as its class reads it.
        without_target: the number of rows without a target, which are left out.
        unknown: the rows of each label that the model does not have.
    """

    rows: list[InputRow]
    gold: list[Row]
    without_target: int = 0
    unknown: Counter[str] = field(default_factory=Counter)


def select(
    rows: Sequence[InputRow],
    target: Target,
    column: str,
    *,
    labels: Sequence[str],
    unknown_labels: UnknownLabels,
    path: str,
) -> GoldRows:
    """Select the rows that can be evaluated.

    Args:
        rows: all rows.
        target: the targets of the model.
        column: the column of the true targets.
        labels: the labels of the model.
        unknown_labels: whether rows with other labels are left out, or kept.
        path: the file, for messages.

    Raises:
        DataError: a target is invalid, or no row is left.
    """
    [role] = target.roles
    kept: list[tuple[InputRow, Row]] = []
    without, unknown = 0, Counter[str]()
    for row in rows:
        read = text_of if role in target.text_roles else value_of
        value = read(dict(row.columns), column, row.where)
        gold = Row({role: value}, row.where)
        if not target.may_be_empty and isinstance(value, str) and not value.strip():
            without += 1
            continue
        _check(target, gold)
        others = [name for name in target.classes(gold) if name not in labels]
        unknown.update(others)
        if not others or unknown_labels == "wrong":
            kept.append((row, gold))
    if not kept:
        what = "no row has a label of the model" if unknown else "no row has a target"
        received = listed(list(unknown)) if unknown else f"{without:,} rows with an empty column {column!r}"
        expected = f"one of {listed(labels)}" if unknown else "a value in some rows"
        raise DataError(
            what,
            where=path,
            expected=expected,
            received=received,
            remedy="Name the column of targets: --target COLUMN.",
        )
    return GoldRows([row for row, _ in kept], [gold for _, gold in kept], without, unknown)


def _check(target: Target, gold: Row) -> None:
    """Check a target, with a remedy for files instead of pipelines."""
    try:
        target.check(gold)
    except DataError as error:
        error.remedy = "Correct the row, or name the column of targets: --target COLUMN."
        raise


def target_column(
    columns: Mapping[str, Any], role: str, *, trained_on: Columns | None, named: str | None, path: str
) -> str:
    """Find the column of the true targets: the column of training, or else `target`, or else the name of the role.

    In a file of predictions, the column with the name of a prediction is skipped, unless it is named.

    Args:
        columns: the columns of the file.
        role: the role of the target.
        trained_on: the column of training, if it is known.
        named: the column that the user names.
        path: the file, for messages.

    Raises:
        DataError: there is no such column.

    Example:
        >>> target_column({"text": "", "Category": ""}, "label", trained_on="Category", named=None, path="gold.csv")
        'Category'
    """
    is_predicted = any(name == "label_id" or name.partition(".")[0] == "scores" for name in columns)
    candidates = [named] if named else list(dict.fromkeys([*([trained_on] if trained_on else []), TARGET, role]))
    for column in candidates:
        if column in columns and (named or not is_predicted or column not in (LABEL, LABELS)):
            return column
    remedy = nearest(candidates[0], columns) or "Name the column of the true targets: --target COLUMN."
    if is_predicted and {LABEL, LABELS} & columns.keys():
        remedy = "The column of the label has predictions: name the column of the true targets, --target COLUMN."
    raise DataError(
        "there is no column of true targets",
        where=path,
        expected=" or ".join(map(repr, candidates)),
        received=listed(columns),
        remedy=remedy,
    )


def target_of(outputs: Mapping[str, Any]) -> Target | None:
    """Return the kind of targets of a model by the names of its predictions; None if it has no labels and numbers."""
    if {LABEL, "scores"} <= outputs.keys() and isinstance(outputs["scores"], Mapping):
        return Classes()
    if {LABELS, "scores"} <= outputs.keys():
        return LabelSets()
    return Numbers() if "prediction" in outputs else None
