"""CSV files: dialects, and errors with file and row."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.errors import ConfigError, DataError
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.limits import MAX_TEXT_LENGTH

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


def test_columns_are_found_by_name_and_rows_are_located(table):
    source = table('Id,Category,Description\n1,Leak,"A, b"\n\n2,Noise,"two\nlines ""x"""\n3,Leak,c\n')
    assert read(source) == [("A, b", "Leak", "2"), ('two\nlines "x"', "Noise", "4"), ("c", "Leak", "6")]


def test_several_columns_are_a_list_of_texts(table):
    content = "begin,a,b,c,label\nHe,sits.,runs.,,1\nShe,sits.,,runs.,0\n"
    endings = table(content, fields={"choices": [["begin", "a"], ["begin", "b"], ["begin", "c"]], "label": "label"})
    assert [row.fields["choices"] for row in endings.rows()] == [
        ["He sits.", "He runs."],
        ["She sits.", "", "She runs."],
    ]
    counted = table("x,y,0\nz,w,1\n", fields={"choices": [1, 2], "label": 3}, header=False)
    assert [row.fields["choices"] for row in counted.rows()] == [["x", "y"], ["z", "w"]]
    missing = table(content, fields={"choices": ["a", "d"]})
    assert "there is no column for `choices`: expected one of begin, a, b, c, label, received 'd'" in message(missing)


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
def test_files_of_the_csv_module_round_trip(tmp_path_factory, rows, delimiter):
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
        == f"none.csv: cannot read the file (No such file or directory). Check `path`, which is relative to {tmp_path}."
    )
    with pytest.raises(DataError, match="none.csv: cannot read the file"):
        source.fingerprint()


def test_a_missing_column_suggests_the_nearest(table):
    found = message(table("Descripton,Category,Cost\na,b,1\n"))
    assert found.endswith(
        "reports.csv:1: there is no column for `text`: expected one of Descripton, Category, Cost, "
        "received 'Description'. Did you mean `Descripton`?"
    )


def test_several_missing_columns_are_one_message(table):
    found = message(table("Cost,Kind\n1,a\n"))
    assert "reports.csv:1: there are no columns for `text` and `label`: expected some of Cost, Kind, received" in found


def test_a_duplicate_column_is_reported_with_its_positions(table):
    assert message(table("Category,Description,Category\na,b,c\n")).endswith(
        "reports.csv:1: several columns are called 'Category': expected a single column, for `label`, received columns "
        "1, 3. Rename all but one of them in the first row."
    )
    assert read(table("Note,Description,Note,Category\na,b,c,d\n")) == [("b", "d", "2")]


@pytest.mark.parametrize(
    ("delimiter", "written", "name"),
    [(";", '";"', "a.csv"), ("\t", '"\\t"', "a.csv"), ("|", '"|"', "a.csv"), (",", '","', "a.tsv")],
)
def test_another_delimiter_is_suggested_in_yaml_syntax(table, delimiter, written, name):
    lines = ["Description;Category", '"hot, and loud";Leak', "wet;Noise"]
    content = "\n".join(line.replace(";", delimiter) for line in lines)
    assert message(table(content, name)).endswith(
        f"The file seems to be separated by {delimiter!r}: set `delimiter: {written}`."
    )
    numbered = table(content, name, fields={"text": 1, "label": 2}, header=False)
    assert f"set `delimiter: {written}`" in message(numbered)
    assert len(read(table(content, name, delimiter=delimiter))) == 2


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        ('{"Description": "a", "Category": "b"}\n', "The file seems to hold JSON lines: set `name: jsonl`."),
        ("<!DOCTYPE html>\n<html>\n", "The file seems to be a web page or XML: check where it came from."),
        (
            "# of Monday\nDescription,Category\na,b\n",
            "remove any lines before it; if it is data, set `header: false`.",
        ),
        ("Text\nloud; hot\nwet\n", "if it is data, set `header: false`."),
        (
            "0.00632,18,2.31\n0.02731,0,7.07\n",
            "All names of columns are numbers: if the first line is data, set `header: false`.",
        ),
    ],
)
def test_a_first_row_without_column_names_is_reported(table, content, remedy):
    assert message(table(content)).endswith(remedy)


def test_messages_list_some_of_many_columns(table):
    found = message(table(",".join([" Category", "", *map(str, range(5000))]) + "\n"))
    assert "expected some of ' Category', '', 0, 1, " in found
    assert "and 4,982 more, received 'Description'" in found


