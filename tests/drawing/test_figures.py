"""Figures are written in every format."""

import pytest

from tfattn.drawing.figures import FORMATS, new_figure

STARTS = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_suffix_determines_the_format(suffix):
    assert FORMATS[suffix](new_figure(2, 1)).startswith(STARTS[suffix])
