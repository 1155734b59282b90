"""Each kind of input file, and what can be wrong with one."""

import io
import re
import sys

import pytest

from tfattn.data.sources.parallel_files import ParallelFiles
from tfattn.errors import DataError
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.jsonl_files import JsonLinesFile
from tfattn.formats.limits import MAX_TEXT_LENGTH
from tfattn.formats.training_file import FileFormat, TrainingFile
from tfattn.serving.client import input_rows

ONE = TrainingFile({"text": "Description"})
TWO = TrainingFile({"text_a": "text_a", "text_b": "text_b"})


CHOICES = TrainingFile({"context": "sent1", "choices": [["sent2", "end0"], ["sent2", "end1"]]})


@pytest.fixture
def read(tmp_path):
    def read(name, content, trained_on=ONE, **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        rows = list(input_rows.read(str(path), trained_on, **options))
        told = [str(row.problem) if row.problem else tuple(row.fields.values()) for row in rows]
        return told, [row.where.rsplit(":")[-1] for row in rows]

    return read


def test_text_lines_keep_their_number(read):
    rows, where = read("new.txt", b'\xef\xbb\xbfone\r\n\ntwo, "three"\n')
    assert rows == [("one",), ("",), ('two, "three"',)]
    assert where == ["1", "2", "3"]


def test_columns_are_found_as_trained_or_by_input(read):
    assert read("a.csv", 'Cost,text\n1,"two\nlines"\n\n2,b\n') == ([("two\nlines",), ("b",)], ["2", "5"])
    assert read("a.tsv", "Description\tCost\na, b\t1\n")[0] == [("a, b",)]
    assert read("a.csv", "text,Description\nno,yes\n")[0] == [("yes",)]
    assert read("a.csv", "text_b,text_a\nb,a\n", TWO)[0] == [("a", "b")]


def test_lists_of_texts_come_from_columns_or_from_json(read):
    table = "sent1,sent2,end0,end1\na,He,sits,runs\nb,She,sits,\n"
    lines = '{"sent1": "a", "choices": ["x", "y", "z"]}\n{"context": "b", "choices": "x"}\n'
    assert read("a.csv", table, CHOICES, lists={"choices"})[0] == [("a", ["He sits", "He runs"]), ("b", ["She sits"])]
    (row, problem), _ = read("a.jsonl", lines, CHOICES, lists={"choices"})
    assert row == ("a", ["x", "y", "z"]) and "the value of 'choices' is not a list of texts" in problem
    with pytest.raises(DataError, match="there are no columns for the list `choices`: expected end1, .*In JSON lines"):
        read("b.csv", "sent1,sent2,end0\na,b,c\n", CHOICES, lists={"choices"})
    of_json = TrainingFile({"context": "context", "choices": "choices"})
    with pytest.raises(DataError, match="expected JSON lines, received context, choices"):
        read("c.csv", "context,choices\na,b\n", of_json, lists={"choices"})


def test_json_lines(read):
    rows, where = read("a.jsonl", '{"text": "a\\nb", "n": 1}\n\n{"Description": "é"}\n')
    assert rows == [("a\nb",), ("é",)]
    assert where == ["1", "3"]
    told, _ = read("a.jsonl", '{"text": 5}\n{"text": 2.50}\n{"text": true}\n{"text": null}\n')
    assert told == [("5",), ("2.5",), ("true",), ("",)]  # as sources of training data read them


FILES = {
    "de.csv": ('id;Text;Klasse\n1;"Größe; Öl";a\n2;weiß;b\n', {"delimiter": ";", "encoding": "cp1252"}),
    "quotes.tsv": ('Text\tKlasse\nein "Zitat\ta\n', {"quoting": False}),
    "plain.dat": ("1|eins\n2|zwei\n", {"delimiter": "|", "header": False}),
    "utf16.csv": ("Text,Klasse\nü,a\n", {"encoding": "utf-16"}),
    "names.CSV": ("text,Text\nnot this,but this\n", {}),
}


@pytest.mark.parametrize("name", FILES)
def test_the_file_that_trained_a_model_is_read_as_it_was(read, tmp_path, name):
    content, options = FILES[name]
    source = CsvFile(path=str(tmp_path / name), fields={"text": "2" if "header" in options else "Text"}, **options)
    trained_on = TrainingFile({"text": source.fields["text"]}, suffix=source.path.suffix.lower(), format=source.format)
    told, where = read(name, content.encode(options.get("encoding", "utf-8")), trained_on)
    trained = list(source.rows())
    assert told == [(row.fields["text"],) for row in trained]
    assert where == [row.where.rsplit(":")[-1] for row in trained]


def test_other_sources_are_read_as_they_were_too(read, tmp_path):
    lines = ParallelFiles(path="a.en", target_path="a.de", encoding="latin-1")
    assert read("b.en", b"caf\xe9\n", TrainingFile({"text": "text"}, suffix=".en", format=lines.format))[0] == [
        ("café",)
    ]
    objects = JsonLinesFile(path="a.json", fields={"text": "Text"}, encoding="utf-16")
    trained_on = TrainingFile({"text": "Text"}, suffix=".json", format=objects.format)
    assert read("b.json", '{"Text": "é"}\n'.encode("utf-16"), trained_on)[0] == [("é",)]


def test_another_suffix_or_a_stated_kind_is_utf_8_as_always(read):
    trained_on = TrainingFile({"text": "Text"}, suffix=".csv", format=FileFormat("csv", "latin-1", ";"))
    assert read("a.tsv", "Text\tid\né\t1\n", trained_on)[0] == [("é",)]
    assert read("a.csv", "Text,id\né,1\n", trained_on, kind="csv")[0] == [("é",)]
    with pytest.raises(DataError, match="The file seems to be separated by ',', not by ';'. `--format csv` reads"):
        read("a.csv", "Text,id\né,1\n", trained_on)
    with pytest.raises(DataError, match="The file seems to be separated by ';', not by ','. Save it with commas"):
        read("a.csv", "Text;id\né;1\n")


def test_standard_input_of_a_stated_kind(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"text\none\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    (row,) = input_rows.read("-", ONE, kind="csv")
    assert row.fields == {"text": "one"} and row.where == "standard input:2"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "a.txt: the file is empty"),
        ("a.csv", "", "a.csv: the file is empty"),
        ("a.csv", "text\n", "a.csv: the file holds a header but no rows"),
        ("a.jsonl", "\n\n", "a.jsonl: the file holds no rows"),
        ("a.txt", b"\x89PNG\r\n\x1a\n", "a.txt: the file is not text: .* what seems to be an image. Check `--input`"),
        ("a.csv", b"a\xff\n", "a.csv:1: the line is not UTF-8 text: received the byte 0xff at position 2"),
        ("a.csv", b"text\0\n", "a.csv:1: the line is not UTF-8 text: received the byte 0x00 at position 5"),
        ("a.csv", "text\né\n".encode("utf-16"), "a.csv:1: .*`iconv -f utf-16 -t utf-8`"),
        ("a.csv", "descripton,Cost\n", "a.csv:1: .*expected Description or text, received descripton, Cost. Rename"),
        ("a.csv", "text,text\na,b\n", "a.csv:1: two columns have the same name: received 'text'"),
        ("a.csv", 'text,"Cost\n', "a.csv:1: cannot read the row"),
    ],
)
def test_what_is_wrong_with_a_file_ends_it(read, name, content, message):
    with pytest.raises(DataError, match=message):
        read(name, content)


