"""The evaluation of a tagger: entity metrics, by type, and errors."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.evaluation.report import Headline, Marked, Picture, Section, Table, Text, pieces
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, ROW, location
from tfattn.evaluation.tagged_words import TaggedText, tagged
from tfattn.evaluation.wording import count, percent, percents
from tfattn.features import ID
from tfattn.tasks.label_metrics import LabelCounts
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_CHARACTERS = 600  # of a displayed text
OF_TYPE = ("precision", "recall", "f1")


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Compare the entities that an export of the tagger returns with the entities of the file.

    Args:
        ensemble: the trained models of a TokenClassification.
        predictions: of `TokenClassification.predictions`.

    Returns:
        a report whose metrics are micro `precision`, `recall` and `f1`, the last with its 95 % interval; the same per
        type, with its `support`; `token_accuracy`; `leaked_rows` and, if some rows are not leaked, `f1_without_leaked`
        with its interval; and for several models those of Spread.
    """
    texts = tagged(predictions.rows, predictions.values, ensemble.labels)
    metrics = {**_measured(texts), **_trust(texts, predictions.leaked)}
    alone = {member.name: _alone(member.values, predictions, ensemble.labels) for member in predictions.members}
    spread = Spread("f1", alone)
    metrics |= spread.metrics
    return TaskReport(
        question="which entities are in a text?",
        measured=count(len(texts), f"{predictions.split} text"),
        metrics=metrics,
        predictions=_lines(texts),
        headline=_headline(texts, metrics, predictions, spread.facts),
        sections=[_by_type(metrics), *spread.sections(metrics, predictions), _kinds(texts), _mistakes(texts)],
        unit="text",
        summary=f"F1 {metrics['f1']:.4f} (95% interval {metrics['f1_low']:.4f} to {metrics['f1_high']:.4f}), "
        f"precision {metrics['precision']:.4f}, recall {metrics['recall']:.4f}",
        console_table=_console_table(metrics),
    )


def _measured(texts: Sequence[TaggedText]) -> dict[str, float]:
    true, given = (Counter(label for text in texts for *_, label in text.spans[side]) for side in (0, 1))
    right = Counter(label for text in texts for *_, label in set.intersection(*text.spans))
    types = sorted(true | given)
    counts = LabelCounts(*(np.array([side[name] for name in types]) for side in (true, given, right)))
    together = LabelCounts(*(np.array([part.sum()]) for part in vars(counts).values())).by_label
    words = [true == given for text in texts for true, given in zip(text.true, text.predicted, strict=True)]
    metrics = {**{name: float(together[name][0]) for name in OF_TYPE}, "token_accuracy": float(np.mean(words))}
    for measure, values in counts.by_label.items():
        metrics |= {f"{measure}/{name}": float(value) for name, value in zip(types, values, strict=True)}
    return metrics | {f"support/{name}": true[name] for name in types}


def _trust(texts: Sequence[TaggedText], leaked: np.ndarray) -> dict[str, float]:
    """Compute the interval of F1, and F1 without leaked rows."""
    sums = np.array([_counts(text) for text in texts], float)
    metrics = _with_interval("f1", sums) | {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        metrics |= _with_interval("f1_without_leaked", sums[~leaked])
    return metrics


def _with_interval(name: str, sums: np.ndarray) -> dict[str, float]:
    low, high = bootstrap_interval(sums, _f1)
    return {name: float(_f1(sums.sum(axis=0, keepdims=True))[0]), f"{name}_low": low, f"{name}_high": high}


def _counts(text: TaggedText) -> tuple[int, int, int]:
    true, given = text.spans
    return len(true), len(given), len(true & given)


def _f1(sums: np.ndarray) -> np.ndarray:
    true, given, right = sums.T
    return 2 * right / np.maximum(true + given, 1)


def _alone(values: Any, predictions: SplitPredictions, labels: Sequence[str]) -> dict[str, float]:
    texts = tagged(predictions.rows, values, labels)
    return _measured(texts) | _trust(texts, predictions.leaked)


def _headline(
    texts: Sequence[TaggedText], metrics: dict[str, float], predictions: SplitPredictions, of_members: dict[str, str]
) -> Headline:
    entities = sum(len(text.spans[0]) for text in texts)
    exact = sum(text.is_right for text in texts)
    unit = "character" if any(text.is_by_character for text in texts) else "word"
    weakest = min(_types(metrics), key=lambda name: metrics[f"f1/{name}"])
    return Headline(
        metric=percent(metrics["f1"]),
        sentence=f"{percent(metrics['precision'])} of the predicted entities are correct (precision), and "
        f"{percent(metrics['recall'])} of the {entities:,} true entities are found (recall; F1 "
        f"{percent(metrics['f1'])}). "
        "An entity is correct if its type, its start and its end are.",
        warnings=[
            *_never(texts),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit="text", metric="f1"),
        ],
        remarks=[
            f"The 95% confidence interval of F1 is {percents(metrics['f1_low'], metrics['f1_high'])} (bootstrap over "
            "texts).",
            f"{exact:,} of {count(len(texts), 'text')} are tagged without an error.",
        ],
        facts={
            "weakest type": f"{weakest}, F1 {percent(metrics[f'f1/{weakest}'])}",
            f"{unit}s with the right tag": percent(metrics["token_accuracy"]),
            **of_members,
        },
    )


