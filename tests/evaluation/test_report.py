import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, report

ATTACK = '<script>alert("1")</script><img src="http://example.com/x.png" onerror=alert(1)> & \'quotes\' {{ 7 * 7 }}'


class Page(HTMLParser):
    """What a browser would make of a page: its tags with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def picture():
    return report.Picture("f1", svg(plots.bars({"a": 0.5})), ATTACK)


@pytest.fixture(scope="module")
def whole(picture):
    return report.Report(
        title=ATTACK,
        subtitle=ATTACK,
        headline=report.Headline(metric=ATTACK, sentence=ATTACK, remarks=[ATTACK], facts={ATTACK: ATTACK}),
        sections=[
            report.Section(
                ATTACK,
                [
                    report.Text(ATTACK),
                    report.Table([ATTACK, "n", "share"], [[ATTACK, 12345, "95.0%"], ["x", 0.123456, "5.1%"]]),
                    report.Table(["n"], [[1]], folded=ATTACK),
                    report.Listing(ATTACK, folded=ATTACK),
                    picture,
                ],
            )
        ],
    )


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("such as data/my/rows.csv:2, rows.csv:3: no model", ["data/my/rows.csv:2", "rows.csv:3"]),
        ("runs/tiny/0475668f93 and 3/4 or and/or", ["runs/tiny/0475668f93"]),
        ("(/tmp/a/b.txt) 12:30 f1: 0.5", ["/tmp/a/b.txt"]),
        ("<b>/x/y</b> & a.csv:1", ["a.csv:1"]),
    ],
)
def test_paths_are_marked_and_stay_text(text, paths):
    found = report.render(
        report.Report("", "", report.Headline("", "", [], {}), [report.Section("", [report.Text(text)])])
    )
    assert text in Page(found).text
    assert [Page(path).text for path in re.findall('<span class="path">(.*?)</span>', found)] == paths


def test_data_is_escaped(whole):
    page = Page(report.render(whole))
    assert page.text.count(ATTACK) == 15  # title and heading, subtitle, 5 in the headline, 7 in the section
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert [attributes["aria-label"] for _, attributes in page.tags if "aria-label" in attributes] == [ATTACK]


def test_the_page_is_self_contained(whole):
    html = report.render(whole)
    page = Page(html)
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base", "form", "img")]
    targets = [attributes[key] for _, attributes in page.tags for key in ("src", "href", "srcset") if key in attributes]
    assert targets and all(target.startswith("#f1-") for target in targets)
    style = html[html.index("<style>") : html.index("</style>")]
    assert not re.search(r"url\(|@import|https?:", style)


def test_pictures_are_inside_the_page_and_take_its_colours(whole):
    html = report.render(whole)
    assert [tag for tag, _ in Page(html).tags].count("svg") == 1
    picture = html[html.index("<svg") : html.index("</svg>")]
    used = set(re.findall(r"var\(--(\w+)\)", html)) - {"strength"}  # a mark has it itself
    assert {"blue", "ink", "paper"} <= used and not re.search(r"#[0-9a-f]{6}", picture)
    for scheme in (html[html.index(":root") :], html[html.index("prefers-color-scheme: dark") :]):
        assert all(f"--{name}: #" in scheme[: scheme.index("}")] for name in used)


def test_pictures_have_distinct_ids():
    drawn = svg(plots.bars({"a": 0.5}))
    one, two, three = (report.Picture(name, drawn, name) for name in ("one", "two", "three"))
    shown = report.Report(
        "T", "", report.Headline("1", "", [], {}), [report.Section("S", [one, report.Panels([two, three])])]
    )
    assert list(shown.pictures()) == [one, two, three]
    html = report.render(shown)
    ids = [attributes["id"] for _, attributes in Page(html).tags if "id" in attributes]
    assert ids and len(ids) == len(set(ids))
    assert set(re.findall(r"(?:url\(#|href=\"#)([\w-]+)", html)) <= set(ids)


def test_warnings_are_first(whole):
    sound = report.render(whole)
    with_warnings = replace(whole, headline=replace(whole.headline, warnings=["It never answers “Yes”."]))
    html = report.render(with_warnings)
    assert '<ul class="warnings">' not in sound and 'class="headline has-warnings"' not in sound
    assert 'class="headline has-warnings"' in html
    assert html.index("It never answers “Yes”.") < html.index('<div class="figure">')


def test_wide_elements_scroll_separately(whole):
    page = Page(report.render(whole))
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in page.tags
    around = [before for before, (tag, _) in zip(page.tags, page.tags[1:], strict=False) if tag in ("table", "svg")]
    assert len(around) == 3 and all(attributes["class"].startswith("wide") for _, attributes in around)


def test_numbers_are_right_aligned():
    table = report.Table(["label", "n", "share", "version"], [["1", 12345, "95.0%", "3.1"], ["2", 0.5, "5%", "x"]])
    assert table.numeric() == [False, True, True, False]


def test_an_empty_table_is_an_error():
    with pytest.raises(AssertionError, match="the table has no rows"):
        report.Table(["label"], [])


def test_a_page_and_its_pictures_are_written(whole, tmp_path):
    report.write(whole, tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.render(whole)
    assert (tmp_path / "plots" / "f1.svg").read_text(encoding="utf-8") == next(whole.pictures()).svg


def test_the_style_sheet_has_the_classes_of_the_page():
    folder = Path(report.__file__).parent
    style = (folder / "report.css").read_text()
    page = re.sub(r"{%.*?%}|{{.*?}}", " ", (folder / "report.html").read_text())
    used = {name for names in re.findall(r'class="([^"]*)"', page) for name in names.split() if "{" not in name}
    assert "headline" in used and not {name for name in used if f".{name}" not in style}
    styled = set(re.findall(r"\.([a-z][a-z-]+)", re.sub(r"/\*.*?\*/|{[^{}]*}", " ", style, flags=re.S)))
    others = {"path", "right", "missed", "wrong", "raises", "lowers"}
    assert not {name for name in styled - others if name not in page}