def test_a_very_wide_table_is_read_quickly(table):
    names = [f"c{number}" for number in range(20_000)]
    source = table(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n", fields={name: name for name in names})
    assert [len(row.fields) for row in source.rows()] == [20_000]


@pytest.mark.parametrize("row, received", [("only", 1), ("a,b,c", 3)])
def test_a_ragged_row(table, row, received):
    found = message(table(f'Description,Category\n"x\ny",b\n{row}\n'))
    assert f"reports.csv:4: the row is ragged: expected 2 fields, received {received}. Fields that hold ','" in found
    assert "`quoting: false`" in found


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ("a,b,", "The row ends in a delimiter and the first row does not: end both or none with a delimiter."),
        ('a, "b, c"', "A quote opens a field only directly after the delimiter: remove the spaces between both."),
    ],
)
def test_causes_of_ragged_rows_are_suggested(table, row, remedy):
    assert message(table(f"Description,Category\n{row}\n")).endswith(remedy)
    assert read(table("Description,Category,\na,b,\n")) == [("a", "b", "2")]


def test_a_row_that_cannot_be_decoded(table):
    found = message(table("Description,Category\nok,b\nheiß,b\n".encode("cp1252")))
    assert "reports.csv:3: the row cannot be decoded: expected utf-8 text, received byte 0xdf. Set `encoding:`" in found


def test_the_undecodable_row_is_found_in_a_long_file(table):
    found = message(table(b"Description,Category\n" + b"text,b\n" * 20_000 + b"\xff,b\n" + b"text,b\n" * 20_000))
    assert "reports.csv:20002: " in found


def test_utf_16_read_as_utf_8_names_the_remedy(table):
    content = "Description,Category\na,b\n"
    assert "set `encoding: utf-16`" in message(table(content.encode("utf-16")))
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
def test_empty_files_are_reported(table, content, what):
    assert message(table(content)).endswith(f"reports.csv: {what}")


def test_broken_quotes(table):
    found = message(table('Description,Category\n"a"b,c\n'))
    assert "reports.csv:2: the row cannot be read (',' expected after '\"'" in found
    assert "`quoting: false`" in found


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_quote_that_is_never_closed_is_found_where_it_opens(table, end):
    rows = ["Description,Category", '"two', 'lines","b', "more,c"]
    found = message(table(end.join(rows) + end))
    assert "reports.csv:3: the double quote that opens the field in column 2 is never closed. Close it; " in found


def test_a_very_long_field_is_read(table):
    assert len(read(table(f"Description,Category\n{'word ' * 100_000},b\n"))[0][0]) == 500_000
    longest = "x" * MAX_TEXT_LENGTH
    assert read(table(f"Description,Category\n{longest},b\n"))[0][0] == longest


def test_a_field_beyond_the_limit_is_found_where_it_begins(table):
    found = message(table(f"Description,Category\n{'x' * MAX_TEXT_LENGTH}y,b\n"))
    assert "reports.csv:2: the field in column 1 is too long: expected at most 1,048,576 characters, received " in found
    assert found.endswith("cut it: models read only the first `max_length` tokens.")
    swallowed = message(table('Description,Category\nok,a\n"two\nlines","b\n' + "more,c\n" * 200_000))
    assert "reports.csv:4: the field in column 2 is too long" in swallowed
    assert "If a double quote opens it that is never closed, close it; if quotes are plain text" in swallowed


def test_a_row_beyond_the_limit_is_found(table, monkeypatch):
    monkeypatch.setattr("tfattn.formats.csv_files.MAX_ROW_LENGTH", 50)
    rows = 'Description,Category\nok,a\n"{}",b\n'
    assert len(read(table(rows.format("of\nlines\n" * 4)))) == 2
    assert "reports.csv:3: the row is too long: expected at most 50" in message(table(rows.format("of\nlines\n" * 8)))


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"delimiter": ";;"}, "the delimiter cannot be used: expected one character, received ';;'"),
        ({"encoding": "utf-9"}, "unknown encoding: expected a name such as utf-8.*received 'utf-9'"),
        ({"encoding": "hex"}, "unknown encoding"),
        ({"header": False}, "columns are counted: expected a column number from 1, received 'Description'"),
    ],
)
def test_invalid_options_are_refused(options, expected):
    with pytest.raises(ConfigError, match=expected):
        CsvFile(path="reports.csv", fields=FIELDS, **options)


def test_the_public_files_are_read_whole(shared):
    def count(path, fields, **options):
        return sum(1 for _ in CsvFile(path=str(shared / path), fields=fields, **options).rows())

    assert count("factory_reports/factoryReports.csv", FIELDS) == 480
    assert count("glue/SST-2/train.tsv", {"text": "sentence", "label": "label"}, quoting=False) == 63_982
    assert count("glue/CoLA/train.tsv", {"text": 4, "label": 2}, quoting=False, header=False) == 7_696
    assert count("glue/QNLI/dev.tsv", {"text_a": "question", "text_b": "sentence"}, quoting=False) == 430
