"""Checks of the command line before TensorFlow is imported."""

import subprocess
import sys

import pytest

RUN = """
import sys
from tfattn import cli
sys.argv = ["tfattn", *sys.argv[1:]]
try:
    cli.main()
finally:
    print("tensorflow.python" in sys.modules)
"""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["serve", "nowhere"], "there is nothing to serve"),
        (["serve", "--engine", "builtin", "--set", "host=0.0.0.0"], "host: anybody who can reach this address"),
        (["serve", "--set", "rest_prot=1"], "Did you mean `rest_port`"),
        (["predict", "http://127.0.0.1:1/reports"], "the server does not answer"),
        (["predict", "reports", "--output", "out.xlsx"], "unknown file format"),
    ],
)
def test_errors_are_reported_without_tensorflow(command, message, tmp_path):
    done = subprocess.run([sys.executable, "-c", RUN, *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode and message in done.stderr
    assert done.stdout.strip() == "False"
