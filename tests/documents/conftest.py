"""A folder as a reader of the documents would have it: every file that they show, samples, and three trained models."""

import contextlib
import shutil
from pathlib import Path

import pytest

from benchmarks.serving.running import running
from tests.documents.blocks import PROJECT, blocks

# What makes a pipeline so small that it trains in seconds.
TINY = {
    "factory_reports": [
        "model={name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32}",
        "data.preprocessing.vocabulary=train",
        "training.epochs=1",
    ],
    "pn_flag": ["model.hidden_dim=8", "model.num_layers=1", "training.epochs=1"],
    "reversal": [
        "data.split.validation=0.01",
        "training.epochs=1",
        "task.decoding.num_beams=1",
        "task.decoding.max_length=8",
    ],
    "mine": ["training.epochs=1"],
}
SAMPLES = {
    "factory_reports": "data/factory_reports.csv",
    "pn_flag": "data/pn_flag.tsv",
    "reversal": "data/reversal.tsv",
}


def tiny(pipeline: str) -> list[str]:
    """Return the options with which a pipeline trains in seconds."""
    return [word for override in TINY.get(Path(pipeline).stem, ()) for word in ("--set", override)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with pipelines, parts, and every file that the documents show; samples stand where they are read."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("pipelines", "configs"):
        shutil.copytree(PROJECT / name, folder / name)
    for block in blocks("python", "yaml"):
        if block.path and not block.is_part:
            (folder / block.path).write_text(block.text, encoding="utf-8")
    (folder / "new_reports.txt").write_text("Coolant is pooling underneath sorter.\nSorter blows fuses at start up.\n")
    (folder / "new_words.txt").write_text("red green blue\n")
    return folder


@pytest.fixture(scope="session")
def trained(folder, command):
    """The folder with a sample and an export for each kind of task."""
    with contextlib.chdir(folder):
        for name, sample in SAMPLES.items():
            assert command("sample", name, sample).status == 0
            pipeline = f"pipelines/{name}.yaml"
            answer = command("run", pipeline, *tiny(pipeline))
            assert answer.status == 0, answer.errors
        assert command("sample", "pn_flag", "new_candidates.tsv", "--seed", "1").status == 0
    return folder


@pytest.fixture(scope="session")
def server(trained):
    """The server that serves them."""
    with running(trained / "saved_models", worker_threads=1) as server:
        yield server
