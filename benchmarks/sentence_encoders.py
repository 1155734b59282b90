"""A comparison of sentence encoders: `python -m benchmarks.sentence_encoders ELMO TASK:METRIC ...`.

The encoders are a bidirectional LSTM with attention, `pipelines/TASK_bilstm.yaml`, alone and on an ELMo, a BERT from
scratch, and MiniLM fine-tuned by `pipelines/TASK.yaml`. All have the same rows and fixed recipes; the evaluated rows
are not used for selection. ELMO is an export, or a published folder.

    python -m benchmarks.sentence_encoders saved_models/elmo_small cola:matthews_correlation mrpc:f1/1 rte:accuracy
    python -m benchmarks.sentence_encoders saved_models/elmo_small sst2:accuracy \
        --set data.source.path=data/SST-2/whole_sentences.tsv

`--tagging PIPELINE` also compares frozen features of the ELMo with frozen word vectors, `--vectors`:

    python -m benchmarks.sentence_encoders saved_models/elmo_small --tagging pipelines/conll2003_ner_bilstm.yaml \
        --vectors words.vec
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import results, runs
from benchmarks.paired import paired_difference
from benchmarks.results import Table

BERT = (
    "model={name: bert, hidden_dim: 128, num_layers: 2, num_heads: 2, intermediate_dim: 512, max_sequence_length: 512, "
    "dropout: 0.2}",
    "data.preprocessing.name=wordpiece",
    "data.preprocessing.vocabulary=train",
    "data.preprocessing.vocabulary_size=8000",
    "task.pooling=mean",
)


def encoders(task: str, elmo: str) -> dict[str, tuple[str, Sequence[str]]]:
    """Return the pipeline and the overrides of each encoder, by name."""
    bilstm, attention, below = f"pipelines/{task}_bilstm.yaml", "model.attention=true", f"model.elmo.pretrained={elmo}"
    return {
        "BiLSTM": (bilstm, []),
        "+ attention": (bilstm, [attention]),
        "+ ELMo": (bilstm, [below]),
        "+ attention, ELMo": (bilstm, [attention, below]),
        "BERT from nothing": (bilstm, BERT),
        "MiniLM": (f"pipelines/{task}.yaml", []),
    }


def sentences(arguments: argparse.Namespace) -> Table:
    """Train every encoder for every task, with each seed."""
    rows: dict[str, list[str]] = {}
    for named in arguments.tasks:
        task, _, metric = named.partition(":")
        for name, (pipeline, overrides) in encoders(task, arguments.elmo).items():
            found = _measure(pipeline, [*overrides, *arguments.set], metric, arguments.seeds)
            rows.setdefault(name, [name]).append(f"{found.mean():.4f} ({found.min():.4f} to {found.max():.4f})")
    columns = ["", *(named.replace(":", ", ") for named in arguments.tasks)]
    return Table(title=f"Encoders of sentences, {arguments.seeds} seeds", columns=columns, rows=[*rows.values()])


def words(arguments: argparse.Namespace) -> Table:
    """Train the same head on frozen features of words, of an ELMo and of a table of vectors."""
    features = {
        "ELMo": ["model.embedding_dim=null", f"model.elmo={{pretrained: {arguments.elmo}}}"],
        "vectors of words": [f"model.embeddings={{from: {arguments.vectors}}}", "model.trains_embeddings=false"],
    }
    found = {
        name: _measure(arguments.tagging, [*overrides, *arguments.set], "f1", arguments.seeds)
        for name, overrides in features.items()
    }
    own, other = found.values()
    row = [Path(arguments.tagging).stem, f"{own.mean():.4f}", f"{other.mean():.4f}", paired_difference(own, other)]
    columns = ["f1, frozen features under the same head", *found, "difference (95 % interval)"]
    return Table(title=f"Frozen features of words, {arguments.seeds} seeds", columns=columns, rows=[row])


def _measure(pipeline: str, overrides: Sequence[str], metric: str, seeds: int) -> np.ndarray:
    """Run a pipeline with several seeds; return the metric of each run."""
    found = []
    for seed in range(1, seeds + 1):
        with runs.evaluated_run(pipeline, [*overrides, f"seed={seed}"]) as run:
            found.append(float(runs.read_metrics(run)[metric]))
        print(f"{pipeline}, {overrides[:1]}, seed {seed}: {found[-1]:.4f}", flush=True)
    return np.array(found)


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sentence_encoders", description=__doc__.splitlines()[0])
    parser.add_argument("elmo", help="an export of an ELMo, or a published folder")
    parser.add_argument("tasks", nargs="*", metavar="TASK:METRIC", help="such as cola:matthews_correlation")
    parser.add_argument("--tagging", metavar="PIPELINE", help="a pipeline of a tagger on a bilstm")
    parser.add_argument("--vectors", help="vectors of words for it, of the width of its `embedding_dim`")
    parser.add_argument("--seeds", type=int, default=3, help="how many runs of each")
    parser.add_argument("--set", action="append", default=[], help="an override of all runs, as of tfattn")
    results.add_option(parser)
    return parser


if __name__ == "__main__":
    given = parser().parse_args()
    if given.tagging and not given.vectors:
        parser().error("--tagging needs --vectors")
    tables = ([sentences(given)] if given.tasks else []) + ([words(given)] if given.tagging else [])
    results.publish(tables, command=results.own_command(), record=given.record)
