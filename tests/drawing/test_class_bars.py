"""Bars of classes."""

import warnings

from tfattn.drawing.class_bars import MAX_PLOTTED_CLASSES, class_bars
from tfattn.drawing.figures import svg


def test_class_names_are_drawn_unchanged():
    names = ["$5 and $10", "a_b^c", "财经新闻", "<b>", "x" * 200, *map(str, range(60))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = svg(class_bars({name: {"train": 3, "validation": 1} for name in names}))
    for shown in (">$5 and $10<", ">a_b^c<", ">财经新闻<", ">&lt;b&gt;<", f">{'x' * 17}…{'x' * 10}<"):
        assert shown in drawn
    assert f"({len(names) - MAX_PLOTTED_CLASSES} rarer classes are not shown)" in drawn
