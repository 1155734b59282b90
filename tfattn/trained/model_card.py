"""The model card README.md of an export, in the format of the Hugging Face hub.

It is made of the files of the export alone: the SavedModel and its copies for other programs have the same card.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tfattn.formats.markdown import code, fence, inline, table
from tfattn.trained import request_examples
from tfattn.trained.export_files import EXTRA, ExportFiles
from tfattn.trained.pretrained_start import start_of

CARD = "README.md"
MAX_LABELS = 50
MAX_INPUTS = 50
MAX_VALUES = 5  # of a category
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")  # an identifier of the hub
_ENDS = ("_low", "_high")


def text(
    folder: Path,
    *,
    library: str = "tfattn",
    pipeline: str | None = None,
    summary: str = "",
    use: str | None = None,
    differences: Sequence[str] = (),
    check: str | None = None,
) -> str:
    """Return the card of an export, or of a copy of it for another program.

    Args:
        folder: the version of the export.
        library: the library that reads the model, for the hub.
        pipeline: the task by the names of the hub; by default that of the export's task.
        summary: a sentence about the format; by default about the SavedModel.
        use: how to use the model, in Markdown; by default for the server, Python and the command line.
        differences: sentences in Markdown about what the SavedModel does and the copy does not.
        check: a sentence in Markdown about the check of a copy; by default the check of the export.
    """
    export = ExportFiles(folder)
    summary = summary or "A TensorFlow SavedModel for TensorFlow Serving; its preprocessing is part of the graph."
    if use is None:
        use = request_examples.section(export.name, export.task, export.card, export.source.get("suffix", ""))
    sections = {
        "Use": use,
        "Inputs": _inputs(export),
        "Labels": _labels(export),
        "Metrics": _metrics(export.card),
        "Training data": _training_data(export),
        "Limitations": _limitations(export),
        "Pretrained weights": _pretrained(export),
        "Differences from the SavedModel": _list(differences),
        "Check": _check(export) if check is None else check,
        "Configuration": fence(export.config_text, "yaml"),
    }
    body = "".join(f"\n## {title}\n\n{content.strip()}\n" for title, content in sections.items() if content.strip())
    header = _header(export, library, export.pipeline if pipeline is None else pipeline)
    purpose = f"The model {export.purpose}. " if export.purpose else ""
    return f"---\n{header}---\n\n# {inline(export.name)}\n\n{purpose}{summary} Trained with tfattn.\n{body}"


def _header(export: ExportFiles, library: str, pipeline: str) -> str:
    """Return the metadata for the hub, as YAML."""
    start = start_of(export.config, export.card)
    license = start.licence.lower() if start and start.licence else None
    facts = {
        "license": license if license is None or _LICENSE.fullmatch(license) else "other",
        "language": start and start.language,
        "base_model": start and start.repository,
        "library_name": library,
        "pipeline_tag": pipeline,
        "tags": ["tfattn", *([] if library != "tfattn" else ["tensorflow", "saved-model"]), export.task],
        "metrics": [metric for metric, *_ in _measured(export.card)],
        "model-index": _index(export, pipeline),
    }
    facts["tags"] = [tag for tag in facts["tags"] if tag]
    known = {name: value for name, value in facts.items() if value}
    return yaml.safe_dump(known, sort_keys=False, allow_unicode=True)


def _index(export: ExportFiles, pipeline: str) -> list[dict[str, Any]]:
    """Return the results in the format of the hub; intervals are part of the names."""
    measured = _measured(export.card)
    if not measured:
        return []
    split = export.card.get("measured_on") or "validation"
    path = next(iter(export.card.get("data", {}).get("sources", {}).values()), {}).get("path", "")
    data = Path(path).stem or export.name
    metrics = [
        {"type": name, "value": value, "name": name.replace("_", " ") + (f" (95 % interval {ends})" if ends else "")}
        for name, value, ends, _ in measured
    ]
    task = {"type": pipeline or export.task or "other"}
    return [
        {
            "name": export.name,
            "results": [{"task": task, "dataset": {"name": data, "type": data, "split": split}, "metrics": metrics}],
        }
    ]


def _measured(card: Mapping[str, Any]) -> list[tuple[str, float, str, float | None]]:
    """Return name, value, 95 % interval and baseline of each metric."""
    metrics = card.get("metrics", {})
    found = []
    for name, value in metrics.items():
        is_end = name.endswith(_ENDS) and name.rpartition("_")[0] in metrics
        if not is_end and not name.startswith("baseline_"):
            low, high = (metrics.get(f"{name}{end}") for end in _ENDS)
            ends = "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
            found.append((name, value, ends, metrics.get(f"baseline_{name}")))
    return found


def _metrics(card: Mapping[str, Any]) -> str:
    measured = _measured(card)
    if not measured:
        return ""
    rows = [
        [name.replace("_", " "), f"{value:.4g}", ends, "" if baseline is None else f"{baseline:.4g}"]
        for name, value, ends, baseline in measured
    ]
    words = f"Measured on the {inline(card.get('measured_on') or 'validation')} rows."
    if any(row[-1] for row in rows):
        words += " The baseline is the best constant prediction, or another prediction without a model."
    parts = [words, table(["metric", "value", "95 % interval", "baseline"], rows)]
    trained = card.get("trained_baseline", {})
    for name, value in trained.items():
        if name.startswith("trained_baseline_"):
            difference, low, high = (trained[f"better_than_trained_baseline{end}"] for end in ("", *_ENDS))
            verdict = "better" if low > 0 else "worse" if high < 0 else "not better"
            parts.append(
                f"A simple model of scikit-learn, trained on the same rows, has "
                f"{name.removeprefix('trained_baseline_').replace('_', ' ')} {value:.4g}. The model is {verdict}: the "
                f"difference is {difference:.4g} (95 % interval {low:.4g} to {high:.4g})."
            )
    return "\n\n".join(part.strip() for part in parts)


def _inputs(export: ExportFiles) -> str:
    inputs = list(export.card.get("inputs", {}).items())
    columns = ["input", "column", "kind", "limits"]
    rows = [[name, known.get("column", name), known["kind"], _limit(known)] for name, known in inputs[:MAX_INPUTS]]
    more = f"\nand {len(inputs) - MAX_INPUTS} more in `{EXTRA}/card.json`\n" if len(inputs) > MAX_INPUTS else ""
    return table(columns, rows) + more if rows else ""


def _limit(known: Mapping[str, Any]) -> str:
    """Describe the limit of an input, see `ServableModel.metadata`."""
    if known.get("max_tokens"):
        return f"up to {known['max_tokens']} tokens; longer texts are truncated"
    if known.get("low") is not None:
        missing = "; may be missing" if known.get("may_be_missing") else ""
        return f"{known['low']:.6g} to {known['high']:.6g} in training{missing}"
    if known.get("values"):
        return f"{len(known['values'])} known values"
    if known.get("height"):
        return f"resized to {known['height']} x {known['width']} pixels"
    return ""


def _labels(export: ExportFiles) -> str:
    labels, counts = export.targets.get("labels") or [], export.targets.get("counts") or []
    if not labels:
        return ""
    rows = list(zip(range(len(labels)), labels, counts, strict=False))
    more = f"\nand {len(rows) - MAX_LABELS} more in `{EXTRA}/statistics.json`\n" if len(rows) > MAX_LABELS else ""
    return table(["id", "label", "training rows"], rows[:MAX_LABELS]) + more


def _training_data(export: ExportFiles) -> str:
    data = export.card.get("data", {})
    lines = [
        f"{code(source['path'])}, SHA-256 {source['sha256']}" if source.get("path") else f"SHA-256 {source['sha256']}"
        for source in data.get("sources", {}).values()
    ]
    lines += [f"{code(name)} from {_column(column)}" for name, column in export.source.get("columns", {}).items()]
    rows = export.targets.get("rows") or sum(export.targets.get("counts") or []) or export.statistics.get("rows")
    if data.get("rows"):
        lines += [f"{split} rows: {count:,}" for split, count in data["rows"].items()]
    elif rows:
        lines.append(f"training rows: {rows:,}")
    numbers = {name: value for name, value in export.targets.items() if isinstance(value, int | float)}
    lines += [f"training targets: {name} {value:.6g}" for name, value in numbers.items() if name != "rows"]
    return _list(lines)


def _column(column: str | Sequence[str]) -> str:
    return f"the column {code(column)}" if isinstance(column, str) else f"the columns {', '.join(map(code, column))}"


def _limitations(export: ExportFiles) -> str:
    """Return the warnings of the evaluation, and what the training rows were like."""
    parts = [_list(map(inline, export.card.get("warnings", [])))]
    rows = [
        [name, histogram["kind"], _typical(histogram), f"{histogram['missing']:,}"]
        for name, histogram in list(export.statistics.get("inputs", {}).items())[:MAX_INPUTS]
    ]
    if rows:
        words = "The model was trained on rows like these; it may be wrong about others. Lengths are in characters."
        parts += [words, table(["input", "kind", "training rows", "missing"], rows)]
        command = code(f"tfattn evaluate {export.name} --on FILE")
        parts.append(f"{command} reports the drift of new rows.")
    return "\n\n".join(part.strip() for part in parts if part)


def _typical(histogram: Mapping[str, Any]) -> str:
    """Describe the bins of a histogram: the deciles of numbers and lengths, the most frequent categories."""
    bins = histogram["bins"]
    if histogram["kind"] == "category":
        total = sum(histogram["counts"]) or 1
        shares = zip(bins, histogram["counts"], strict=False)
        return ", ".join(f"{name} ({count / total:.0%})" for name, count in list(shares)[:MAX_VALUES])
    if not bins:
        return ""
    return f"from {bins[0]:.6g} to {bins[-1]:.6g} for most rows, median {bins[len(bins) // 2]:.6g}"


def _check(export: ExportFiles) -> str:
    """Describe the comparison with the trained model, the versions and the size."""
    parity = {name: value for name, value in export.parity.items() if isinstance(value, int | float | str)}
    lines = [f"TensorFlow {inline(parity.pop('tensorflow'))}"] if "tensorflow" in parity else []
    facts = [f"{name.replace('_', ' ')} {value}" for name, value in parity.items()]
    if facts:
        lines.append(f"compared with the trained model in a fresh process: {', '.join(facts)}")
    for precision, report in export.card.get("litert", {}).items():
        if report.get("passed"):
            lines.append(f"with a LiteRT file in {inline(precision)}, see `{EXTRA}/parity.json`")
    size = sum(path.stat().st_size for path in export.folder.rglob("*") if path.is_file())
    return _list([*lines, f"size: {size / 1e6:.1f} MB"])


def _pretrained(export: ExportFiles) -> str:
    """Return the pretrained weights of all parts, such as the model, a teacher or word vectors."""
    start = start_of(export.config, export.card)
    lines = []
    if start is not None:
        lines.append(f"the model started from {code(start.source)}; {_licence(start.licence)}")
        lines += [f"SHA-256 of {code(name)}: {digest}" for name, digest in start.digests.items()]
    for part, origin in export.card.get("pretrained", {}).items():
        if part != "pretrained":
            lines.append(f"{inline(part)}: {code(origin['from'])}; {_licence(origin.get('license'))}")
    return _list(lines) or "The weights were trained from random values."


def _licence(licence: str | None) -> str:
    known = "not stated: look it up before you publish" if licence is None else inline(licence)
    return f"the licence of these weights is {known}"


def _list(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)
