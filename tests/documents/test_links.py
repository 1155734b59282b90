"""Links between the documents resolve."""

import re
from pathlib import Path

import pytest

from tests.documents.blocks import FENCE, PROJECT

DOCUMENTS = [
    PROJECT / "README.md",
    *(path for room in ("docs", "deploy", "benchmarks") for path in sorted(PROJECT.glob(f"{room}/**/*.md"))),
]
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


def links(document: Path) -> list[str]:
    return [link for link in LINK.findall(prose(document)) if "://" not in link]


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives the headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose(document))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=[str(path.relative_to(PROJECT)) for path in DOCUMENTS])
def test_links_resolve_to_files_and_headings(document):
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists() and target.is_relative_to(PROJECT), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme():
    reached, left = set(), {PROJECT / "README.md"}
    while left:
        document = left.pop()
        reached.add(document)
        found = {(document.parent / link.partition("#")[0]).resolve() for link in links(document)}
        left |= {path for path in found if path.suffix == ".md"} - reached
    assert set(DOCUMENTS) <= reached


def test_named_files_exist():
    for document in DOCUMENTS:
        named = re.findall(r"`((?:pipelines|configs|benchmarks|deploy|tests)/[\w./-]*)`", prose(document))
        for path in named:
            assert (PROJECT / path).exists(), f"{document.name}: {path}"
