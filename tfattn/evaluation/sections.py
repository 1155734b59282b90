"""The sections that every report ends with: how training went, what the data were, and how it was all set up."""

from collections.abc import Mapping, Sequence
from typing import Any

from tfattn.data.findings import findings, sentences
from tfattn.drawing.figures import svg
from tfattn.evaluation import plots
from tfattn.evaluation.report import Listing, Panels, Picture, Section, Table, Text
from tfattn.evaluation.wording import count

MAX_CLASSES = 20


def training(
    history: Sequence[dict[str, Any]], *, selection: str, baselines: Mapping[str, float] | None = None
) -> Section:
    """Curves over the run, and their numbers.

    Args:
        history: the lines of history.jsonl; only what is there is shown.
        selection: which epoch's weights were kept, as `training.selection` says.
        baselines: what can be had without a model, by the names of metrics.
    """
    names = [name for name in history[0] if _is_plain(history[0][name])]
    columns = [name.replace("_", " ") for name in names]
    rows = [[line.get(name, "") for name in names] for line in history]
    seconds = sum(line.get("seconds", 0) for line in history)
    took = f" in {_duration(seconds)}" if seconds else ""
    length = f"{count(history[-1]['step'], 'step')} through {count(history[-1]['epoch'], 'epoch')}"
    words = f"Training took {length}{took}."
    kept = "that did best on the validation rows" if selection == "best_epoch" else "of the last epoch"
    hint = (
        "Where the training loss keeps falling but the validation loss rises, the model has begun to memorize "
        f"its rows; the weights {kept} are the ones kept."
    )
    curves = [
        Picture(f"training_{number}", svg(figure), f"{figure.axes[0].get_title(loc='left')} over the run")
        for number, figure in enumerate(plots.training_curves(history, baselines), start=1)
    ]
    return Section(
        "Training",
        [
            Text(f"{words} {hint}"),
            Panels(curves),
            Table(columns, rows, folded="All validations"),
        ],
    )


def data(summary: dict[str, Any]) -> Section:
    """Rows by class and split, lengths, and what is possible problem, from the summary that `prepare` keeps."""
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
        rows = [[what, finding["rows"], ", ".join(finding["first"])] for what, finding in found.items()]
        parts.append(Table(["possible problem", "rows", "such as"], rows))
    return Section("Data", [*parts, *map(Text, sentences(summary))])


def configuration(text: str, environment: str) -> Section:
    """Show the resolved pipeline file, and what it was trained on, where that is known."""
    words = "This pipeline file, with every default written out, gives this result again."
    trained_on = [Text(f"Trained on {environment}.")] if environment else []
    return Section("Configuration", [*trained_on, Text(words), Listing(text, folded="The pipeline file")])


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
