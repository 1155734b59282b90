"""XML as a stream of rows: paths, encodings, and refusal of entities and external references."""

import bz2

import pytest

from tfattn import files
from tfattn.data.sources.xml_files import XmlFiles
from tfattn.data.sources.xml_rows import MAX_DEPTH, xml_rows
from tfattn.errors import ConfigError, DataError

BOOKS = """<catalog xmlns="urn:x"><book id="1" lang="de"><title>A &amp; <i>B</i></title><part><name>x</name></part>
<part><name>y</name></part></book><shelf><book><title>no row</title></book></shelf>
<book id="2"><title/></book></catalog>"""
FIELDS = {"title": "title", "names": "part/name", "id": "@id"}


@pytest.fixture
def write(tmp_path):
    def write(content, name="a.xml", encoding="utf-8"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return files.unpacked(tmp_path / name)

    return write


def test_values_are_at_paths_below_the_row(write):
    rows = list(xml_rows(write(BOOKS), "catalog/book", FIELDS))
    assert [row.values for row in rows] == [
        {"title": ["A & B"], "names": ["x", "y"], "id": ["1"]},
        {"title": [""], "names": [], "id": ["2"]},
    ]
    assert [row.line for row in rows] == [1, 3]


def test_a_row_may_be_its_own_text(write):
    assert [row.values["all"] for row in xml_rows(write("<r><s>a <b>c</b></s><s>d</s></r>"), "r/s", {"all": "."})] == [
        ["a c"],
        ["d"],
    ]


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", '<?xml version="1.0" encoding="utf-16"?>'),
        ("utf-16", ""),
        ("gb18030", "<?xml version='1.0' encoding='GB18030'?>"),
        ("koi8-r", '<?xml version="1.0" encoding="koi8-r"?>'),
    ],
)
def test_the_encoding_is_that_of_the_xml_declaration(write, encoding, declared):
    path = write(f"{declared}<r><s>град</s></r>", encoding=encoding)
    assert [row.values["t"] for row in xml_rows(path, "r/s", {"t": "."})] == [["град"]]


def test_an_encoding_can_be_given(write):
    path = write("<r><s>é</s></r>", encoding="latin-1")
    with pytest.raises(DataError, match="a.xml:1: the row cannot be decoded: expected utf-8 text"):
        list(xml_rows(path, "r/s", {"t": "."}))
    assert [row.values["t"] for row in xml_rows(path, "r/s", {"t": "."}, encoding="latin-1")] == [["é"]]


BOMB = (
    '<!DOCTYPE r [<!ENTITY lol "lol">'
    + "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' for n in range(2, 10))
    + "]>\n<r><s>&lol9;</s></r>"
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.xml: the file is empty"),
        ("<r><s>a</s>\n<s>b</r>", r"a.xml:2:7: the file is not well-formed XML: received mismatched tag"),
        ("<r><s>a</s>", r"a.xml:1:12: the file is not well-formed XML: received no element found"),
        ("just text", r"a.xml:1:1: the file is not well-formed XML: received syntax error"),
        (BOMB, "a.xml:1: the file declares entities, which can grow without end: .*received the entity `lol`"),
        ('<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><r><s>&f;</s></r>', "declares entities"),
        ("<r>" * (MAX_DEPTH + 1), "a.xml:1: elements are nested too deeply"),
        ('<?xml version="1.0" encoding="klingon"?><r/>', "a.xml:1: the file declares an unknown encoding"),
        (bz2.compress(b"<r/>"), "received what seems to be a file compressed by bzip2"),
    ],
)
def test_invalid_xml_is_refused_with_its_location(write, content, message):
    with pytest.raises(DataError, match=message):
        list(xml_rows(write(content), "r/s", {"t": "."}))


def test_rows_before_damage_are_returned(write):
    rows = xml_rows(write("<r>" + "<s>a</s>" * 20_000 + "</x>"), "r/s", {"t": "."})
    assert next(rows).values == {"t": ["a"]}


def test_an_xml_source_has_roles(write):
    path = str(write(BOOKS))
    source = XmlFiles(path=path, row="catalog/book", fields={"text": "part/name", "label": "@lang"})
    rows = list(source.rows())
    assert [row.fields for row in rows] == [{"text": "x\ny", "label": "de"}, {"text": "", "label": ""}]
    assert rows[1].where == f"{path}:3"
    with pytest.raises(DataError, match="the file holds no rows: expected elements catalog/page"):
        list(XmlFiles(path=path, row="catalog/page", fields={"text": "."}).rows())
    with pytest.raises(ConfigError, match="not a path of elements") as caught:
        XmlFiles(path=path, row="catalog/book", fields={"text": "part//name"})
    assert caught.value.key == "fields.text"