def test_a_line_without_end_ends_the_file(read, monkeypatch):
    monkeypatch.setattr("tfattn.serving.client.input_lines.MAX_ROW_LENGTH", 1000)
    assert len(read("a.txt", "x" * 999 + "\n")[0][0][0]) == 999
    with pytest.raises(DataError, match="a.txt:2: the line is too long: expected at most 1,000 characters"):
        read("a.txt", "x\n" + "y" * 1001)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        (
            "a.txt",
            [b"a", b"bad \xff", b"c"],
            "a.txt:2: the line is not UTF-8 text: received the byte 0xff at position 5",
        ),
        ("a.csv", [b"text", b"a", b"\xe9", b"c"], "a.csv:3: the line is not UTF-8 text"),
        (
            "a.csv",
            ["text,n", "a,1", "b", "c,2"],
            "a.csv:3: the row does not fit the header: expected 2 cells, received 1",
        ),
        ("a.csv", ["text,n", "a,1", "b,c,1", "c,2"], "a.csv:3: the row .*: expected 2 cells, received 3"),
        ("a.csv", ["text,n", "a,1", '"b"b,1', "c,2"], "a.csv:3: cannot read the row"),
        ("a.jsonl", ['{"text": "a"}', '{"text": ', '{"text": "c"}'], "a.jsonl:2: the row is not JSON"),
        ("a.jsonl", ['{"text": "a"}', "[" * 100_000, '{"text": "c"}'], "a.jsonl:2: the row is not JSON"),
        ("a.jsonl", ['{"text": "a"}', '["b"]', '{"text": "c"}'], "a.jsonl:2: the row is not an object"),
        ("a.jsonl", ['{"text": "a"}', '{"text": [5]}', '{"text": "c"}'], "a.jsonl:2: the value of 'text' is nested"),
        (
            "a.jsonl",
            ['{"text": "a"}', '{"text": "\\ud800"}', '{"text": "c"}'],
            "a.jsonl:2: .* half of a surrogate pair",
        ),
        ("a.jsonl", ['{"text": "a"}', '{"txt": "b"}', '{"text": "c"}'], "a.jsonl:2: .*received txt. Rename `txt`"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_of_it_and_the_next_is_read(read, name, lines, message):
    told, _ = read(name, b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines))
    assert (told[0], told[2]) == (("a",), ("c",)) and len(told) == 3
    assert re.search(message, told[1]), told[1]


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_a_text_that_is_too_long_is_said_of_its_row(read, name):
    long = "x" * (MAX_TEXT_LENGTH + 1)
    lines = [f'{{"text": "{text}"}}' if name == "a.jsonl" else text for text in ("a", long, "c")]
    told, _ = read(name, "".join(f"{line}\n" for line in ["text"] * (name == "a.csv") + lines))
    assert (told[0], told[2]) == (("a",), ("c",)) and re.search("too long|larger than field limit", told[1])


def test_an_open_quote_is_said_of_the_row_that_it_opens(read):
    told, where = read("a.csv", 'text\na\n"b\nc\n')
    assert told[0] == ("a",) and "a.csv:3: cannot read the row" in told[1] and where == ["2", "3"]


def test_one_line_is_not_two_inputs(read):
    with pytest.raises(DataError, match="expected csv, tsv or jsonl with text_a, text_b"):
        read("a.txt", "a\n", TWO)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="none.txt: cannot read the inputs"):
        list(input_rows.read(str(tmp_path / "none.txt"), ONE))
