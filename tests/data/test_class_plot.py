"""The picture of classes: every name as it is, in whatever script."""

import warnings

from tfattn.data.class_plot import MAX_CLASSES, class_bars
from tfattn.drawing.figures import svg


def test_any_class_name_is_drawn_as_it_is():
    names = ["$5 and $10", "a_b^c", "财经新闻", "<b>", "x" * 200, *map(str, range(60))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = svg(class_bars({name: {"train": 3, "validation": 1} for name in names}))
    for shown in (">$5 and $10<", ">a_b^c<", ">财经新闻<", ">&lt;b&gt;<", f">{'x' * 17}…{'x' * 10}<"):
        assert shown in drawn
    assert f"({len(names) - MAX_CLASSES} rarer classes are not shown)" in drawn
