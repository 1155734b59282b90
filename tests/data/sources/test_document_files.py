"""Documents in text files: separated by blank lines, in parts of whole documents."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfattn.data.sources.document_files import DocumentFiles
from tfattn.errors import ConfigError, DataError
from tfattn.formats.limits import MAX_TEXT_LENGTH

lines = st.text(st.sampled_from("ab é\u2028"), max_size=6)


@pytest.fixture
def source(tmp_path):
    def write(content, name="a.txt", **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return DocumentFiles(path=str(tmp_path / name), **options)

    return write


def texts(source):
    return [row.fields["text"] for row in source.rows()]


def test_a_document_is_located_by_its_first_sentence(source):
    rows = list(source("\n One here. \nTwo.\n\n \nThree.\n").rows())
    assert [row.fields["text"] for row in rows] == ["One here.\nTwo.", "Three."]
    assert [row.where.rpartition(":")[2] for row in rows] == ["2", "6"]


def test_running_text_is_split_into_sentences(source):
    assert texts(source("Dr. A came. B went.\nC?\n", split_sentences=True)) == ["Dr. A came.\nB went.\nC?"]


def test_long_documents_are_divided_on_request(source):
    assert texts(source("a\nb\nc\n\nd\ne\n", max_sentences=2)) == ["a\nb", "c", "d\ne"]
    assert texts(source("A bb. C dd. E ff.\nG hh.\n", max_sentences=2, split_sentences=True)) == [
        "A bb.\nC dd.\nE ff.",
        "G hh.",
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(lines, min_size=1, max_size=40).map("\n".join), end=st.sampled_from(["\n", "\r\n"]))
def test_parts_are_the_whole_file_with_whole_documents(small_parts, tmp_path, content, end):
    path = tmp_path / "a.txt"
    path.write_bytes(content.replace("\n", end).encode() + b"x")
    source = DocumentFiles(path=str(path))
    assert [row for part in source.parts() for row in source.rows(part)] == list(source.rows())


def test_a_large_file_has_several_parts(small_parts, source):
    found = source("\n\n".join(["a b c\nd e f"] * 100))
    assert len(list(found.parts())) > 3
    assert [row for part in found.parts() for row in found.rows(part)] == list(found.rows())
    assert len(list(source("a b c\n" * 300).parts())) == 1, "one document"
    assert len(list(source("a b c\n" * 300, max_sentences=5).parts())) > 3


def test_several_files_are_read_once_in_order(source, tmp_path):
    source("b\n", "b.txt"), source("a\n", "a.txt"), source("c\n", "c.text")
    found = DocumentFiles(path=[str(tmp_path / "*.txt"), str(tmp_path / "c.text"), str(tmp_path / "a.txt")])
    assert texts(found) == ["a", "b", "c"]
    assert [part.path.rpartition("/")[2] for part in found.parts()] == ["a.txt", "b.txt", "c.text"]
    before = found.fingerprint()
    source("changed\n", "b.txt")
    assert found.fingerprint() != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.txt: the file is empty"),
        (b"caf\xe9\n", "a.txt:1: the row cannot be decoded: expected utf-8 text, received byte 0xe9"),
        (("a " * (MAX_TEXT_LENGTH // 2) + "\n") * 2, "a.txt:1: the document is too long.*set `max_sentences`"),
        (b"PK\x03\x04rest", "received what seems to be a ZIP archive"),
    ],
)
def test_a_file_that_is_not_text_is_refused(source, content, message):
    with pytest.raises(DataError, match=message):
        texts(source(content))


def test_a_pattern_that_matches_nothing_and_a_missing_file_are_reported(tmp_path):
    with pytest.raises(DataError, match=r"x\*.txt: no file matches: expected a pattern of files that there are"):
        DocumentFiles(path=str(tmp_path / "x*.txt")).fingerprint()
    with pytest.raises(DataError, match="none.txt: cannot read the file"):
        list(DocumentFiles(path=str(tmp_path / "none.txt")).parts())
    with pytest.raises(DataError, match=r"nowhere://x\*.txt: cannot list the files"):
        DocumentFiles(path="nowhere://x*.txt").fingerprint()
    with pytest.raises(ConfigError, match="unknown encoding"):
        DocumentFiles(path="a.txt", encoding="utf-9")
    with pytest.raises(ConfigError, match="no file is named"):
        DocumentFiles(path=[])
