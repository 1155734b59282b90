"""The evaluation of a translator: metrics against the references, samples, and attention weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics import CHRF

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.plots import alignment
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import ROW, locations
from tfattn.evaluation.wording import between, count, percent
from tfattn.features import ID
from tfattn.tasks import text_metrics
from tfattn.tasks.translation import Translation
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SEED = 0  # of the intervals; a fixed seed makes evaluations reproducible
SHOWN = 15
PICTURES = 4
READABLE = 18  # words of a source with a plot
BUCKETS = (1, 6, 11, 16, 21, 31, 41, 61)


@dataclass(frozen=True)
class Written:
    """N sources with references and translations.

    Args:
        sources: N raw sources.
        references: N raw targets.
        texts: N translations.
        scores: (N,) of beam search.
        near: (N,) chrF of each text, 0 to 100.
        rows: N raw rows.
        leaked: (N,) whether a training row repeats the row.
    """

    sources: Sequence[str]
    references: Sequence[str]
    texts: Sequence[str]
    scores: np.ndarray
    near: np.ndarray
    rows: Sequence[dict[str, str]]
    leaked: np.ndarray


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate translations.

    Args:
        ensemble: a single trained model of a Translation.
        predictions: of `Translation.predictions`.

    Returns:
        a report whose metrics are those of `Translation`, `bleu_low` and `bleu_high`, its 95 % interval,
        `baseline_bleu` of copying the source, `leaked_rows`, and if some rows are not leaked, `bleu_without_leaked`
        with its interval.
    """
    (source,), (target,) = ensemble.preprocessor.fields, ensemble.preprocessor.target_fields
    references = [row[target] for row in predictions.rows]
    texts = ensemble.task.texts(predictions.values["token_ids"])
    chrf = CHRF()
    written = Written(
        sources=[row[source] for row in predictions.rows],
        references=references,
        texts=texts,
        scores=predictions.values["scores"],
        near=np.array(
            [chrf.sentence_score(*pair).score for pair in zip(texts, ([r] for r in references), strict=True)]
        ),
        rows=predictions.rows,
        leaked=predictions.leaked,
    )
    metrics = {
        **ensemble.task.metrics_of(predictions.values, predictions.targets),
        **_trust(written),
    }
    return TaskReport(
        question="what is the translation of a text?",
        measured=count(len(texts), f"{predictions.split} text"),
        metrics=metrics,
        predictions=_lines(written),
        headline=_headline(written, metrics, predictions.split),
        sections=[_samples(written), _by_length(written), *_attention(written, ensemble.task)],
        unit="pair",
        summary=f"BLEU {metrics['bleu']:.2f} (95% interval "
        f"{between(metrics['bleu_low'], metrics['bleu_high'], decimals=2)}; {text_metrics.signature()}), "
        f"chrF {metrics['chrf']:.2f}, perplexity {metrics['perplexity']:.3g}",
    )


def _trust(written: Written) -> dict[str, float]:
    """Compute the interval of BLEU, the BLEU of copying the source, and BLEU without leaked rows."""
    pairs = list(zip(written.texts, written.references, strict=True))
    low, high = text_metrics.bleu_interval(written.texts, written.references, seed=SEED)
    metrics = {
        "bleu_low": low,
        "bleu_high": high,
        "baseline_bleu": text_metrics.translation(written.sources, written.references)["bleu"],
        "leaked_rows": int(written.leaked.sum()),
    }
    if written.leaked.any() and not written.leaked.all():
        texts, references = zip(*(pairs[row] for row in np.flatnonzero(~written.leaked)), strict=True)
        low, high = text_metrics.bleu_interval(texts, references, seed=SEED)
        alone = text_metrics.translation(texts, references)["bleu"]
        metrics |= {"bleu_without_leaked": alone, "bleu_without_leaked_low": low, "bleu_without_leaked_high": high}
    return metrics


