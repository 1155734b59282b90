"""The documentation site builds without warnings and without TensorFlow; each page and public name is in it."""

import subprocess
import sys

import pytest

from tests.documents.blocks import PROJECT

pytest.importorskip("mkdocs", reason="needs the documentation tools: pip install 'tfattn[docs]'")

# Modules of the program that the build must not need.
BUILD = """
import sys
sys.modules.update(dict.fromkeys(["tensorflow", "tensorflow_text", "keras", "jax"]))
from mkdocs.__main__ import cli
cli(["build", "--strict", "--site-dir", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site and the output of the build."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, (
        f"{done.stdout}{done.stderr}\nA new page of docs/ needs a line in `nav` of mkdocs.yml; a link needs a page."
    )
    return folder, done.stdout + done.stderr


def test_site_builds_without_warnings(site):
    assert "WARNING" not in site[1] and "ERROR" not in site[1], site[1]
