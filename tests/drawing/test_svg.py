"""SVG pictures: text in any script, without external references."""

import re
import warnings
from xml.etree import ElementTree

import pytest

from tfattn.drawing.colours import DARK, LIGHT
from tfattn.drawing.figures import MAX_CHARACTERS, new_figure, png, short, styled, svg, text_width
from tfattn.drawing.svg import NAMESPACE, to_page_element

NAMES = [
    "财经新闻",
    "मशीन",
    "ماكينة",
    "🏭 plant",
    "$5 and $10",
    "x^2_1",
    "<script>",
    'a "b" & c',
    "line\nbreak",
    "\x07",
]


@styled
def named(names):
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    axes.barh(range(len(names)), range(1, len(names) + 1))
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    return figure


def texts(drawn):
    return [element.text for element in ElementTree.fromstring(drawn).iter(f"{{{NAMESPACE}}}text")]


def test_all_scripts_are_text_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = texts(svg(named(NAMES)))
    assert {*NAMES[:8], "line break"} <= set(shown)
    assert "�" in shown  # XML has no sign for a bell


def test_a_png_without_a_font_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert png(named(NAMES[:5])).startswith(b"\x89PNG\r\n")


def test_svg_uses_fonts_of_the_reader():
    drawn = svg(named(["a"]))
    assert re.findall("font-family: ([^;]*)", drawn) == [re.search("font-family: ([^;]*)", drawn).group(1)]
    assert "font-family: system-ui" in drawn and "sans-serif" in drawn


def test_wide_characters_have_double_width():
    root = ElementTree.fromstring(svg(named(["财" * 12, "b"])))
    (name,) = (text for text in root.iter(f"{{{NAMESPACE}}}text") if text.text == "财" * 12)
    assert "text-anchor: end" in name.get("style")
    assert float(name.get("x")) > 12 * 10  # twelve letters of ten points, which end there


def test_equal_figures_give_equal_self_contained_files():
    drawn = svg(named(NAMES))
    assert drawn == svg(named(NAMES))
    assert "<style" not in drawn and "metadata" not in drawn and "<image" not in drawn
    assert set(re.findall('https?://[^ "]*', drawn)) == {NAMESPACE}
    root = ElementTree.fromstring(drawn)
    ids = {element.get("id") for element in root.iter() if element.get("id")}
    used = {
        found
        for element in root.iter()
        for value in element.attrib.values()
        for found in re.findall("#([mp]\\w+)", value)
    }
    assert ids == used


def test_a_page_element_has_colour_variables_and_unique_ids():
    part = to_page_element(svg(named(["#ffffff"])), "bars")
    assert "#ffffff</text>" in part  # a name stays what it is
    assert not re.search("(fill|stroke): #", part) and "fill: var(--paper)" in part
    assert all(name.startswith("bars-") for name in re.findall(' id="([^"]*)"', part))
    assert "<svg" in part and "xmlns" not in part


@pytest.mark.parametrize("tones", [LIGHT, DARK])
def test_ink_has_contrast_on_paper(tones):
    def luminance(tone):
        parts = [int(tone[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one, other):  # WCAG 2.2, relative luminance and contrast ratio
        high, low = sorted((luminance(tones[one]), luminance(tones[other])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert contrast("ink", "paper") > 7 and contrast("soft", "paper") > 4.5 and contrast("blue", "paper") > 4.5
    assert all(contrast(name, "paper") > 2.5 for name in ("orange", "green", "purple", "red"))


def test_long_names_keep_both_ends():
    shown = short("a label with a very long name that ends in 17")
    assert len(shown) == MAX_CHARACTERS and shown.startswith("a label") and shown.endswith("17")
    assert short("财" * 20) == f"{'财' * 8}…{'财' * 5}"
    assert text_width(["财财"]) == text_width(["abcd"])
