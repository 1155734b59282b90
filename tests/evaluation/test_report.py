import base64
import re
from html.parser import HTMLParser

import pytest

from tfattn.evaluation import plots, report
from tfattn.evaluation.figures import png

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
    return report.Picture("f1", png(plots.bars({"a": 0.5})), ATTACK)


@pytest.fixture(scope="module")
def whole(picture):
    return report.Report(
        title=ATTACK,
        subtitle=ATTACK,
        headline=report.Headline(figure=ATTACK, sentence=ATTACK, remarks=[ATTACK], facts={ATTACK: ATTACK}),
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


def test_what_comes_from_data_is_shown_and_never_run(whole):
    page = Page(report.render(whole))
    assert page.text.count(ATTACK) == 15  # title and heading, subtitle, 5 in the headline, 7 in the section
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert [attributes["alt"] for tag, attributes in page.tags if tag == "img"] == [ATTACK]


def test_the_page_needs_nothing_from_outside(whole):
    html = report.render(whole)
    page = Page(html)
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base", "form")]
    targets = [attributes[key] for _, attributes in page.tags for key in ("src", "href", "srcset") if key in attributes]
    assert targets and all(target.startswith("data:image/png;base64,") for target in targets)
    style = html[html.index("<style>") : html.index("</style>")]
    assert not re.search(r"url\(|@import|https?:", style)


def test_pictures_are_inside_the_page(whole, picture):
    [source] = [attributes["src"] for tag, attributes in Page(report.render(whole)).tags if tag == "img"]
    assert base64.b64decode(source.partition(",")[2]) == picture.png


def test_numbers_stand_on_the_right():
    table = report.Table(["label", "n", "share", "version"], [["1", 12345, "95.0%", "3.1"], ["2", 0.5, "5%", "x"]])
    assert table.numeric() == [False, True, True, False]
    assert report.Table(["label"], []).numeric() == []


def test_a_page_and_its_pictures_are_written(whole, tmp_path):
    report.write(whole, tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.render(whole)
    assert (tmp_path / "plots" / "f1.png").read_bytes() == next(whole.pictures()).png
