"""Fine-tuning compared with transformers.

    python -m benchmarks.fine_tuned PIPELINE:METRIC ... [--seeds 3] [--set KEY=VALUE]

The peer has the same rows, encoder, learning rate, schedule and number of epochs; the evaluated rows are not used for
selection. METRIC is accuracy, f1/1 or matthews_correlation for classification of texts or pairs; pearson for
regression; f1 of entities for tagging; f1 or exact_match for question answering, where the peer divides contexts into
windows that overlap by doc_stride. The interval is that of the mean of the differences, which are paired by seed. Speed
is that of training alone.

    TORCH_PYTHON=... python -m benchmarks.fine_tuned pipelines/cola.yaml:matthews_correlation pipelines/mrpc.yaml:f1/1
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from benchmarks import peers, results, runs
from benchmarks.accuracy import divide_rows
from benchmarks.fine_tuned_scripts import BEGIN, QUESTIONS, TAGS, TEXTS, TRAINING
from benchmarks.paired import paired_difference
from benchmarks.peer_encoder import transformers_folder
from benchmarks.results import Table
from tfattn import files
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.data.section import Data
from tfattn.data.split_config import VALIDATION
from tfattn.formats.source import Row
from tfattn.formats.tag_schemes import spans, to_iob2
from tfattn.tasks import answer_metrics


def entity_f1(true: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """Compute the F1 of entities of IOB2 tags; an I- tag without a start begins an entity, as in seqeval."""
    right, predicted = (
        {(row, *span) for row, tags in enumerate(each) for span in spans(to_iob2(tags, "iob1"))}
        for each in (true, found)
    )
    return 2 * len(right & predicted) / (len(right) + len(predicted))


@dataclass(frozen=True)
class Kind:
    """The peer of a kind of pipelines: its script, the fields of a row, and the metrics."""

    script: str
    read: Callable[[Data, Row], tuple[object, object]]
    metrics: dict[str, Callable[[Sequence, Sequence], float]]


def _words(data: Data, row: Row) -> tuple[list[str], list[str]]:
    return row.fields["text"].split(" "), row.fields["tags"]


def _question(data: Data, row: Row) -> tuple[list[str], list[dict]]:
    return [row.fields["question"], row.fields["context"]], row.fields["answers"]


def _texts(data: Data, row: Row) -> tuple[list[str], str]:
    return [row.fields[name] for name in data.preprocessing.fields], row.fields["label"]


def _number(data: Data, row: Row) -> tuple[list[str], float]:
    return [row.fields[name] for name in data.preprocessing.fields], float(row.fields["target"])


def mean_answer_score(score: Callable[[str, Sequence[str]], float]) -> Callable[[Sequence, Sequence], float]:
    """Return the mean of a score of answers, each with its true answers."""
    return lambda true, found: float(
        np.mean([score(given, [answer["text"] for answer in right]) for right, given in zip(true, found, strict=True)])
    )


CLASSES = {
    "accuracy": accuracy_score,
    "f1/1": lambda true, found: f1_score(true, found, pos_label="1"),
    "matthews_correlation": matthews_corrcoef,
}
KINDS = {
    "question_answering": Kind(
        QUESTIONS,
        _question,
        {"f1": mean_answer_score(answer_metrics.f1), "exact_match": mean_answer_score(answer_metrics.exact_match)},
    ),
    "token_classification": Kind(TAGS, _words, {"f1": entity_f1}),
    "regression": Kind(TEXTS, _number, {"pearson": lambda true, found: pearsonr(true, found).statistic}),
    "classification": Kind(TEXTS, _texts, CLASSES),
}


def main(arguments: argparse.Namespace) -> Table:
    """Run all candidates with each seed, each run in a separate process."""
    rows = []
    for named in arguments.pipelines:
        pipeline, _, metric = named.partition(":")
        measured = []
        for seed in range(1, arguments.seeds + 1):
            overrides = [*arguments.set, f"seed={seed}"]
            measured.append((run_tfattn(pipeline, overrides, metric), run_peer(pipeline, overrides, metric, seed)))
            (own, own_seconds), (other, other_seconds) = measured[-1]
            print(f"{pipeline}, seed {seed}: {own:.4f} ({own_seconds:.0f} s), {other:.4f} ({other_seconds:.0f} s)")
        (own, own_seconds), (other, other_seconds) = (np.array(values).T for values in zip(*measured, strict=True))
        faster = f"{np.median(other_seconds / own_seconds):.2f}"
        means = [f"{own.mean():.4f}", f"{other.mean():.4f}"]
        rows.append([f"{Path(pipeline).stem}, {metric}", *means, paired_difference(own, other), faster])
    columns = ["", "tfattn", "transformers", "difference (95 % interval)", "times as fast"]
    return Table(title=f"fine-tuned encoders, {arguments.seeds} seeds", columns=columns, rows=rows)


def run_tfattn(pipeline: str, overrides: Sequence[str], metric: str) -> tuple[float, float]:
    """Return the metric of a run, and the seconds of its training."""
    with runs.evaluated_run(pipeline, overrides) as run:
        history = files.read_json_lines(run / "history.jsonl", dict[str, int | float])
        return runs.read_metrics(run)[metric], sum(epoch["seconds"] for epoch in history)


def run_peer(pipeline: str, overrides: Sequence[str], metric: str, seed: int) -> tuple[float, float]:
    """Return the metric and the training time of the peer on the same rows."""
    config = resolve(pipeline, [*overrides, "data.preprocessing.vocabulary=train"])
    data, training, kind = build(config, "data"), config.values["training"], KINDS[config.at("task", "name")]
    rows = {
        split: list(zip(*(kind.read(data, row) for row in of_split), strict=True))
        for split, of_split in divide_rows(data, seed).items()
    }
    options = {
        "seed": seed,
        "regression": config.at("task", "name") == "regression",
        "epochs": training["epochs"],
        "learning_rate": training["optimizer"]["learning_rate"],
        "max_length": data.preprocessing.max_length,
        "doc_stride": getattr(data.preprocessing, "doc_stride", None),
        "max_answer_length": config.at("task").get("max_answer_length", 30),
        "max_tokens": config.values["data"]["batching"]["max_tokens"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps(rows))
        encoder = transformers_folder(config.values["model"]["pretrained"], Path(folder))
        script = BEGIN + kind.script + TRAINING
        result = json.loads(peers.last_line(script, path, encoder, json.dumps(options)))
    return float(kind.metrics[metric](rows[VALIDATION][1], result["predictions"])), result["seconds"]


if __name__ == "__main__":
    options = runs.parser("benchmarks.fine_tuned", __doc__).parse_args()
    results.publish([main(options)], command=results.own_command(), record=options.record)
