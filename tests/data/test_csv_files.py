"""Tables: every dialect that the options name, and a message with file and row for what cannot be read."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.data.csv_files import CsvFile
from tfattn.errors import ConfigError, DataError

FIELDS = {"text": "Description", "label": "Category"}


@pytest.fixture
def table(tmp_path):
    """Writes bytes or text and returns a source that reads them."""

    def write(content, name="reports.csv", fields=FIELDS, **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return CsvFile(path=str(path), fields=fields, **options)

    return write


def read(source):
    return [(row.fields.get("text"), row.fields.get("label"), row.where.rpartition(":")[2]) for row in source.rows()]


def message(source):
    with pytest.raises(DataError) as error:
        list(source.rows())
    return str(error.value)


def test_columns_are_found_by_name_and_rows_know_their_line(table):
    source = table('Id,Category,Description\n1,Leak,"A, b"\n\n2,Noise,"two\nlines ""x"""\n3,Leak,c\n')
    assert read(source) == [("A, b", "Leak", "2"), ('two\nlines "x"', "Noise", "4"), ("c", "Leak", "6")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_byte_order_mark_is_not_part_of_the_first_name(table, encoding):
    text = "Description,Category\nPumpe läuft heiß 泵,Leck\n"
    mark = "\ufeff" if encoding in ("utf-8", "utf-16-le") else ""
    assert read(table((mark + text).encode(encoding), encoding=encoding.removesuffix("-sig"))) == [
        ("Pumpe läuft heiß 泵", "Leck", "2")
    ]


def test_other_encodings_are_read_when_named(table):
    assert read(table("Description,Category\nheiß,Leck\n".encode("cp1252"), encoding="cp1252")) == [
        ("heiß", "Leck", "2")
    ]


def test_a_tsv_file_is_separated_by_tabs_and_quotes_can_be_plain_text(table):
    content = 'Description\tCategory\n"Not a quote, \tLeak\n" and " alone\tNoise\r\n'
    rows = [('"Not a quote, ', "Leak", "2"), ('" and " alone', "Noise", "3")]
    assert read(table(content, "reports.tsv", quoting=False)) == rows
    assert read(table(content, "reports.TSV", quoting=False)) == rows
    assert read(table(content, delimiter="\t", quoting=False)) == rows


def test_columns_without_a_header_are_counted_from_one(table):
    source = table("a\tLeak\tx\nb\tNoise\ty\n", "x.tsv", fields={"text": 3, "label": "2"}, header=False)
    assert read(source) == [("x", "Leak", "1"), ("y", "Noise", "2")]


values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(values, values), min_size=1, max_size=8), delimiter=st.sampled_from(",;|\t"))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows, delimiter):
    path = tmp_path_factory.mktemp("csv") / "fuzz.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([("Description", "Category"), *rows])
    source = CsvFile(path=str(path), fields=FIELDS, delimiter=delimiter)
    assert [(row.fields["text"], row.fields["label"]) for row in source.rows()] == rows


def test_a_missing_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = CsvFile(path="none.csv", fields=FIELDS)
    assert (
        message(source)
        == f"none.csv: cannot read the file (No such file or directory). Check `path`; it counts from {tmp_path}."
    )
    with pytest.raises(DataError, match="none.csv: cannot read the file"):
        source.fingerprint()


def test_a_missing_column_suggests_the_nearest(table):
    found = message(table("Descripton,Category,Cost\na,b,1\n"))
    assert found.endswith(
        "reports.csv:1: there is no column for `text`: expected one of Descripton, Category, Cost, "
        "received 'Description'. Did you mean `Descripton`?"
    )


def test_a_column_twice(table):
    assert "two columns have the same name: expected one column 'Category', received 2" in message(
        table("Description,Category,Category\na,b,c\n")
    )


@pytest.mark.parametrize("row, received", [("only", 1), ("a,b,c", 3)])
def test_a_ragged_row(table, row, received):
    found = message(table(f'Description,Category\n"x\ny",b\n{row}\n'))
    assert f"reports.csv:4: the row is ragged: expected 2 fields, received {received}. Fields that hold ','" in found
    assert "`quoting: false`" in found


def test_a_row_that_cannot_be_decoded(table):
    found = message(table("Description,Category\nok,b\nheiß,b\n".encode("cp1252")))
    assert "reports.csv:3: the row cannot be decoded: expected utf-8 text, received byte 0xdf. Set `encoding:`" in found


def test_the_undecodable_row_is_found_in_a_long_file(table):
    found = message(table(b"Description,Category\n" + b"text,b\n" * 20_000 + b"\xff,b\n" + b"text,b\n" * 20_000))
    assert "reports.csv:20002: " in found


def test_utf_16_read_as_utf_8_names_the_remedy(table):
    content = "Description,Category\na,b\n"
    assert "Set `encoding: utf-16`" in message(table(content.encode("utf-16"))).replace("set", "Set")
    assert "received a NUL character" in message(table(content.encode("utf-16-le")))
    assert "reports.csv:1" in message(table(content.encode("utf-8"), encoding="utf-16"))


@pytest.mark.parametrize(
    "content, what",
    [
        ("", "the file is empty. Check `path`."),
        (
            "Description,Category\n",
            "the file holds a header but no rows. If the first row is data, set `header: false`.",
        ),
        ("\n\n", "the file holds no rows"),
    ],
)
def test_nothing_to_read(table, content, what):
    assert message(table(content)).endswith(f"reports.csv: {what}")


@pytest.mark.parametrize(
    "row, what", [('"never closed,b\nmore,c\n', "unexpected end of data"), ('"a"b,c\n', "',' expected after '\"'")]
)
def test_broken_quotes(table, row, what):
    found = message(table("Description,Category\n" + row))
    assert f"reports.csv:2: the row cannot be read ({what}" in found
    assert "`quoting: false`" in found


def test_a_very_long_field_is_read(table):
    assert len(read(table(f"Description,Category\n{'word ' * 100_000},b\n"))[0][0]) == 500_000


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"delimiter": ";;"}, "the delimiter cannot be used: expected one character, received ';;'"),
        ({"encoding": "utf-9"}, "unknown encoding: expected a name such as utf-8.*received 'utf-9'"),
        ({"encoding": "hex"}, "unknown encoding"),
        ({"header": False}, "columns are counted: expected a column number from 1, received 'Description'"),
    ],
)
def test_options_that_cannot_be(options, expected):
    with pytest.raises(ConfigError, match=expected):
        CsvFile(path="reports.csv", fields=FIELDS, **options)


def test_the_public_files_are_read_whole(shared):
    def count(path, fields, **options):
        return sum(1 for _ in CsvFile(path=str(shared / path), fields=fields, **options).rows())

    assert count("factory_reports/factoryReports.csv", FIELDS) == 480
    assert count("glue/SST-2/train.tsv", {"text": "sentence", "label": "label"}, quoting=False) == 63_982
    assert count("glue/CoLA/train.tsv", {"text": 4, "label": 2}, quoting=False, header=False) == 7_696
    assert count("glue/QNLI/dev.tsv", {"text_a": "question", "text_b": "sentence"}, quoting=False) == 430
