"""Fixtures that every room uses: the public data, the command line, and a folder as a user would have it."""

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

PROJECT = Path(__file__).resolve().parent.parent
# A pipeline so small that it trains in seconds.
PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: reports.csv, fields: {text: Description, label: Category}}
  preprocessing: {name: wordpiece, vocabulary: train, vocabulary_size: 400, max_length: 24}
  batching: {batch_size: 32}
  split: {validation: 0.2}
model: {name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32, max_sequence_length: 24}
task: {name: text_classification}
training: {epochs: 2, optimizer: {name: adamw, learning_rate: 5e-3}}
runtime: {precision: float32}
"""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public data beside the project; tests that read it are skipped where it is absent."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the public data sets, expected in {folder.name}/ of ../shared beside the project")
    return folder


@dataclass
class Answer:
    """What a command left: exit status, standard output and standard error."""

    status: int
    output: str
    errors: str


def tfattn(*arguments: str) -> Answer:
    """The command line, in this process."""
    from tfattn import cli, console

    output, errors = io.StringIO(), io.StringIO()
    status = 0
    console.console.file = errors
    with (
        mock.patch.object(sys, "argv", ["tfattn", *map(str, arguments)]),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            cli.main()
        except SystemExit as left:
            status = left.code or 0
    console.console.file = None  # that is: standard error, whatever it is by then
    return Answer(status, output.getvalue(), errors.getvalue())


@pytest.fixture(scope="session")
def command():
    """The command line as a function of its arguments."""
    return tfattn


def write_project(folder: Path) -> Path:
    """Writes the sample and the pipeline."""
    assert tfattn("sample", "factory_reports", folder / "reports.csv").status == 0
    (folder / "tiny.yaml").write_text(PIPELINE)
    return folder


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A fresh folder with the sample and the pipeline, entered."""
    monkeypatch.chdir(tmp_path)
    return write_project(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder in which the whole pipeline has run; tests only read it. With what the command said."""
    folder = write_project(tmp_path_factory.mktemp("finished"))
    with contextlib.chdir(folder):
        return folder, tfattn("run", "tiny.yaml")
