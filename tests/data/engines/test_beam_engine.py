"""Apache Beam: equality with local processes, and errors."""

import functools
import subprocess
import sys

import pytest

from tests.data.small_parts import prepared, section, write
from tfattn.data.engines.beam_engine import Beam
from tfattn.data.engines.local_engine import Local
from tfattn.data.preparation import prepare as preparing
from tfattn.data.preparation.prepare import prepare
from tfattn.errors import ConfigError, DataError

HERE = Beam()
PROCESSES = Beam(options={"direct_running_mode": "multi_processing", "direct_num_workers": 2})


@pytest.fixture
def beam():
    return pytest.importorskip("apache_beam", reason="Apache Beam is not installed: pip install 'tfattn[beam]'")


# Workers start anew for each step, and load TensorFlow each.
@pytest.mark.parametrize("engine", [HERE, pytest.param(PROCESSES, marks=pytest.mark.slow)], ids=["here", "two workers"])
def test_shards_are_those_of_the_local_engine(beam, tmp_path, engine):
    write(tmp_path)
    assert prepared(tmp_path, "local", Local(processes=1)) == prepared(tmp_path, "beam", engine)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beam", "local", "rows.csv"]


@pytest.mark.parametrize("engine", [HERE, pytest.param(PROCESSES, marks=pytest.mark.slow)], ids=["here", "two workers"])
def test_workers_need_no_shared_disk(beam, tmp_path, engine):
    write(tmp_path)
    work_folder = f"file://{tmp_path}/work"  # a store of files, in place of gs:// or another that all reach
    assert prepared(tmp_path, "local", Local(processes=1)) == prepared(
        tmp_path, "beam", engine, work_folder=work_folder
    )
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_an_error_in_a_worker_is_a_single_message(beam, tmp_path, scheme):
    write(tmp_path, changed=150)
    with pytest.raises(DataError, match=r"rows.csv:152: the column `age` holds no finite number"):
        prepared(tmp_path, "beam", HERE, work_folder=f"{scheme}{tmp_path}")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_finished_work_is_not_repeated(beam, tmp_path, monkeypatch):
    write(tmp_path)
    make = functools.partial(section, tmp_path, HERE)
    with monkeypatch.context() as patch:
        patch.setattr(preparing, "scatter", _ended)
        with pytest.raises(KeyboardInterrupt):
            prepare(make(), tmp_path / "beam", seed=3, make=None, identity="it")
    monkeypatch.setattr(preparing, "survey", functools.wraps(preparing.survey)(_ended))
    assert prepared(tmp_path, "beam", HERE, identity="it")["splits"]["train"]["rows"] == 160


def _ended(work, unit):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runner": "FlinkRuner"}, "runner: unknown runner of Apache Beam: expected one of DataflowRunner, .*received "
         "'FlinkRuner'. Did you mean `FlinkRunner`"),
        ({"runner": "my.module.Runner"}, "unknown runner"),
        ({"direct_num_worker": 2}, "direct_num_worker: Apache Beam has no such option.*Did you mean `direct_num_work"),
        ({"direct_num_workers": "two"}, "Apache Beam refuses an option: received .*invalid int value: 'two'"),
        ({"setup_file": "setup.py"}, "setup_file: .*which a pipeline file must not: received 'setup.py'. Give workers"),
        ({"flink_job_server_jar": "x.jar"}, "flink_job_server_jar: .*must not"),
        ({"environment_type": "PROCESS"}, "environment_type: .*must not"),
    ],
)  # fmt: skip
def test_invalid_options_are_reported_before_reading(beam, tmp_path, options, message):
    with pytest.raises(ConfigError, match=rf"data\.engine\.options\.?.*{message}"):
        prepared(tmp_path, "beam", Beam(options=options))  # there is no file of rows
    assert not list(tmp_path.iterdir())


def test_a_missing_runner_is_reported(beam, tmp_path):
    pytest.importorskip("apache_beam")
    with pytest.raises(ConfigError, match="the runner DataflowRunner is not installed|options of DataflowRunner are"):
        prepared(tmp_path, "beam", Beam(options={"runner": "DataflowRunner"}))


WITHOUT_BEAM = """
import sys
sys.modules["apache_beam"] = None
from tfattn import native
native.import_tensorflow()
from pathlib import Path
from tests.data.small_parts import prepared
from tfattn.data.engines.beam_engine import Beam
from tfattn.errors import ConfigError
try:
    prepared(Path("/nowhere"), "beam", Beam())
except ConfigError as error:
    print(error)
"""


def test_a_missing_beam_package_has_a_remedy():
    done = subprocess.run([sys.executable, "-c", WITHOUT_BEAM], capture_output=True, text=True)
    assert done.stdout.strip() == (
        "data.engine: Apache Beam is not installed: expected the package apache-beam, for `name: beam`, "
        "received no such package. `pip install 'tfattn[beam]'`, or set `name: local`."
    ), done.stderr


def test_a_pipeline_is_checked_without_loading_beam(tmp_path):
    code = (
        "import sys; from tfattn import registry; from tfattn.config.constructors import inspect_constructor;"
        "inspect_constructor(registry.find('engines', 'beam')); print('apache_beam' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
