"""The evaluation of a tagger: how many entities it finds, of which types, and where it goes wrong."""

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
from tfattn.evaluation.row_predictions import WORST_MISTAKES
from tfattn.evaluation.tagged_words import TaggedText, tagged
from tfattn.evaluation.wording import count, percent, percents
from tfattn.tasks.label_metrics import LabelCounts
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_CHARACTERS = 600  # of a text that is shown
OF_TYPE = ("precision", "recall", "f1")


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Measure the entities that an export of the tagger would answer, by those of the file.

    Args:
        ensemble: whose task is a TokenClassification.
        predictions: of `TokenClassification.predictions`.

    Returns:
        a report whose metrics are `precision`, `recall` and `f1` of all entities together, the last with its
        95 % interval, and of each type, with its `support`; `token_accuracy`; `leaked_rows` and, where there are others
        too, `f1_without_leaked` with its interval; and of several models those of Spread.
    """
    texts = tagged(predictions.rows, predictions.values, ensemble.labels)
    metrics = {**_measured(texts), **_trust(texts, predictions.leaked)}
    alone = {one.name: _alone(one.values, predictions, ensemble.labels) for one in predictions.members}
    spread = Spread("f1", alone)
    metrics |= spread.metrics
    return TaskReport(
        question="what does a text name?",
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
        sentence=f"Of all entities given, {percent(metrics['precision'])} are right, and of all {entities:,} that "
        f"there are, {percent(metrics['recall'])} are given (F1 {percent(metrics['f1'])}). An entity is right where "
        "its type, its first character and its last character are.",
        warnings=[
            *_never(texts),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit="text", metric="f1"),
        ],
        remarks=[
            f"With other texts of this kind F1 would be {percents(metrics['f1_low'], metrics['f1_high'])} (95% "
            "interval, by drawing from these texts).",
            f"{exact:,} of {count(len(texts), 'text')} are tagged without a mistake.",
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
    """Count the kinds of mistakes."""
    found = Counter(kind for text in texts for kind in _mistaken(text))
    words = {
        "type": "the right bounds with another type",
        "bounds": "the right type with other bounds",
        "both": "other bounds and another type",
        "missed": "missed: nothing was predicted where an entity is",
        "wrong": "given where there is none",
    }
    rows = [[said, found[kind]] for kind, said in words.items() if found[kind]]
    return Section("Kinds of mistakes", [Table(["kind", "entities"], rows)] if rows else [Text("Nothing does.")])


def _mistaken(text: TaggedText) -> Iterator[str]:
    """Yield the kind of each mistake of a text."""
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
        return Section("Worst mistakes", [Text("There are none.")])
    worst = sorted(wrong, key=lambda text: -text.certainty_of_mistakes)[:WORST_MISTAKES]
    words = (
        f"{len(worst):,} of {count(len(wrong), 'text')} with mistakes, those first of which the model was most "
        "certain. Green is right, orange what it missed, red what it gave wrongly. At times the file is wrong."
    )
    lines = [line for text in worst for line in _lines_of(text)]
    return Section("Worst mistakes", [Text(words), Marked(lines)])


def _lines_of(text: TaggedText) -> Iterator[tuple[str, Sequence[Any]]]:
    true, given = text.spans
    number = text.location.rpartition(":")[2]
    for words, spans, others, kind in ((f"{number}, file", true, given, "missed"), ("model", given, true, "wrong")):
        marks = [(start, end, "right" if (start, end, label) in others else kind, label) for start, end, label in spans]
        shown = [mark for mark in marks if mark[1] <= MAX_CHARACTERS]
        yield words, pieces(text.text[:MAX_CHARACTERS], shown)


def _lines(texts: Sequence[TaggedText]) -> Iterator[dict[str, Any]]:
    for text in texts:
        yield {
            "row": text.location,
            "text": text.text,
            "tags": list(text.true),
            "predicted": text.predicted,
            "entities": [
                {"text": text.text[one.start : one.end], "label": one.label, "start": one.start, "end": one.end}
                for one in text.entities
            ],
        }


def _console_table(metrics: dict[str, float]) -> tuple[str, list[str], list[list[Any]]]:
    table = [[name, *(metrics[f"{measure}/{name}"] for measure in (*OF_TYPE, "support"))] for name in _types(metrics)]
    return "Entities by type", ["type", *OF_TYPE, "entities"], table