def _headline(written: Written, metrics: dict[str, float], split: str) -> Headline:
    interval = between(metrics["bleu_low"], metrics["bleu_high"], decimals=1)
    return Headline(
        metric=f"{metrics['bleu']:.1f} BLEU",
        sentence=f"{count(len(written.texts), 'text')} translated and compared with one reference each.",
        warnings=[
            *warnings.of_written(written.texts, written.references, metrics),
            *warnings.of_unseen(written.leaked, metrics, split=split, unit="pair", metric="bleu"),
        ],
        remarks=[
            f"The 95% confidence interval of BLEU is {interval} (bootstrap over texts). Smaller differences may be "
            "chance.",
            f"Baseline: copying the source has a BLEU of {metrics['baseline_bleu']:.1f}.",
            f"sacrebleu {text_metrics.signature()}; cased. A text has many correct translations: 40 is good.",
        ],
        facts={
            "chrF": f"{metrics['chrf']:.1f}",
            "equal to the reference": percent(metrics["exact_match"]),
            "token perplexity, word perplexity": f"{metrics['perplexity']:.2f}, {metrics['word_perplexity']:.2f}",
        },
    )


def _samples(written: Written) -> Section:
    order = np.argsort(written.near, kind="stable")
    middle = order[np.linspace(0, len(order) - 1, min(SHOWN, len(order))).astype(int)]
    return Section(
        "Sample translations",
        [
            Text("Evenly spaced samples, from the lowest chrF, which compares characters, to the highest."),
            _table(written, middle, folded=""),
            Text("The farthest translations; the reference may be wrong."),
            _table(written, order[:SHOWN], folded=f"The {min(SHOWN, len(order))} farthest"),
        ],
    )


def _table(written: Written, rows: Sequence[int], *, folded: str) -> Table:
    columns = {
        "source": [written.sources[row] for row in rows],
        "reference": [written.references[row] for row in rows],
        "translation": [written.texts[row] for row in rows],
        "chrF": [f"{written.near[row]:.0f}" for row in rows],
        **locations([written.rows[row] for row in rows]),
    }
    return Table(list(columns), [list(cells) for cells in zip(*columns.values(), strict=True)], folded=folded)


def _by_length(written: Written) -> Section:
    words = np.array([len(source.split()) for source in written.sources])
    index = np.searchsorted(BUCKETS, words, side="right")
    bleu, notes = {}, {}
    for bucket in np.unique(index):
        rows = np.flatnonzero(index == bucket)
        low = BUCKETS[max(0, bucket - 1)]
        name = f"{low} to {BUCKETS[bucket] - 1} words" if bucket < len(BUCKETS) else f"{low} words or more"
        score = text_metrics.translation([written.texts[r] for r in rows], [written.references[r] for r in rows])
        bleu[name], notes[name] = score["bleu"] / 100, f"({count(len(rows), 'text')})"
    title = "BLEU by length of the source"
    picture = plots.bars(bleu, title=title, notes=notes, ranked=False, percent=False)
    return Section(
        "BLEU by source length",
        [
            Text("BLEU by source length; it is unreliable for few texts."),
            Picture("by_length", svg(picture), "BLEU by length"),
        ],
    )


def _attention(written: Written, task: Translation) -> list[Section]:
    """Return alignment plots of a few short sources; none for models without attention."""
    fitting = [row for row, source in enumerate(written.sources) if 4 <= len(source.split()) <= READABLE][:PICTURES]
    aligned = task.aligned([written.sources[row] for row in fitting]) if fitting else []
    pictures = [
        Picture(f"attention_{number + 1}", svg(alignment(*aligned_pair)), f"alignment of “{written.sources[row]}”")
        for number, (row, aligned_pair) in enumerate(zip(fitting, aligned, strict=False))
    ]
    if not pictures:
        return []
    words = "Rows are the attention weights of each generated token: source tokens across, generated tokens down."
    return [Section("Attention", [Text(words), *pictures])]


def _lines(written: Written) -> Iterator[dict[str, Any]]:
    for row, raw in enumerate(written.rows):
        yield {
            **{name: raw[name] for name in (ROW, ID) if name in raw},
            "source": written.sources[row],
            "reference": written.references[row],
            "text": written.texts[row],
            "score": round(float(written.scores[row]), 6),
            "chrf": round(float(written.near[row]), 2),
        }
