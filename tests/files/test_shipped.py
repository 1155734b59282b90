"""Shipped files are found in a clone and in an installed wheel, from any folder."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import PROJECT
from tfattn.config.resolve import resolve
from tfattn.errors import ConfigError
from tfattn.files import find_shipped, shipped_folder

RECIPE = """\
name: mine
data: {from: package://configs/data/telco_churn.yaml}
model: {name: feature_tokenizer_transformer}
task: {name: classification}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of a wheel of the project, built from a copy and installed without its requirements."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "project"
    for name in ("tfattn", "configs", "pipelines"):
        shutil.copytree(PROJECT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, copy / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--no-compile"]
    done = subprocess.run(
        [*pip, "install", *options, "--target", folder / "site", copy], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_a_wheel_has_every_pipeline_and_part(installed):
    for folder in ("configs", "pipelines"):
        expected = {path.relative_to(PROJECT / folder) for path in (PROJECT / folder).rglob("*.yaml")}
        shipped = installed / "tfattn/recipes" / folder
        assert {path.relative_to(shipped) for path in shipped.rglob("*.yaml")} == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "mine.yaml"),
        ("check", "package://pipelines/telco_churn.yaml"),
        ("list", "recipes"),
        ("init", "--recipe", "translate"),
    ],
    ids=" ".join,
)
def test_an_installed_wheel_needs_no_clone(installed, tmp_path, arguments):
    (tmp_path / "mine.yaml").write_text(RECIPE)
    code = "import tfattn, tfattn.cli; print(tfattn.__file__); tfattn.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))
    assert len(done.stdout.splitlines()) > 1


def test_a_clone_has_the_same_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shipped_folder("configs") == PROJECT / "configs"
    assert resolve("package://pipelines/adult.yaml").values["name"] == "adult"
    assert find_shipped("mine.yaml").name == "mine.yaml"


def test_an_unknown_address_suggests_the_nearest(tmp_path):
    with pytest.raises(ConfigError, match="Did you mean `configs/models/bert_minilm.yaml`"):
        find_shipped("package://configs/models/bert_minilmm.yaml")
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\ndata: {from: package://configs/data/telco.yaml}\n")
    with pytest.raises(ConfigError, match="mine.yaml:2:8: tfattn ships no such file"):
        resolve(path)