def _never(texts: Sequence[TaggedText]) -> list[str]:
    true, given = ({label for text in texts for *_, label in text.spans[side]} for side in (0, 1))
    missing = sorted(true - given)
    return [f"It never finds an entity of type {' or '.join(missing)}."] if missing else []


def _types(metrics: dict[str, float]) -> list[str]:
    return [name.partition("/")[2] for name in metrics if name.startswith("support/")]


def _by_type(metrics: dict[str, float]) -> Section:
    types = _types(metrics)
    table = [
        [name, metrics[f"support/{name}"], *(percent(metrics[f"{measure}/{name}"]) for measure in OF_TYPE)]
        for name in types
    ]
    scores = {name: metrics[f"f1/{name}"] for name in types}
    notes = {name: f"({metrics[f'support/{name}']:,})" for name in types}
    heads = ["type", "entities", "precision", "recall", "F1"]
    return Section(
        "Metrics by entity type",
        [Table(heads, table), Picture("f1", svg(plots.bars(scores, title="F1", notes=notes)), "F1 of each type")],
    )


def _kinds(texts: Sequence[TaggedText]) -> Section:
    """Return a table of the types of errors."""
    found = Counter(kind for text in texts for kind in _mistaken(text))
    words = {
        "type": "correct bounds, wrong type",
        "bounds": "correct type, wrong bounds",
        "both": "wrong bounds and wrong type",
        "missed": "missed: no overlapping prediction",
        "wrong": "spurious: no overlapping entity",
    }
    rows = [[description, found[kind]] for kind, description in words.items() if found[kind]]
    return Section("Error types", [Table(["kind", "entities"], rows)] if rows else [Text("There are no errors.")])


def _mistaken(text: TaggedText) -> Iterator[str]:
    """Yield the type of each error of a text."""
    true, given = text.spans
    missed, wrong = true - given, given - true
    met = set()
    for span in missed:
        start, end, label = span
        others = [other for other in wrong if other[0] < end and start < other[1]]
        met.update(others)
        if not others:
            yield "missed"
        elif any(other[:2] == (start, end) for other in others):
            yield "type"
        else:
            yield "bounds" if any(other[2] == label for other in others) else "both"
    yield from ("wrong" for other in wrong - met)


def _mistakes(texts: Sequence[TaggedText]) -> Section:
    wrong = [text for text in texts if not text.is_right]
    if not wrong:
        return Section("Most confident errors", [Text("There are no errors.")])
    worst = sorted(wrong, key=lambda text: -text.certainty_of_mistakes)[:MAX_ERRORS_SHOWN]
    words = (
        f"{len(worst):,} of {count(len(wrong), 'text')} with errors, the most confident first. Green is correct, "
        "orange is missed, red is wrong. The file may be wrong."
    )
    lines = [line for text in worst for line in _lines_of(text)]
    return Section("Most confident errors", [Text(words), Marked(lines)])


def _lines_of(text: TaggedText) -> Iterator[tuple[str, Sequence[Any]]]:
    true, given = text.spans
    sides = ((f"{location(text.row)}, file", true, given, "missed"), ("model", given, true, "wrong"))
    for words, spans, others, kind in sides:
        marks = [(start, end, "right" if (start, end, label) in others else kind, label) for start, end, label in spans]
        shown = [mark for mark in marks if mark[1] <= MAX_CHARACTERS]
        yield words, pieces(text.text[:MAX_CHARACTERS], shown)


def _lines(texts: Sequence[TaggedText]) -> Iterator[dict[str, Any]]:
    for text in texts:
        yield {
            **{name: text.row[name] for name in (ROW, ID) if name in text.row},
            "text": text.text,
            "tags": list(text.true),
            "predicted": text.predicted,
            "entities": [
                {
                    "text": text.text[entity.start : entity.end],
                    "label": entity.label,
                    "start": entity.start,
                    "end": entity.end,
                }
                for entity in text.entities
            ],
        }


def _console_table(metrics: dict[str, float]) -> tuple[str, list[str], list[list[Any]]]:
    table = [[name, *(metrics[f"{measure}/{name}"] for measure in (*OF_TYPE, "support"))] for name in _types(metrics)]
    return "Entities by type", ["type", *OF_TYPE, "entities"], table
