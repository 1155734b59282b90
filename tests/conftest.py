"""Shared fixtures: public data, the command line, and project folders."""

import contextlib
import ctypes
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

from tests.loaded_exports import exports_stay_loaded
from tests.parity_process import parity_in_forks

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
MUCH_MEMORY = 100 << 20
STACKS: dict[Path, contextlib.ExitStack] = {}
REVERSAL = "pipelines/reversal.yaml"
# Of two layers and twelve epochs one and six are enough to reverse nearly all texts.
SHORTER = ("training.epochs=6", "data.split.validation=0.02", "model.num_layers=1")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a file, or of certain folders, in one process, so that they share fixtures."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return next((folder for folder in TOGETHER if path.startswith(f"{folder}/")), path)

    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """Exclude objects of libraries and test modules from garbage collection, which takes a twelfth of the time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000)


@pytest.fixture(scope="session")
def freed() -> dict[str, int]:
    """The memory of the process when it was last freed."""
    return {"bytes": _private_memory()}


@pytest.fixture(scope="module", autouse=True)
def memory_is_returned(freed) -> Iterator[None]:
    """Free the functions that JAX has compiled for the tests of a file and, if the process has grown much, garbage."""
    yield
    if os.environ.get("KERAS_BACKEND") == "jax":
        import jax

        jax.clear_caches()
    if _private_memory() - freed["bytes"] > MUCH_MEMORY:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        freed["bytes"] = _private_memory()


def _private_memory() -> int:
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="session")
def until_left() -> Iterator[Callable[[Path], contextlib.ExitStack]]:
    """Gives the stack of a folder of tests, which closes after its last test: a server takes a gigabyte or more."""
    yield lambda folder: STACKS.setdefault(folder, contextlib.ExitStack())
    for stack in STACKS.values():
        stack.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close what the tests of a folder share if the next test is in another one."""
    for folder, stack in STACKS.items():
        if nextitem is None or folder not in nextitem.path.parents:
            stack.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of public data next to the project; tests that need missing data are skipped."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the public data sets, expected in {folder.name}/ of ../shared beside the project")
    return folder


@dataclass
class Answer:
    """The result of a command: exit status, standard output and standard error."""

    status: int
    output: str
    errors: str


def tfattn(*arguments: str) -> Answer:
    """Return the command line in this process; plugins are unregistered afterwards."""
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
    """Restore the catalog and the modules of the current folder."""
    from tfattn import catalog, registry

    before = {name: dict(entries) for name, entries in catalog.CATALOGS.items()}, list(registry.PLUGINS)
    loaded = set(sys.modules)
    try:
        yield
    finally:
        catalog.CATALOGS.clear()
        catalog.CATALOGS.update(before[0])
        registry.PLUGINS[:] = before[1]
        for name in set(sys.modules) - loaded:
            path = getattr(sys.modules[name], "__file__", None)
            if path and Path(path).parent == Path.cwd():
                del sys.modules[name]


@pytest.fixture(scope="session")
def loaded_once() -> Iterator[None]:
    """Load TensorFlow once for the parity checks of all exports, and an export once for all commands."""
    with parity_in_forks(), exports_stay_loaded():
        yield


@pytest.fixture(scope="session")
def command(loaded_once):
    """Return the command line as a function of its arguments."""
    return tfattn


@pytest.fixture(scope="module")
def published_hub(tmp_path_factory) -> Iterator[Any]:
    """A local hub with small models at the addresses that pipelines name, for this process and those that it starts."""
    from tests.pretrained.hub.stand_in import local_hub

    with local_hub(tmp_path_factory.mktemp("published") / "hub") as server:
        yield server


def write_project(folder: Path) -> Path:
    """Write the sample and the pipeline."""
    assert tfattn("sample", "factory_reports", folder / "reports.csv").status == 0
    (folder / "tiny.yaml").write_text(PIPELINE)
    return folder


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Enter a new folder with the sample and the pipeline."""
    monkeypatch.chdir(tmp_path)
    return write_project(tmp_path)


@pytest.fixture(scope="session")
def once(tmp_path_factory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return a function that makes a shared read-only folder once for all processes: `once(name, make)`.

    `make test` names a folder in ONCE, for the processes of all its groups.
    """
    from tfattn import files

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each process has a folder of its own in theirs
        shared = shared.parent
    shared = Path(os.environ.get("ONCE", shared / "once"))

    def once(name: str, make: Callable[[Path], None]) -> Path:
        place = shared / name
        with files.lock(place, wait=True):
            if not (place / "made").exists():
                (place / "folder").mkdir(parents=True)
                make(place / "folder")
                (place / "made").touch()
        return place / "folder"

    return once


@pytest.fixture(scope="session")
def run_once(once, tmp_path_factory, loaded_once) -> Callable[..., tuple[Path, Answer]]:
    """Return a function that runs a pipeline once for all processes: `run_once(name, write, pipeline, *options)`.

    `write` fills the folder of the run. Each process gets a copy of it, and the output of the command.
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
    """Return a folder with a finished pipeline, and the output of the command; tests only add files."""
    return run_once("reports", write_project, "tiny.yaml")


@pytest.fixture(scope="session")
def reversed_words(run_once):
    """Return a folder with a shortened finished pipeline of reversed words, and the output of the command."""
    return run_once("reversal", write_reversal, REVERSAL, *(word for one in SHORTER for word in ("--set", one)))


def write_reversal(folder: Path) -> None:
    """Write the sample of reversed words next to the pipelines and parts of the project."""
    for name in ("configs", "pipelines"):
        (folder / name).symlink_to(PROJECT / name)
    assert tfattn("sample", "reversal", folder / "data/reversal.tsv").status == 0


@pytest.fixture
def trained(finished, tmp_path, monkeypatch):
    """Enter a copy of the finished folder for one test."""
    shutil.copytree(finished[0], tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"
