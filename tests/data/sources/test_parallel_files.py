"""Parallel files: aligned lines, and errors with file and line."""

import pytest

from tfattn.data.sources.parallel_files import ParallelFiles
from tfattn.errors import ConfigError, DataError
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.jsonl_files import JsonLinesFile
from tfattn.formats.limits import MAX_TEXT_LENGTH


@pytest.fixture
def source(tmp_path):
    """Writes two files and returns a source that reads them; what is None is not written."""

    def write(english, german, **options):
        paths = tmp_path / "train.en", tmp_path / "train.de"
        for path, content in zip(paths, (english, german), strict=True):
            if content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return ParallelFiles(path=str(paths[0]), target_path=str(paths[1]), **options)

    return write


def read(source):
    return [(row.fields["source"], row.fields["target"]) for row in source.rows()]


def message(source):
    with pytest.raises(DataError) as error:
        list(source.rows())
    return str(error.value)


def test_rows_are_located_by_line(source):
    files = source("A dog.\nTwo men.\n", "Ein Hund.\nZwei Männer.\n")
    rows = list(files.rows())
    assert read(files) == [("A dog.", "Ein Hund."), ("Two men.", "Zwei Männer.")]
    assert [row.where for row in rows] == [f"{files.path}:1", f"{files.path}:2"]
    assert files.fields == {"source": str(files.path), "target": str(files.target_path)}


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_byte_order_marks_and_line_ends_are_removed(source, mark, end):
    assert read(source(f"{mark}a\r\nb{end}", f"c\nd{end}")) == [("a", "c"), ("b", "d")]


def test_only_a_line_feed_ends_a_line(source):
    text = "a\u2028b\x0bc\x0cd\x85e\u2029f\rg\x1ch"
    assert read(source(f"{text}\nz\n", "x\ny\n")) == [(text, "x"), ("z", "y")]


def test_an_empty_line_is_an_empty_value(source):
    assert read(source("a\n\nc\n", "x\ny\n \n")) == [("a", "x"), ("", "y"), ("c", " ")]


def test_other_encodings_are_read_when_named(source):
    files = source("heiß\nkalt\n".encode("utf-16"), "hot\ncold\n".encode("utf-16"), encoding="utf-16")
    assert read(files) == [("heiß", "hot"), ("kalt", "cold")]
    with pytest.raises(ConfigError, match="unknown encoding"):
        source("a\n", "b\n", encoding="utf-9")


def test_a_file_without_line_feeds_is_reported(source):
    found = message(source("a b\rc d\r", "x y\nz\n"))
    assert found.endswith(
        "train.en: lines end in carriage returns: expected a line feed after each line. "
        r"Replace them by line feeds, as `tr '\r' '\n'` does."
    )


def test_a_line_beyond_the_limit_is_located(source):
    assert "train.de:2: the line is too long: expected at most 1,048,576 characters" in message(
        source("a\nb\n", "x\n" + "y" * (MAX_TEXT_LENGTH + 1))
    )


@pytest.mark.parametrize(
    ("english", "german", "longer", "line", "sides"),
    [
        ("a\nb\nc\nd\n", "x\ny\n", "en", 3, "expected 2 lines, as {de} has, received 4; line 3 is 'c'"),
        ("a\n", "x\ny\n", "de", 2, "expected 1 lines, as {en} has, received 2; line 2 is 'y'"),
        ("a\n", "x\n\n", "de", 2, "expected 1 lines, as {en} has, received 2; line 2 is ''"),
        ("a\n" + "long " * 50, "x", "en", 2, "received 2; line 2 is '" + "long " * 12 + "...'"),
    ],
)
def test_files_of_different_lengths(source, english, german, longer, line, sides):
    files = source(english, german)
    paths = {"en": files.path, "de": files.target_path}
    found = message(files)
    assert found.startswith(f"{paths[longer]}:{line}: this line has no counterpart: ")
    assert sides.format(**paths) in found
    assert found.endswith("find the first pair that does not match.")


@pytest.mark.parametrize("side", ["en", "de"])
def test_undecodable_bytes_are_located(source, side):
    broken, whole = b"a\nb\n\xff\xfec\n", b"x\ny\nz\n"
    found = message(source(*((broken, whole) if side == "en" else (whole, broken))))
    assert f"train.{side}:3: the row cannot be decoded: expected utf-8 text, received byte 0xff" in found
    assert "Set `encoding:`" in found


@pytest.mark.parametrize(("contents", "key"), [((None, "a\n"), "path"), (("a\n", None), "target_path")])
def test_a_missing_file_is_named_with_its_setting(source, contents, key):
    name = "train.en" if key == "path" else "train.de"
    files = source(*contents)
    assert f"{name}: cannot read the file (No such file or directory). Check `{key}`" in message(files)
    with pytest.raises(DataError, match=f"{name}: cannot read the file.*Check `{key}`"):
        files.fingerprint()


@pytest.mark.parametrize(("contents", "key"), [(("", "a\n"), "path"), (("a\n", ""), "target_path")])
def test_an_empty_file_is_named_with_its_setting(source, contents, key):
    name = "train.en" if key == "path" else "train.de"
    assert message(source(*contents)).endswith(f"{name}: the file is empty. Check `{key}`.")


def test_the_fingerprint_is_that_of_both_files(source):
    found = {
        source(english, german).fingerprint()
        for english, german in [("a\n", "b\n"), ("a\n", "c\n"), ("c\n", "b\n"), ("b\n", "a\n")]
    }
    assert len(found) == 4
    assert source("a\n", "b\n").fingerprint() == source("a\n", "b\n").fingerprint()


def test_an_unknown_language_suggests_the_nearest(tmp_path):
    table, objects = tmp_path / "pairs.tsv", tmp_path / "pairs.jsonl"
    table.write_text("id\ten\tde\n1\ta dog\tein Hund\n")
    objects.write_text('{"id": 1, "en": "a dog", "de": "ein Hund"}\n')
    fields = {"source": "en", "target": "deu"}
    assert message(CsvFile(path=str(table), fields=fields)).endswith(
        "pairs.tsv:1: there is no column for `target`: expected one of id, en, de, received 'deu'. Did you mean `de`?"
    )
    assert message(JsonLinesFile(path=str(objects), fields=fields)).endswith(
        "pairs.jsonl:1: a key is missing: expected one of id, en, de, received 'deu'. Did you mean `de`?"
    )
    good = {"source": "en", "target": "de"}
    for one in (CsvFile(path=str(table), fields=good), JsonLinesFile(path=str(objects), fields=good)):
        assert read(one) == [("a dog", "ein Hund")]


def test_the_public_files_are_read_whole(shared):
    folder = shared / "multi30k"
    if not folder.is_dir():
        pytest.skip("needs Multi30k, expected in ../shared/data/multi30k beside the project")
    files = ParallelFiles(path=str(folder / "val.en"), target_path=str(folder / "val.de"))
    pairs = read(files)
    assert len(pairs) == 1014
    assert pairs[1] == (
        "A man sleeping in a green room on a couch.",
        "Ein Mann schläft in einem grünen Raum auf einem Sofa.",
    )
