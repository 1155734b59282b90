"""Escaped texts are shown as they are, in every place of a Markdown file."""

from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from tfattn.formats import markdown

HOSTILE = [
    "</td><script>alert(1)</script>",
    "| x",
    "a || b",
    "```",
    "~~~",
    "---",
    "- x",
    "1. x",
    "# x",
    "===",
    "*x* _y_ ~~z~~ $a$ `b`",
    "[x](http://y) ![x](y)",
    "&lt;b&gt; &#124;",
    "back\\slash\\|",
    "two\nlines\n\n---",
    "`",
    " ` ",
    "``a`",
    "",
]
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Page(HTMLParser):
    """The elements of a page, and the text in each."""

    def __init__(self, text: str):
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(PARSER.render(text))

    def handle_starttag(self, tag, attributes):
        self.texts.append((tag, ""))
        self.open.append(tag)

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        if self.open and data.strip():
            index = next(i for i in reversed(range(len(self.texts))) if self.texts[i][0] == self.open[-1])
            self.texts[index] = (self.open[-1], self.texts[index][1] + data)

    def of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_has_the_text_and_nothing_else(text):
    page = Page(markdown.table(["label", "rows"], [[text, 3], ["next", 4]]))
    assert page.of("td") == [plain(text), "3", "next", "4"]
    assert {tag for tag, _ in page.texts} == {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_of_a_list_has_the_text_and_nothing_else(text):
    page = Page(f"- {markdown.inline(text)}\n- label {markdown.inline(text)}\n")
    assert page.of("li") == [plain(text), f"label {plain(text)}".strip()]
    assert {tag for tag, _ in page.texts} == {"ul", "li"}


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_code_has_the_text_and_nothing_else(text):
    page = Page(f"- file {markdown.code(text)}\n")
    assert [found.strip() for found in page.of("code")] == [plain(text)]
    assert {tag for tag, _ in page.texts} == {"ul", "li", "code"}
    page = Page(f"{markdown.fence(text, 'sh')}\n\nafter\n")
    assert [found.rstrip("\n") for found in page.of("code")] == [text.strip()]
    assert page.of("p") == ["after"]
