"""A wheel has every file of the package, and all configurations and pipelines."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
SHIPPED = ("configs", "pipelines")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The names in a wheel that is built from a copy, because a build writes into its folder."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("tfattn", *SHIPPED):
        shutil.copytree(PROJECT / name, folder / "copy" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, folder / "copy")
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=folder / "copy", check=True, capture_output=True, text=True
    )
    [path] = folder.glob("*.whl")
    return set(zipfile.ZipFile(path).namelist())


def test_a_wheel_has_all_files_of_the_package(wheel):
    files = {path for path in (PROJECT / "tfattn").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    names = {path.relative_to(PROJECT).as_posix() for path in files}
    assert any(name.endswith(".html") for name in names) and not names - wheel


def test_a_wheel_has_all_configurations_and_pipelines(wheel):
    for folder in SHIPPED:
        names = {
            f"tfattn/recipes/{path.relative_to(PROJECT).as_posix()}" for path in (PROJECT / folder).rglob("*.yaml")
        }
        assert names and not names - wheel
