"""A killed command gives the same result when it is repeated, without leftovers."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

# The command line, in a process that kills itself when it has put so many files and folders in their places.
KILLED = """
import itertools, os, signal, sys
from tfattn import cli

after = int(sys.argv.pop(1))
calls = itertools.count()

def killing(call):
    def called(*arguments, **named):
        if next(calls) == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **named)
    return called

os.rename, os.replace = killing(os.rename), killing(os.replace)
cli.main()
"""


def killed(after, *arguments):
    command = [sys.executable, "-c", KILLED, str(after), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, env=environment, capture_output=True).returncode == -signal.SIGKILL


def left_behind(project):
    hidden = [path for path in project.rglob(".*.*") if path.is_dir()]
    curves = list(project.glob("runs/tiny/[0-9a-f]*/tensorboard/*"))
    return [*hidden, *(curves if len(curves) > 1 else [])]


def versions(project):
    return [path for path in project.glob("saved_models/tiny/*") if path.name.isdigit()]


def test_an_export_killed_before_its_log_entry_is_reused(trained, command):
    (version,) = versions(trained)
    (trained / "saved_models/models.config").unlink()
    for record in trained.glob("runs/tiny/[0-9a-f]*/stages/export.json"):
        record.unlink()
    answer = command("export", "tiny.yaml")
    assert answer.status == 0 and f"exported {version.relative_to(trained)}" in answer.errors
    assert versions(trained) == [version] and (trained / "saved_models/models.config").exists()
    assert "export: nothing has changed" in command("export", "tiny.yaml").errors


@pytest.mark.slow
def test_a_killed_export_results_in_one_version(trained, command):
    after = 0
    shutil.rmtree("saved_models")
    while killed(after, "export", "tiny.yaml"):
        assert command("export", "tiny.yaml").status == 0
        assert len(versions(trained)) == 1, f"killed after {after}"
        assert not left_behind(trained)
        shutil.rmtree("saved_models")
        after += 1
    assert after > 6


@pytest.mark.slow
@pytest.mark.parametrize("after", range(0, 40, 5))
def test_a_killed_run_resumes_to_its_end(after, trained, command):
    shutil.rmtree("runs")
    killed(after, "run", "tiny.yaml")
    assert command("run", "tiny.yaml").status == 0
    assert len(versions(trained)) == 1
    assert not left_behind(trained)
    assert command("run", "tiny.yaml").errors.count("nothing has changed") == 4
