"""Plain text from MediaWiki markup."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import Comment, ExternalLink, Heading, HTMLEntity, Tag, Text, Wikilink

_DROPPED_TAGS = frozenset(
    [
        "ce",
        "chem",
        "code",
        "gallery",
        "graph",
        "hiero",
        "imagemap",
        "inputbox",
        "math",
        "mapframe",
        "maplink",
        "nowiki",
        "pre",
        "ref",
        "references",
        "score",
        "script",
        "section",
        "source",
        "style",
        "syntaxhighlight",
        "table",
        "templatedata",
        "templatestyles",
        "timeline",
    ]
)
_TABLE_BEGINS, _TABLE_ENDS = re.compile(r"\s*[:*#]*\s*\{\|"), re.compile(r"\s*\|\}")
_BREAKS = frozenset({"br", "hr", "p", "div", "li", "dd", "dt"})
# A prefix without a space after it: pictures, categories and the same page in other languages.
_NAMESPACE = re.compile(r"\s*[^\W\d_][\w -]*:(?=\S)")
_QUOTES = re.compile(r"'{2,5}")
_SWITCHES = re.compile(r"__[A-Z]+__")
_EMPTY_BRACKETS = re.compile(r"\s*[(（][\s,;:，；：]*[)）]")
_EMPTY_BEGIN = re.compile(r"([(（])\s*[,;:，；：]\s*")
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]」』）]*$")


def paragraphs_of(markup: str) -> list[str]:
    """Return the paragraphs of a page as plain text.

    Templates, tables, references, formulas, comments, headings and pictures are dropped, links are replaced by their
    texts, and lines that do not end like a sentence, such as list items, are dropped.

    Example:
        >>> paragraphs_of("'''Riga''' is the [[capital city|capital]] of [[Latvia]].{{citation needed}}")
        ['Riga is the capital of Latvia.']
    """
    # Bold and italic are not parsed: unpaired quotes are frequent and make the parser backtrack.
    code = mwparserfromhell.parse("\n".join(_without_tables(markup)), skip_style_tags=True)
    text = _SWITCHES.sub("", _QUOTES.sub("", "".join(_texts(code.nodes))))
    lines = (" ".join(_EMPTY_BEGIN.sub(r"\1", _EMPTY_BRACKETS.sub("", line)).split()) for line in text.splitlines())
    return [line for line in lines if _SENTENCE_END.search(line)]


def _without_tables(markup: str) -> Iterator[str]:
    """Drop the lines of tables, for which the parser takes quadratic time."""
    depth = 0
    for line in markup.split("\n"):
        if _TABLE_BEGINS.match(line):
            depth += 1
        elif depth and (end := _TABLE_ENDS.match(line)):
            depth -= 1
            line = line[end.end() :]  # the rest may end a template around the table
        if not depth:
            yield line


def _texts(nodes: Sequence[Any]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Text():
                yield node.value
            case HTMLEntity():
                yield node.normalize()
            case Wikilink():
                yield from _of_link(node)
            case ExternalLink() if node.title is not None:
                yield from _texts(node.title.nodes)
            case Heading():
                yield "\n"
            case Comment():
                pass
            case Tag():
                yield from _of_tag(node)


def _of_link(link: Wikilink) -> Iterator[str]:
    title = str(link.title)
    if _NAMESPACE.match(title):
        return
    yield from _texts((link.title if link.text is None else link.text).nodes)


def _of_tag(tag: Tag) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if name in _BREAKS:
        yield "\n"
    if name not in _DROPPED_TAGS and tag.contents is not None:
        yield from _texts(tag.contents.nodes)
