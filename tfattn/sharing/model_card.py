"""The model card README.md: task, labels, metrics, training data, start, differences and configuration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tfattn.hub.addresses import HubAddress, is_address, parse
from tfattn.pretrained.known_models import KNOWN_MODELS
from tfattn.sharing.trained_export import EXTRA, TrainedExport

MAX_LABELS = 50
CARD = "README.md"


def text(
    export: TrainedExport,
    *,
    library: str,
    pipeline: str,
    summary: str,
    use: str,
    differences: Sequence[str],
    check: str,
) -> str:
    """Return the card of a written model.

    Args:
        export: the export that was written.
        library: the library that reads it, for the hub.
        pipeline: the task by the names of the hub; "" for none.
        summary: one sentence about the model.
        use: how to use it, in Markdown.
        differences: sentences about what the SavedModel does and this model does not.
        check: a sentence about the comparison with the SavedModel.
    """
    start = start_of(export)
    facts = {
        "license": start and start.licence,
        "base_model": start and start.repository,
        "library_name": library,
        "pipeline_tag": pipeline or None,
        "tags": ["tfattn"],
    }
    header = yaml.safe_dump({name: value for name, value in facts.items() if value}, sort_keys=False)
    sections = {
        "Use": use,
        "Labels": _labels(export),
        "Metrics": _metrics(export.card),
        "Training data": _training_data(export),
        "Start": _start(start),
        "Differences from the SavedModel": "".join(f"- {difference}\n" for difference in differences),
        "Check": check,
        "Configuration": f"```yaml\n{(export.folder / EXTRA / 'config.yaml').read_text(encoding='utf-8').strip()}\n```",
    }
    body = "".join(f"\n## {title}\n\n{content.strip()}\n" for title, content in sections.items() if content.strip())
    return f"---\n{header}---\n\n# {export.name}\n\n{summary} Trained with tfattn.\n{body}"


@dataclass(frozen=True)
class Start:
    """The pretrained weights that a training started from.

    Attributes:
        source: a package, a folder, or the address of a model on a hub with its revision.
        licence: the licence that their authors state; None if it is not known.
        digests: the SHA-256 of the files, by name; empty for exports that do not have them.
    """

    source: str
    licence: str | None
    digests: Mapping[str, str]

    @property
    def repository(self) -> str | None:
        """The repository on the Hugging Face hub; None for other sources."""
        address = parse(self.source) if is_address(self.source) else None
        return address.repository if isinstance(address, HubAddress) else None


def start_of(export: TrainedExport) -> Start | None:
    """Return the pretrained weights that the training started from; None for random values.

    The licence is the one in the card of the export, or else in the list of tried models, or else in the model card in
    the folder of the weights.
    """
    source = export.config["model"].get("pretrained")
    if source is None:
        return None
    origin = export.card.get("pretrained", {}).get("pretrained", {})
    licence = origin.get("license")
    if licence is None and source in KNOWN_MODELS:
        licence = KNOWN_MODELS[source].license.lower()
    card = Path(source) / CARD
    if licence is None and not is_address(source) and card.is_file():
        licence = _front_matter(card.read_text(encoding="utf-8")).get("license")
    return Start(origin.get("from", source), licence and str(licence), origin.get("sha256", {}))


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def _front_matter(card: str) -> dict[str, Any]:
    """Read the YAML between the first two lines of dashes."""
    if not card.startswith("---\n"):
        return {}
    found = yaml.safe_load(card[4:].partition("\n---")[0])
    return found if isinstance(found, dict) else {}


def _labels(export: TrainedExport) -> str:
    labels, counts = export.targets.get("labels") or [], export.targets.get("counts") or []
    if not labels:
        return ""
    rows = list(zip(range(len(labels)), labels, counts, strict=False))
    more = f"\nand {len(rows) - MAX_LABELS} more in config.json\n" if len(rows) > MAX_LABELS else ""
    return table(["id", "label", "training rows"], rows[:MAX_LABELS]) + more


def _metrics(card: Mapping[str, Any]) -> str:
    metrics = card.get("metrics", {})
    ends = ("_low", "_high")
    rows = []
    for name, value in metrics.items():
        if name.endswith(ends) and name.rpartition("_")[0] in metrics:
            continue
        low, high = (metrics.get(f"{name}{end}") for end in ends)
        rows.append([name, f"{value:.4g}", "" if low is None else f"{low:.4g} to {high:.4g}"])
    if not rows:
        return ""
    return f"Measured on the {card.get('measured_on') or 'validation'} rows.\n\n" + table(
        ["metric", "value", "95 % interval"], rows
    )


def _training_data(export: TrainedExport) -> str:
    columns = [f"- `{name}` from {_column(column)}\n" for name, column in export.trained_on.columns.items()]
    targets = {
        name: value for name, value in export.targets.items() if isinstance(value, int | float) and name != "rows"
    }
    facts = [f"- training targets: {name} {value:.6g}\n" for name, value in targets.items()]
    rows = export.targets.get("rows") or sum(export.targets.get("counts") or []) or export.statistics.get("rows")
    return "".join([*columns, *([f"- training rows: {rows:,}\n"] if rows else []), *facts])


def _column(column: str | Sequence[str]) -> str:
    return f"the column `{column}`" if isinstance(column, str) else f"the columns {', '.join(map(str, column))}"


def _start(start: Start | None) -> str:
    if start is None:
        return "The weights were trained from random values."
    known = "not stated: look it up before you publish" if start.licence is None else start.licence
    digests = "".join(f"- SHA-256 of `{name}`: {digest}\n" for name, digest in start.digests.items())
    return f"The training started from the weights `{start.source}`. Their licence is {known}.\n\n{digests}"
