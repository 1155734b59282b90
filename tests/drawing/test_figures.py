"""Figures are written in every format that a suffix can ask for."""

import pytest

from tfattn.drawing.figures import FORMATS, new_figure

STARTS = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_figure_is_written_as_its_suffix_says(suffix):
    assert FORMATS[suffix](new_figure(2, 1)).startswith(STARTS[suffix])
