"""The final sections of every report: training, data and configuration."""

from collections.abc import Mapping, Sequence
from typing import Any

from tfattn.data.preparation.findings import findings, sentences
from tfattn.drawing.figures import svg
from tfattn.evaluation import plots
from tfattn.evaluation.report import Listing, Panels, Picture, Section, Table, Text
from tfattn.evaluation.wording import count

MAX_CLASSES = 20


def training(
    history: Sequence[dict[str, Any]], *, selection: str, baselines: Mapping[str, float] | None = None
) -> Section:
    """Return the training curves and their values.

    Args:
        history: the lines of history.jsonl.
        selection: the value of `training.selection`.
        baselines: metrics without a model, by name.
    """
    names = [name for name in history[0] if _is_plain(history[0][name])]
    columns = [name.replace("_", " ") for name in names]
    rows = [[line.get(name, "") for name in names] for line in history]
    seconds = sum(line.get("seconds", 0) for line in history)
    took = f" in {_duration(seconds)}" if seconds else ""
    length = f"{count(history[-1]['step'], 'step')} through {count(history[-1]['epoch'], 'epoch')}"
    words = f"Training took {length}{took}."
    kept = "of the best epoch on the validation rows" if selection == "best_epoch" else "of the last epoch"
    hint = f"A rising validation loss with a falling training loss means overfitting. The weights {kept} are kept."
    curves = [
        Picture(f"training_{number}", svg(figure), f"{figure.axes[0].get_title(loc='left')} over the run")
        for number, figure in enumerate(plots.training_curves(history, baselines), start=1)
    ]
    return Section(
        "Training curves",
        [
            Text(f"{words} {hint}"),
            Panels(curves),
            Table(columns, rows, folded="All validations"),
        ],
    )


def data(summary: dict[str, Any]) -> Section:
    """Return rows by class and split, lengths, and possible problems, from the summary of the prepared data."""
    splits = list(summary["rows"])
    counts = [[name, *split.values()] for name, split in summary["classes"].items()]
    whole = ["all", *summary["rows"].values()]
    folded = f"Rows of all {len(counts)} labels" if len(counts) > MAX_CLASSES else ""
    parts: list[Any] = [Table(["label" if counts else "rows", *splits], [*counts, whole], folded=folded)]
    if "tokens" in summary:
        spreads = summary["tokens"]
        columns = ["tokens per row", *next(iter(spreads.values()))]
        parts.append(Table(columns, [[split, *spread.values()] for split, spread in spreads.items()]))
    if found := findings(summary):
        rows = [[problem, finding["rows"], ", ".join(finding["first"])] for problem, finding in found.items()]
        parts.append(Table(["possible problem", "rows", "examples"], rows))
    return Section("Data", [*parts, *map(Text, sentences(summary))])


def configuration(text: str, environment: str) -> Section:
    """Return the resolved configuration and the training environment."""
    words = "This pipeline file, with all defaults, reproduces the result."
    trained_on = [Text(f"Trained on {environment}.")] if environment else []
    return Section("Configuration", [*trained_on, Text(words), Listing(text, folded="The pipeline file")])


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
