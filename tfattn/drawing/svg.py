"""Matplotlib figures as SVG files, or as elements of a page with the colours of the page."""

import functools
import io
import re
import unicodedata
from xml.etree import ElementTree

from matplotlib import font_manager
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure

from tfattn.drawing.colours import LIGHT

NAMESPACE = "http://www.w3.org/2000/svg"
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
PIXELS = 96 / 72  # of a page, per point
MIN_SCALE = 0.75  # of the width; on narrower pages the picture scrolls, because letters would be illegible
REFERENCE = re.compile(r"#([\w-]+)")
COLOUR = re.compile("|".join(LIGHT.values()))


class _Renderer(RendererSVG):
    """A renderer of any text; characters that the font lacks are measured with average or double width."""

    def get_text_width_height_descent(self, s, prop, ismath):
        return super().get_text_width_height_descent(_measured(s), prop, ismath)

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        super().draw_text(gc, x, y, _printable(s), prop, angle, ismath, mtext)


class Canvas(FigureCanvasSVG):
    """The canvas of a figure, whose layout measures text in the same way as `write_svg`."""

    def get_renderer(self) -> RendererSVG:
        return _renderer(self.figure, io.StringIO())


def write_svg(figure: Figure) -> str:
    """Write a figure whose canvas is a `Canvas` as an SVG file.

    Text stays text, in the fonts of the reader. The file has no metadata, date or style sheet, so that equal figures
    give equal files, and no external references.
    """
    text = io.StringIO()
    figure.dpi = 72  # SVG counts in points
    renderer = _renderer(figure, text)
    figure.draw(renderer)
    renderer.finalize()
    root = _parsed(text.getvalue())
    for part in [*root.findall("metadata"), *root.findall("defs[style]")]:
        root.remove(part)
    used = _references(root)
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        if element.tag == "text":
            element.set("style", re.sub(r"font-family: [^;]*;? ?", "", element.get("style", "")))
    _, _, width, height = map(float, root.get("viewBox").split())
    root.set("width", f"{width * PIXELS:.0f}")
    root.set("height", f"{height * PIXELS:.0f}")
    root.set("style", f"font-family: {FONTS}; stroke-linejoin: round; stroke-linecap: butt")
    root.set("xmlns", NAMESPACE)
    return ElementTree.tostring(root, encoding="unicode")


def to_page_element(svg: str, name: str) -> str:
    """Convert an SVG file to an element of an HTML page that defines the colours as CSS variables.

    Args:
        svg: a result of `write_svg`.
        name: the prefix of all ids of the picture, which must be unique on a page.
    """
    root = _parsed(svg)
    root.set("style", f"{root.get('style')}; min-width: {MIN_SCALE * float(root.get('width')):.0f}px")
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key == "href" or "url(#" in value:
                element.set(key, REFERENCE.sub(rf"#{name}-\1", value))
            elif key == "style":
                element.set(key, COLOUR.sub(_variable, value))
    return ElementTree.tostring(root, encoding="unicode")


def _renderer(figure: Figure, file: io.StringIO) -> RendererSVG:
    width, height = figure.get_size_inches()
    return _Renderer(72 * width, 72 * height, file, image_dpi=72)


def _parsed(text: str) -> ElementTree.Element:
    """Parse SVG and remove namespaces: an HTML page has none, and a file names its only namespace at the root."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in [key for key in element.attrib if key.startswith("{")]:
            element.set(key.rpartition("}")[2], element.attrib.pop(key))
    return root


def _references(root: ElementTree.Element) -> set[str]:
    values = (value for element in root.iter() for key, value in element.attrib.items() if "#" in value)
    return {name for value in values for name in REFERENCE.findall(value)}


def _variable(colour: re.Match) -> str:
    (name,) = (name for name, light in LIGHT.items() if light == colour.group())
    return f"var(--{name})"


@functools.cache
def _drawable() -> dict[int, int]:
    return font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap()


def _measured(text: str) -> str:
    """Replace characters that the measuring font lacks by characters of similar width."""
    known = _drawable()
    return "".join(character if ord(character) in known else _as_wide(character) for character in text)


def _as_wide(character: str) -> str:
    if unicodedata.combining(character):
        return ""
    return "—" if unicodedata.east_asian_width(character) in "WF" else "o"  # an em wide, or an average letter


def _printable(text: str) -> str:
    """Replace control characters and halves of surrogate pairs, which are invalid in XML."""
    return "".join("�" if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
