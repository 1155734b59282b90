"""MediaWiki dumps: articles as plain text, from real and synthetic files."""

import bz2
import gzip

import pytest

from tfattn.data.sources.mediawiki import MediaWikiDump
from tfattn.errors import DataError

PAGE = "<page><title>{}</title><ns>{}</ns>{}<revision><model>{}</model><text>{}</text></revision></page>"
PAGES = [
    PAGE.format("Riga", 0, "", "wikitext", "'''Riga''' is a [[city]]. It is old.\n== See also ==\n* [[Latvia]]"),
    PAGE.format("Rigga", 0, '<redirect title="Riga"/>', "wikitext", "#REDIRECT [[Riga]]"),
    PAGE.format("Rīga", 0, "", "wikitext", "#ДООРСОЎ [[Riga]]"),
    PAGE.format("Talk:Riga", 1, "", "wikitext", "Talk about it."),
    PAGE.format("Sandbox.css", 0, "", "css", "a { b: c. }"),
    PAGE.format("Table", 0, "", "wikitext", "{|\n| Cell one.\n|}"),
    PAGE.format("北京", 0, "", "wikitext", "北京是首都。它很大。"),
]
DUMP = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n' + "\n".join(PAGES) + "\n</mediawiki>"


@pytest.fixture
def dump(tmp_path):
    def write(content=DUMP, name="dump.xml", **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return MediaWikiDump(path=str(tmp_path / name), **options)

    return write


@pytest.mark.parametrize(
    ("name", "pack"), [("d.xml", str.encode), ("d.xml.bz2", bz2.compress), ("d.xml.gz", gzip.compress)]
)
def test_articles_are_rows_of_sentences(dump, name, pack):
    source = dump(pack(DUMP if name == "d.xml" else DUMP.encode()), name)
    rows = list(source.rows())
    assert [(row.fields["title"], row.fields["text"]) for row in rows] == [
        ("Riga", "Riga is a city.\nIt is old."),
        ("Table", ""),
        ("北京", "北京是首都。\n它很大。"),
    ]
    assert [row.where.rpartition(":")[2] for row in rows] == ["2", "9", "12"]
    assert [row for part in source.parts() for row in source.rows(part)] == rows


def test_other_namespaces_are_read_on_request(dump):
    assert [row.fields["title"] for row in dump(namespaces=[1]).rows()] == ["Talk:Riga"]


def test_empty_and_damaged_files_are_reported(dump):
    with pytest.raises(DataError, match="dump.xml: the file holds no pages: expected elements mediawiki/page"):
        list(dump("<mediawiki/>").rows())
    with pytest.raises(DataError, match="dump.xml.bz2, after [0-9,]+ decompressed bytes: the compressed file is"):
        list(dump(bz2.compress(DUMP.encode())[:-20], "dump.xml.bz2").rows())


@pytest.mark.parametrize(
    ("name", "at_least", "has"),
    [
        ("tinywiki-latest-pages-articles.xml", 2, ""),
        ("bgwiki-latest-pages-articles-shortened.xml.bz2", 1, " е "),
        ("enwiki-table-markup.xml.bz2", 3, " the "),
    ],
)
def test_real_dumps_give_plain_text(shared, name, at_least, has):
    rows = list(MediaWikiDump(path=str(shared / "wikidump" / name)).rows())
    texts = [row.fields["text"] for row in rows if row.fields["text"]]
    assert len(texts) >= at_least
    assert any(has in text for text in texts)
    for left in ("{{", "[[", "{|", "<ref", "'''", "File:"):
        assert not any(left in text for text in texts), left
