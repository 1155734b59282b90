"""Console output: what is done is said as a line, or with the elapsed time on a terminal."""

import io

import pytest
from rich.console import Console

from tfattn import console


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_step_is_said_before_it_ends(is_terminal, monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=output, force_terminal=is_terminal, width=100))
    with console.step("loading the model"):
        before = output.getvalue()
    assert is_terminal or before == output.getvalue() == "loading the model\n"
    assert "loading the model" in output.getvalue() and ("0:00:0" in output.getvalue()) == is_terminal


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_transfer_shows_its_size(is_terminal, monkeypatch):
    output = io.StringIO()
    monkeypatch.setattr(console, "console", Console(file=output, force_terminal=is_terminal, width=100))
    with console.transfer("downloading a model", 4_200_000) as advance:
        advance(2_100_000)
        advance(2_100_000)
    if is_terminal:
        assert "downloading a model" in output.getvalue() and "4.2/4.2 MB" in output.getvalue()
    else:
        assert output.getvalue() == "downloading a model (4.2 MB)\n"
