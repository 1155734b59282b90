"""Parts of files: disjoint, complete, and with detection of changes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfattn.data.sources.parallel_files import ParallelFiles
from tfattn.errors import DataError
from tfattn.formats import parts
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.jsonl_files import JsonLinesFile

fields = st.text(st.sampled_from('ab"\n\r, \u2028é'), max_size=12)


def quoted(rows):
    return "".join(",".join('"' + field.replace('"', '""') + '"' for field in row) + "\n" for row in rows)


@pytest.fixture
def small(monkeypatch):
    """Parts of a few bytes."""
    monkeypatch.setattr(parts, "PART_BYTES", 16)


def in_parts(source):
    """The rows of each part; each row is read once, as it stands in the whole."""
    found = [list(source.rows(part)) for part in source.parts()]
    assert [row for some in found for row in some] == list(source.rows())
    return found


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(fields, fields), min_size=1, max_size=12), header=st.booleans())
def test_parts_end_between_rows_for_any_fields(small, tmp_path, rows, header):
    path = tmp_path / "table.csv"
    path.write_bytes((("x,y\n" if header else "") + quoted(rows)).encode())
    columns = {"one": "x", "two": "y"} if header else {"one": 1, "two": 2}
    found = in_parts(CsvFile(path=str(path), fields=columns, header=header))
    assert [tuple(row.fields.values()) for some in found for row in some] == rows


def test_a_quote_inside_a_field_is_text(small, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + 'a 5" pipe,b\n' * 9)
    assert len(in_parts(CsvFile(path=str(path), fields={"one": "x"}))) > 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "gb18030", "utf-16", "utf-32-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_encoding_and_any_end_of_line(small, tmp_path, encoding, end):
    path = tmp_path / "table.csv"
    path.write_bytes(
        ("x,y" + end + "".join(f"no {number},{'é' * number}{end}" for number in range(20))).encode(encoding)
    )
    found = in_parts(CsvFile(path=str(path), fields={"one": "x", "two": "y"}, encoding=encoding))
    assert sum(map(len, found)) == 20
    assert (len(found) == 1) == (encoding.startswith(("utf-16", "utf-32")) or end == "\r")


def test_objects_and_pairs_of_lines_are_divided(small, tmp_path):
    lines = [f'{{"text": "no {number}", "tags": ["a", {{"b": 1}}]}}\n' for number in range(9)]
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    found = in_parts(JsonLinesFile(path=str(tmp_path / "rows.jsonl"), fields={"text": "text", "tags": "tags"}))
    assert len(found) > 3 and found[0][0].fields["tags"] == ["a", {"b": 1}]
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(40)))
    (tmp_path / "b").write_text("".join("x" * number + "\n" for number in range(39)) + "last")
    assert len(in_parts(ParallelFiles(path=str(tmp_path / "a"), target_path=str(tmp_path / "b")))) > 3


@pytest.mark.parametrize("shorter", ["a", "b"])
def test_unequal_parallel_files_are_reported_in_parts(small, tmp_path, shorter):
    for name in "ab":
        (tmp_path / name).write_text("line\n" * (30 if name == shorter else 33))
    source = ParallelFiles(path=str(tmp_path / "a"), target_path=str(tmp_path / "b"))
    [part] = source.parts()
    with pytest.raises(DataError, match="this line has no counterpart: expected 30 lines.*received 33"):
        list(source.rows(part))


@pytest.mark.parametrize("change", ["grown", "cut", "other"])
def test_a_file_that_changes_while_read_is_detected(small, tmp_path, change):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": "abc"}\n' * 8)
    source = JsonLinesFile(path=str(path), fields={"x": "x"})
    divided = list(source.parts())
    path.write_text(
        {"grown": '{"x": "abcd"}\n' * 8, "cut": '{"x": "abc"}\n' * 3, "other": '{"x": "xyz"}\n' * 8}[change]
    )
    with pytest.raises(DataError, match="rows.jsonl.*: the file changes while it is read.*Run the same command again"):
        for part in divided:
            list(source.rows(part))
