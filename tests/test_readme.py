"""What the README says is so: its commands run, its pipeline is the one in the folder, its tree is the tree."""

import contextlib
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from benchmarks.serving.running import running
from tfattn.samples import pn_flag

PROJECT = Path(__file__).resolve().parent.parent
README = (PROJECT / "README.md").read_text()
COMMANDS = re.findall(r"^    (?:\.venv/bin/)?(tfattn .*?)(?:  +#.*)?$", README, flags=re.MULTILINE)
SERVED = [line for line in COMMANDS if "://" in line]  # and `tfattn serve` itself
TINY = [
    "model={name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32, max_sequence_length: 64}",
    "data.preprocessing.vocabulary=train",
    "training.epochs=1",
    "data.source.path=reports.csv",
]
TINY_TABLE = ["model.hidden_dim=8", "model.num_layers=1", "training.epochs=1", "ensemble=null"]
TINY_PAIRS = [
    "data.split.validation=0.01",
    "training.epochs=1",
    "task.decoding.num_beams=1",
    "task.decoding.max_length=8",
]
OVERRIDES = {"pn_flag": TINY_TABLE, "reversal": TINY_PAIRS}


def test_there_are_commands():
    assert len(COMMANDS) > 6


@pytest.mark.parametrize("line", [line for line in dict.fromkeys(COMMANDS) if line not in (*SERVED, "tfattn serve")])
def test_a_command_runs(line, finished, command, monkeypatch):
    """As it stands, but on files of a temporary folder and with a model that trains in seconds."""
    words = shlex.split(line)[1:]
    folder = finished[0]
    monkeypatch.chdir(folder)
    for name in ("pipelines", "configs"):
        with contextlib.suppress(FileExistsError):
            (folder / name).symlink_to(PROJECT / name)
    (folder / "new_reports.txt").write_text("Coolant is pooling underneath sorter.\n")
    (folder / "new_words.txt").write_text("red green blue\n")
    pn_flag.write(folder / "new_candidates.tsv", seed=1)
    words = [word.replace("/path/to/factoryReports.csv", "reports.csv") for word in words]
    if words[0] in ("run", "train"):
        overrides = next((tiny for name, tiny in OVERRIDES.items() if name in line), TINY)
        words += [word for override in overrides for word in ("--set", override)]
    if words[0] == "predict" and "pn_flag" not in line:
        words[1] = words[1].replace("factory_reports", "tiny")
    answer = command(*words)
    assert answer.status == 0, answer.errors


def test_what_is_said_of_a_server_is_so(finished, command, monkeypatch):
    """The curl line, the client and predict, as they stand, but for the address and the model's name."""
    monkeypatch.chdir(finished[0])
    Path("new_reports.txt").write_text("Coolant is pooling underneath sorter.\n")
    assert "tfattn serve" in COMMANDS and SERVED
    with running(Path("saved_models"), worker_threads=1) as server:
        (curl,) = re.findall(r"^    (curl .*)$", README, flags=re.MULTILINE)
        curl = curl.replace("localhost:8501", server.rest).replace("factory_reports", "tiny")
        asked = subprocess.run(curl, shell=True, capture_output=True, check=True)
        label = json.loads(asked.stdout)["predictions"][0]["label"]
        for line in SERVED:
            line = line.replace("http://127.0.0.1:8501/factory_reports", f"{server.rest}/tiny")
            answer = command(*shlex.split(line)[1:])
            assert answer.status == 0 and json.loads(answer.output)["label"] == label, answer.errors
        (python,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
        python = python.replace("127.0.0.1:8500", server.grpc).replace("factory_reports", "tiny")
        names = {}
        exec(python.replace("client.predict(", "label = client.predict("), names)
        assert names["label"] == label


def test_the_pipeline_shown_is_the_one_that_runs():
    shown = re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL).group(1)
    assert shown == (PROJECT / "pipelines" / "factory_reports.yaml").read_text()


def test_the_tree_names_what_is_there():
    tree = re.search(r"## Where things are\n\n(.*?)\n\n[A-Z]", README, flags=re.DOTALL).group(1)
    rooms = {path.name for path in (PROJECT / "tfattn").iterdir() if path.is_dir() and path.name != "__pycache__"}
    top = {"configs", "pipelines", "tests", "benchmarks", "deploy", "saved_models", "setup.cfg", "Makefile"}
    top |= {"requirements.lock"}
    for name in rooms | top:
        assert re.search(rf"\b{name}\b", tree), f"{name} is not in the README's tree"


def test_make_targets_of_the_readme_exist():
    makefile = (PROJECT / "Makefile").read_text()
    targets = re.findall(r"(?:^    |`|, )make (\w+)", README, flags=re.MULTILINE)
    assert {"demo", "test", "lint"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
