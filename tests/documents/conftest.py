"""A folder for the documents: the files that they show, samples, and models."""

import contextlib
import math
import shutil
from pathlib import Path

import pytest

from benchmarks.serving.running import running
from tests.conftest import SHORTER
from tests.documents.blocks import PROJECT, blocks
from tests.pretrained.hub.stand_in import local_hub
from tests.serving import authors
from tfattn.export import serving_config

# What makes a pipeline so small that it trains in seconds.
TINY_ENCODER = [
    "model={name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32}",
    "data.preprocessing.vocabulary=train",
    "training.epochs=1",
]
TINY = {
    "factory_reports": TINY_ENCODER,
    "resolutions": TINY_ENCODER,
    "pn_flag": ["model.hidden_dim=8", "model.num_layers=1", "training.epochs=1"],
    "reversal": SHORTER,  # as the run that all tests share
    "mine": ["training.epochs=1"],
}
SAMPLES = {
    "factory_reports": "data/factory_reports.csv",
    "pn_flag": "data/pn_flag.tsv",
}


def tiny(pipeline: str) -> list[str]:
    """Return the options with which a pipeline trains in seconds."""
    return [word for override in TINY.get(Path(pipeline).stem, ()) for word in ("--set", override)]


@pytest.fixture(scope="session", autouse=True)
def hub_of_documents(tmp_path_factory):
    """A local hub with the models that the documents name."""
    with local_hub(tmp_path_factory.mktemp("hub")) as server:
        yield server


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with pipelines, parts, every file that the documents show, and samples at the paths of the pipelines."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("pipelines", "configs"):
        shutil.copytree(PROJECT / name, folder / name)
    for block in blocks("python", "yaml"):
        if block.path and not block.is_part:
            (folder / block.path).write_text(block.text, encoding="utf-8")
    (folder / "new_reports.txt").write_text("Coolant is pooling underneath sorter.\nSorter blows fuses at start up.\n")
    (folder / "gold.csv").write_text(
        "Description,Category\nCoolant is pooling,Leak\nSorter blows fuses.,Electronic Failure\n"
    )
    (folder / "new_words.txt").write_text("red green blue\n")
    words = ["the", "king", "queen", "man", "woman", "boy", "girl"]
    (folder / "words.vec").write_text(_vectors(words))
    (folder / "similarity.csv").write_text("word,word,score\nking,queen,8\nman,girl,5\nboy,elephant,1\n")
    (folder / "questions-words.txt").write_text(": family\nking queen man woman\nboy girl king queen\n")
    return folder


def _vectors(words: list[str]) -> str:
    """Write vectors of eight numbers for words, in word2vec's text."""
    rows = (" ".join(f"{math.sin(word * place):.4f}" for place in range(1, 9)) for word in range(1, len(words) + 1))
    lines = [f"{word} {row}\n" for word, row in zip(words, rows, strict=True)]
    return f"{len(words)} 8\n" + "".join(lines)


@pytest.fixture(scope="session")
def folder_with_models(folder, reversed_words, once, command):
    """The folder with a sample and an export for each kind of task, which are made once for all processes."""

    authored = once("authors", authors.write)

    def make(made):
        shutil.copytree(folder, made / "reader")
        for name in ("data", "runs", "saved_models"):
            shutil.copytree(reversed_words[0] / name, made / "reader" / name, symlinks=True)
        with contextlib.chdir(made / "reader"):
            for name, sample in SAMPLES.items():
                assert command("sample", name, sample).status == 0
                pipeline = f"pipelines/{name}.yaml"
                answer = command("run", pipeline, *tiny(pipeline))
                assert answer.status == 0, answer.errors
            answer = command("run", "pipelines/resolutions.yaml", *tiny("pipelines/resolutions.yaml"))
            assert answer.status == 0, answer.errors
            assert command("sample", "pn_flag", "new_candidates.tsv", "--seed", "1").status == 0
        # In the place of published weights, which are not everywhere.
        models = made / "reader" / "saved_models"
        shutil.copytree(authored / authors.NAME, models / "smollm2")
        serving_config.write(models, served_from="/models")

    shutil.copytree(once("documents", make) / "reader", folder, symlinks=True, dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def server(folder_with_models):
    """The server that serves them."""
    with running(folder_with_models / "saved_models", worker_threads=1) as server:
        yield server
