"""The encoding, delimiter, quotes and header of a table are detected."""

from pathlib import Path

import pytest

from tfattn.errors import DataError
from tfattn.recipes.text_tables import detect_encoding, detect_header, detect_table

ROWS = [("text", "label"), *((f"pump {number} leaks, badly", "ab"[number % 2]) for number in range(30))]
CHINESE = [("标题", "类别"), *((f"中国经济第{number}季度增长", ["财经", "体育"][number % 2]) for number in range(30))]


def written(path: Path, rows, delimiter: str, encoding: str = "utf-8") -> Path:
    path.write_bytes("".join(delimiter.join(row) + "\r\n" for row in rows).encode(encoding))
    return path


def asked(problem, answers, option):
    raise AssertionError(f"asks {problem}")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_is_read_without_options(tmp_path, delimiter, encoding):
    rows = [(text.replace("leaks", "läuft"), label) for text, label in ROWS]
    table = detect_table(written(tmp_path / "rows.txt", rows, delimiter, encoding), delimiter=None, ask=asked)
    assert table.names == ("text", "label")
    assert table.options["delimiter"] == delimiter
    assert table.options.get("encoding", "utf-8") == encoding.removesuffix("-sig")
    assert set(table.reasons) == set(table.options)


def test_the_suffix_tsv_implies_tabs_and_commas_are_the_default(tmp_path):
    assert detect_table(written(tmp_path / "rows.tsv", ROWS, "\t"), delimiter=None, ask=asked).options == {}
    rows = [(text.replace(",", ""), label) for text, label in ROWS]
    assert detect_table(written(tmp_path / "rows.csv", rows, ","), delimiter=None, ask=asked).options == {}


def test_chinese_texts_are_recognized_in_their_encoding(tmp_path):
    assert detect_encoding(written(tmp_path / "rows.csv", CHINESE, ",", "gb18030"))[0] == "gb18030"
    assert detect_encoding(written(tmp_path / "more.csv", [("é und ü", "ß, ñ")] * 9, ";", "cp1252"))[0] == "cp1252"


def test_quotes_that_are_not_closed_are_plain_text(tmp_path):
    rows = [(f'{text} 5" wide', label) for text, label in ROWS]
    rows[0] = ROWS[0]
    table = detect_table(
        written(tmp_path / "rows.tsv", [(f'"{a}', b) for a, b in rows], "\t"), delimiter=None, ask=asked
    )
    assert table.options == {"quoting": False}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["age", "job"], ["39", "clerk"], ["50", "nurse"]], True),
        ([["39", "clerk"], ["50", "nurse"]], False),
        ([["text", "label"], ["a b", "x"], ["c d", "y"], ["e f", "x"]], True),
        ([["a b", "x"], ["c d", "y"], ["e f", "x"]], False),
        ([["a", "a"], ["c", "d"]], False),
        ([["A long text " * 8, "x"], ["Another", "y"]], False),
    ],
)
def test_a_header_has_names_and_not_values(rows, expected):
    found, reason = detect_header(rows)
    assert found is expected
    assert reason


def test_decimal_commas_do_not_separate(tmp_path):
    rows = [("a;b;c"), *(f"{number},5;{number},25;x" for number in range(30))]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    assert detect_table(tmp_path / "rows.csv", delimiter=None, ask=asked).options == {"delimiter": ";"}


def test_several_possible_delimiters_are_a_question(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"a{number};b,c\n" for number in range(30)))
    questions = []
    table = detect_table(path, delimiter=None, ask=lambda *question: questions.append(question) or ";")
    assert table.options["delimiter"] == ";"
    assert questions == [
        (
            f"{path}: several delimiters are possible (',' gives 2 columns, ';' gives 2 columns)",
            [",", ";"],
            "--delimiter",
        )
    ]
    assert detect_table(path, delimiter=",", ask=asked).names == ("1", "2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"text\none\ntwo\n", "a single column.*generate_text"),
        (bytes(range(256)) * 9, "the file is not text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "an image"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, content, message):
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        detect_table(tmp_path / "rows.csv", delimiter=None, ask=asked)
