"""Fixtures that every room uses: the public data, the command line, and a folder as a user would have it."""

import contextlib
import gc
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

# Tests run beside each other, a process a core: numerical libraries that start a thread for every core, too, would only
# wait for each other. They read this when they are loaded, here and in the processes that tests start.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
# Libraries make many objects as they are loaded, and no garbage, for which a third of that time would be spent.
gc.disable()

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
task: {name: classification}
training: {epochs: 2, optimizer: {name: adamw, learning_rate: 5e-3}}
runtime: {precision: float32}
"""
# The tests of such a folder share a server, a browser or trained models: one process of pytest-xdist runs all of them.
TOGETHER = ("tests/documents", "tests/serving/page", "tests/serving/texts")
REVERSAL = "pipelines/reversal.yaml"
# Of its twelve epochs seven are enough to reverse nearly all words.
SHORTER = ("--set", "training.epochs=8", "--set", "data.split.validation=0.02")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file, or of one of those folders, in one process, so that what they share is made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return next((folder for folder in TOGETHER if path.startswith(f"{folder}/")), path)

    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the objects of libraries and test modules, which stay: a twelfth of the time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000)


@pytest.fixture(scope="module", autouse=True)
def compiled_by_jax() -> Iterator[None]:
    """What JAX compiles for the tests of a file, which it would keep to the end: gigabytes."""
    yield
    if os.environ.get("KERAS_BACKEND") == "jax":
        import jax

        jax.clear_caches()


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
    """The command line, in this process; plugins that it is given are forgotten when it ends."""
    from tfattn import cli, console

    output, errors = io.StringIO(), io.StringIO()
    status = 0
    console.console.file = errors
    with (
        _no_plugins_left(),
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


@contextlib.contextmanager
def _no_plugins_left() -> Iterator[None]:
    """Leaves the catalog as it was, and no module of the current folder."""
    from tfattn import catalog, registry

    before = {name: dict(entries) for name, entries in catalog.CATALOGS.items()}, list(registry.PLUGINS)
    try:
        yield
    finally:
        catalog.CATALOGS.clear()
        catalog.CATALOGS.update(before[0])
        registry.PLUGINS[:] = before[1]
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if path and Path(path).parent == Path.cwd():
                del sys.modules[name]


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
def once(tmp_path_factory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Gives folders that are made once for all processes of pytest-xdist and only read: `once(name, make)`."""
    from tfattn import files

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each process has a folder of its own in theirs
        shared = shared.parent

    def once(name: str, make: Callable[[Path], None]) -> Path:
        place = shared / "once" / name
        with files.lock(place, wait=True):
            if not (place / "made").exists():
                (place / "folder").mkdir()
                make(place / "folder")
                (place / "made").touch()
        return place / "folder"

    return once


@pytest.fixture(scope="session")
def run_once(once, tmp_path_factory) -> Callable[..., tuple[Path, Answer]]:
    """Runs a pipeline once for all processes of pytest-xdist: `run_once(name, write, pipeline, *options)`.

    `write` fills the folder in which it runs. Each process gets a copy of that, with what the command said.
    """

    def run_once(name: str, write: Callable[[Path], None], *arguments: str) -> tuple[Path, Answer]:
        def make(folder: Path) -> None:
            (folder / "project").mkdir()
            write(folder / "project")
            with contextlib.chdir(folder / "project"):
                answer = tfattn("run", *arguments)
            (folder / "answer.json").write_text(json.dumps(asdict(answer)))

        made = once(name, make)
        project = tmp_path_factory.mktemp(name) / "project"
        shutil.copytree(made / "project", project, symlinks=True)
        return project, Answer(**json.loads((made / "answer.json").read_text()))

    return run_once


@pytest.fixture(scope="session")
def finished(run_once):
    """A folder in which the whole pipeline has run, with what the command said; tests only add to it."""
    return run_once("reports", write_project, "tiny.yaml")


@pytest.fixture(scope="session")
def reversed_words(run_once):
    """A folder in which the pipeline of reversed words has run, only shorter; with what the command said."""
    return run_once("reversal", write_reversal, REVERSAL, *SHORTER)


def write_reversal(folder: Path) -> None:
    """Writes the sample of reversed words beside the pipelines and parts of the project."""
    for name in ("configs", "pipelines"):
        (folder / name).symlink_to(PROJECT / name)
    assert tfattn("sample", "reversal", folder / "data/reversal.tsv").status == 0


@pytest.fixture
def trained(finished, tmp_path, monkeypatch):
    """A copy of that folder for one test, entered."""
    shutil.copytree(finished[0], tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"
