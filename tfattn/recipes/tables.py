"""Plans for tables: a model that reads one or two columns of texts, or numbers and categories."""

from collections.abc import Sequence
from typing import Any

from tfattn.errors import DataError
from tfattn.features import ID, LABEL, LABELS, TARGET
from tfattn.formats.numbers import MISSING
from tfattn.recipes.columns import MAX_CATEGORIES, Column, out_of_range
from tfattn.recipes.plan import Plan
from tfattn.recipes.samples import Sample, counted, shown
from tfattn.recipes.targets import Target, TargetKind, choose_target
from tfattn.recipes.text_encoders import add_encoder, choose_encoder
from tfattn.recipes.text_tables import Ask

TASKS: dict[TargetKind, str] = {
    "class": "classification",
    "number": "regression",
    "labels": "multi_label_classification",
}
ROLES: dict[TargetKind, str] = {"class": LABEL, "number": TARGET, "labels": LABELS}
_MANY_CELLS = 8  # numbers and categories: then short texts are not the input of the model
_LONG_TEXT = 8  # words
# Rows per second that two CPU cores train, for one layer of width 32 and 10 columns.
TABLE_SPEED = 12_000
FIXED_SECONDS = 40


def plan_table(name: str, sample: Sample, columns: Sequence[Column], *, target: str | None, ask: Ask) -> Plan:
    """Plan a pipeline for a table with a target.

    Args:
        name: the name of the pipeline.
        sample: the first rows.
        columns: the columns of the sample.
        target: the name of the target, if the user has given it.
        ask: asks what cannot be detected.

    Raises:
        ConfigError: the target is ambiguous, and `ask` cannot ask.
        DataError: the table has no possible target, or no column to predict it from.
    """
    goal = choose_target(columns, sample, named=target, ask=ask)
    inputs = [column for column in columns if column is not goal.column]
    texts = _texts(inputs)
    plan = Plan("", found_in(sample), {"name": name, "data": {"source": dict(sample.source)}})
    plan.reasons = {f"data.source.{key}": reason for key, reason in sample.reasons.items()}
    if texts and goal.kind != "text":
        _plan_texts(plan, sample, goal, texts)
    elif goal.kind == "text":
        raise DataError(
            "the target is a text",
            where=f"{sample.path}: column {goal.column.name!r}",
            expected="classes, numbers or labels",
            received=goal.reason,
            remedy="Name another column by --target. For translation, give two text files; for answers, a file with "
            "the columns prompt and answer.",
        )
    else:
        _plan_columns(plan, sample, goal, inputs)
    _add_target(plan, sample, goal)
    _add_identifier(plan, sample, inputs)
    left_out = [column for column in inputs if column.name not in _read(plan, sample)]
    if left_out:
        plan.reasons["data.source.fields"] = _sentences(
            plan.reasons.get("data.source.fields", ""),
            "Not read: " + "; ".join(f"{_shown_name(column, sample)} ({column.reason})" for column in left_out),
        )
    return plan


def _texts(inputs: Sequence[Column]) -> list[Column]:
    """Return the columns of texts that the model reads: at most two; none if the table has many other columns."""
    texts = sorted((column for column in inputs if column.kind == "text"), key=lambda column: -column.mean_words)
    cells = [column for column in inputs if column.kind in ("number", "category")]
    if texts and (len(cells) < _MANY_CELLS or texts[0].mean_words >= _LONG_TEXT):
        longest = texts[:2]
        return [column for column in inputs if column in longest]
    if not cells:  # short texts, such as titles or names
        return [column for column in inputs if column.kind in ("names", "text")][:2]
    return []


def _plan_texts(plan: Plan, sample: Sample, goal: Target, texts: list[Column]) -> None:
    roles = ["text"] if len(texts) == 1 else ["text_a", "text_b"]
    data = plan.values["data"]
    data["source"]["fields"] = {role: _column(text.name, sample) for role, text in zip(roles, texts, strict=True)}
    data["split"] = _split(sample.num_rows)
    data["preprocessing"] = {}
    if len(texts) == 2:
        data["preprocessing"]["fields"] = roles
    rows = [
        [shown(sample.columns[text.name][index]) for text in texts] for index in range(min(5_000, sample.num_sampled))
    ]
    plan.values["task"] = {"name": TASKS[goal.kind]}
    add_encoder(plan, choose_encoder(rows), sample.num_rows)
    data["preprocessing"] = {"name": "wordpiece", **data["preprocessing"]}
    named = " and ".join(_shown_name(text, sample) for text in texts)
    plan.purpose = f"Predict {_shown_name(goal.column, sample)} from {named}."


def _plan_columns(plan: Plan, sample: Sample, goal: Target, inputs: list[Column]) -> None:
    numeric = [column for column in inputs if column.kind == "number"]
    categorical = [column for column in inputs if column.kind == "category" and len(column.counts) <= MAX_CATEGORIES]
    if not numeric and not categorical:
        raise DataError(
            "there is no column to predict the target from",
            where=sample.path,
            expected="texts, numbers or categories",
            received=", ".join(f"{_shown_name(column, sample)}: {column.reason}" for column in inputs)
            or "no other column",
        )
    plan.purpose = f"Predict {_shown_name(goal.column, sample)} from the other columns of a table."
    data = plan.values["data"]
    # The preprocessing reads columns by their names, except columns without a name or with the name of a role.
    data["source"]["fields"] = {
        _input(column, sample): _column(column.name, sample)
        for column in inputs
        if column in (*numeric, *categorical) and _input(column, sample) != column.name
    }
    data["split"] = _split(sample.num_rows)
    preprocessing: dict[str, Any] = {"name": "table"}
    for key, columns in (("numeric", numeric), ("categorical", categorical)):
        if columns:
            preprocessing[key] = [_input(column, sample) for column in columns]
    if numeric:
        preprocessing["scaling"] = "quantile"
        plan.reasons["data.preprocessing.scaling"] = (
            "the numbers of skewed columns are ranked, so that outliers are harmless"
        )
    if markers := sorted({marker for column in (*numeric, *categorical) for marker in column.markers}):
        preprocessing["missing"] = [*MISSING, *markers]
        plan.reasons["data.preprocessing.missing"] = "texts that mean a missing value"
    for column in numeric:
        if extreme := out_of_range(column):
            plan.warnings.append(
                f"column {column.name!r} has {extreme[0]}, which is outside of the range of float32, 3.4e38."
            )
    data["preprocessing"] = preprocessing
    plan.values["task"] = {"name": TASKS[goal.kind]}
    _add_table_model(plan, sample.num_rows, num_columns=len(numeric) + len(categorical), has_numbers=bool(numeric))


