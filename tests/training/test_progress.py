"""The display of a run: terminal output and TensorBoard files."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from tfattn.training import progress
from tfattn.training.loop import Counters, StepsTaken
from tfattn.training.progress import Display
from tfattn.training.step import RECORD


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """Return a function that lists the lines of a terminal of 80 columns."""

    def show(*steps):
        terminal = Console(file=io.StringIO(), width=80, force_terminal=True)
        monkeypatch.setattr(progress, "console", terminal)
        run = {"start": 0, "steps": 123456, "epochs": 100, "by_epoch": True}
        with Display(tmp_path, **run, monitor="accuracy", visible=True) as display:
            for step in steps:
                speeds = {"examples_per_second": 12345.0, "tokens_per_second": 123456.0}
                records = dict.fromkeys(RECORD, np.full(1, 0.5, "float32"))
                taken = StepsTaken(records, {}, {}, Counters(step=step), stopped=False, gradient_norms=np.zeros(1))
                display.steps(99, taken, speeds)
        return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.file.getvalue()))

    return show


def test_the_bar_fits_80_columns(seen):
    *_, last = [line for line in seen(1, 100000) if "epoch" in line]
    assert len(last) <= 80
    assert re.search(r"epoch 100/100 \S+ 100000/123456 [-\d:]+ left loss 0\.5000", last)


def test_the_bar_shows_compilation_before_the_first_step(seen):
    assert any("compiling the first step" in line for line in seen())


@pytest.fixture
def begin(tmp_path):
    """Return a function that displays a run from a step on, and counts the files of curves."""

    def begin(start):
        with Display(tmp_path, start=start, steps=9, epochs=1, by_epoch=True, monitor="accuracy", visible=True):
            pass
        return len(list(tmp_path.glob("events.out.tfevents.*")))

    return begin


def test_curves_of_repeated_steps_are_replaced(begin):
    assert [begin(0), begin(0)] == [1, 1]
    assert [begin(3), begin(6)] == [2, 3], "what goes on from a checkpoint keeps the curves up to there"
    assert [begin(6), begin(3), begin(0)] == [3, 2, 1]


def test_other_files_stay(begin, tmp_path):
    (tmp_path / "events.out.tfevents.1.host.2.0.v2").touch()
    assert begin(0) == 2


@pytest.mark.parametrize(("speed", "shown"), [(1234.5, "1,234 examples/s"), (3.21, "3.2"), (0.034, "0.03 examples/s")])
def test_slow_speeds_are_not_rounded_to_0(tmp_path, capsys, speed, shown):
    line = {"epoch": 1, "step": 1, "loss": 0.5, "seconds": 9, "examples_per_second": speed, "tokens_per_second": 0.0}
    with Display(tmp_path, start=0, steps=9, epochs=1, by_epoch=True, monitor="loss", visible=True) as display:
        display.line(line, is_best=False)
    printed = capsys.readouterr().err
    assert shown in printed and "tokens/s" not in printed


@pytest.mark.parametrize(
    ("epochs", "by_epoch", "position"),
    [(5, True, "epoch 2/5"), (5, False, "step 1,200 (epoch 2/5)"), (None, False, "step 1,200/9,000 (epoch 2)")],
)
def test_a_line_has_its_position_in_the_run(tmp_path, epochs, by_epoch, position):
    display = Display(tmp_path, start=0, steps=9000, epochs=epochs, by_epoch=by_epoch, monitor="loss", visible=False)
    assert display.position({"epoch": 2, "step": 1200}) == position