def _add_table_model(plan: Plan, num_rows: int, *, num_columns: int, has_numbers: bool) -> None:
    batch = next(size for limit, size in ((1_000, 32), (5_000, 64), (20_000, 128), (1 << 62, 256)) if num_rows < limit)
    plan.values["data"]["batching"] = {"batch_size": batch}
    is_small = num_rows < 10_000
    model: dict[str, Any] = {"name": "feature_tokenizer_transformer"}
    if has_numbers:
        model["numeric_embedding"] = "linear" if is_small else "piecewise_linear"
        if not is_small:
            plan.values["data"]["preprocessing"]["bins"] = 64
    model |= {"hidden_dim": 32 if is_small else 64, "num_layers": 1 if is_small else 2, "num_heads": 4}
    model |= {"dropout": 0.1, "attention_dropout": 0.1, "intermediate_dropout": 0.1}
    plan.values["model"] = model
    plan.reasons["model"] = "Attention between columns (FT-Transformer)" + (
        ", small, because there are few rows." if is_small else "."
    )
    plan.values["runtime"] = {"precision": "float32"}
    speed = TABLE_SPEED * 10 / max(4, num_columns) / (1 if is_small else 4)
    plan.add_training(
        num_rows=num_rows, epoch_seconds=num_rows / speed, epoch_steps=num_rows / batch, fixed_seconds=FIXED_SECONDS
    )


def _add_target(plan: Plan, sample: Sample, goal: Target) -> None:
    role = ROLES[goal.kind]
    fields = plan.values["data"]["source"]["fields"]
    fields[role] = _column(goal.column.name, sample)
    if goal.separator and goal.separator != "|":
        plan.values["data"]["targets"] = {"separator": goal.separator}
    if goal.markers:
        plan.values["data"]["missing"] = {role: list(goal.markers)}
        plan.reasons["data.missing"] = "rows without a target are not used"
    missing = goal.column.num_missing
    if missing:
        plan.warnings.append(
            f"the target is missing in {missing:,} of {sample.num_sampled:,} rows, which are not used for training."
        )
    plan.reasons["task"] = f"The target is {_shown_name(goal.column, sample)} ({goal.chosen}): {goal.reason}."
    if goal.kind == "class" and goal.column.counts:
        [(_, most)], [(rare, least)] = goal.column.counts.most_common(1), goal.column.counts.most_common()[-1:]
        if most > 0.9 * len(goal.column.values):
            plan.warnings.append(
                f"{most / len(goal.column.values):.0%} of the rows have the same class, so the accuracy says little: "
                "see the other metrics of the report."
            )
        if least < 5:
            plan.warnings.append(f"class {rare!r} has only {least} rows.")


def _add_identifier(plan: Plan, sample: Sample, inputs: Sequence[Column]) -> None:
    """Read the first identifier as the role `id`, which predictions return."""
    identifier = next((column for column in inputs if column.kind == "identifier"), None)
    if identifier is not None:
        plan.values["data"]["source"]["fields"][ID] = _column(identifier.name, sample)
        plan.reasons["data.source.fields"] = _sentences(
            plan.reasons.get("data.source.fields", ""),
            f"`id` is for identifiers: the model ignores {_shown_name(identifier, sample)}, predictions return it",
        )


def _read(plan: Plan, sample: Sample) -> set[str]:
    """Return the names of columns that the plan reads."""
    data = plan.values["data"]
    cells = {name for key in ("numeric", "categorical") for name in data["preprocessing"].get(key, ())}
    return cells | set(map(str, data["source"]["fields"].values()))


def _input(column: Column, sample: Sample) -> str:
    """Return the name by which the preprocessing reads a column."""
    is_role = column.name in (ID, *ROLES.values())
    return f"column_{column.name}" if is_role or not sample.has_header else column.name


def _column(name: str, sample: Sample) -> str | int:
    return name if sample.has_header else int(name)


def _shown_name(column: Column, sample: Sample) -> str:
    return column.name if sample.has_header else f"column {column.name}"


def _split(num_rows: int) -> dict[str, float]:
    return {"validation": 0.2 if num_rows < 10_000 else 0.1}


def found_in(sample: Sample) -> str:
    """Describe what was read, for the head of the pipeline file."""
    read = f"; {sample.num_sampled:,} of them were examined" if sample.num_sampled < sample.num_rows else ""
    about = "about " if sample.is_estimate else ""
    size = f"{about}{counted(sample.num_rows, 'row')}, {counted(len(sample.columns), 'column')}{read}"
    return f"{sample.path}: {size}"


def _sentences(*texts: str) -> str:
    return ". ".join(text for text in texts if text)
