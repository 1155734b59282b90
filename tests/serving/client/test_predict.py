"""Answers come in the order of the inputs, whatever the batch."""

import io
import json
import shutil
import sys

import pandas
import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import local
from tfattn.serving.client.predict import predict, predictions


@pytest.fixture(scope="module")
def reports(models):
    return local.load("reports", models)


@pytest.fixture
def new_reports(tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("".join(f"{'x' * (7 * length % 31)}\n" for length in range(10)))
    return path


def test_line_n_answers_row_n(reports, new_reports, tmp_path):
    assert predict(reports, str(new_reports), str(tmp_path / "out.jsonl"), batch_size=3) == 10
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == new_reports.read_text().splitlines()
    assert all(line["label"] == ("Leak" if len(line["text"]) >= 10 else "Électronique") for line in lines)
    assert list(lines[1]) == ["text", "label", "label_id", "score", "scores"]


def test_an_empty_row_is_answered_and_marked(reports, new_reports, tmp_path):
    predict(reports, str(new_reports), str(tmp_path / "out.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("empty", False) for line in lines] == [True] + 9 * [False]
    assert lines[0]["label"] == "Électronique"


def test_the_same_goes_through_pipes(reports, new_reports, tmp_path, monkeypatch, capsys):
    predict(reports, str(new_reports), str(tmp_path / "out.jsonl"))

    class Stdin:
        buffer = io.BytesIO(new_reports.read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)
    predict(reports, "-", "-")
    assert capsys.readouterr().out == (tmp_path / "out.jsonl").read_text()


def test_answers_come_as_soon_as_a_batch_is_full(reports):
    from tfattn.serving.client.input_rows import InputRow

    read = []

    def rows():
        for number in range(100):
            read.append(number)
            yield InputRow({"text": "x"}, "")

    next(predictions(reports, rows(), batch_size=4))
    assert len(read) == 4


def test_after_an_error_of_the_whole_old_answers_stand(reports, tmp_path, monkeypatch):
    (tmp_path / "bad.txt").write_text("good\n" + "x" * 100)
    (tmp_path / "out.jsonl").write_text("old")
    monkeypatch.setattr("tfattn.serving.client.input_lines.MAX_ROW_LENGTH", 50)
    with pytest.raises(DataError, match="bad.txt:2: the line is too long"):
        predict(reports, str(tmp_path / "bad.txt"), str(tmp_path / "out.jsonl"), batch_size=1)
    assert (tmp_path / "out.jsonl").read_text() == "old"


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_row_that_cannot_be_read_has_its_line_and_loses_no_other(reports, tmp_path, batch_size):
    (tmp_path / "bad.csv").write_bytes(b"text,n\na,1\nb,1,2\nc,1\n\xff,1\nd,1\n")
    with pytest.raises(DataError) as caught:
        predict(reports, str(tmp_path / "bad.csv"), str(tmp_path / "out.jsonl"), batch_size=batch_size)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("text") for line in lines] == ["a", None, "c", None, "d"]
    assert ["label" in line for line in lines] == [True, False, True, False, True]
    assert str(caught.value).splitlines() == [
        lines[1]["error"],
        lines[3]["error"],
        f"{tmp_path}/out.jsonl: 2 of 5 rows have no prediction",
    ]
    assert f"{tmp_path}/bad.csv:3: the row does not fit the header" in lines[1]["error"]


def test_the_same_problem_of_many_rows_is_one_message(reports, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"txt": "a"}\n' * 150 + "[]\n")
    with pytest.raises(DataError) as caught:
        predict(reports, str(tmp_path / "bad.jsonl"), str(tmp_path / "out.csv"))
    missing, other, total = str(caught.value).splitlines()
    assert missing.startswith(f"{tmp_path}/bad.jsonl:1: there is no column for the input `text`: ")
    assert missing.endswith("(and 149 more rows)") and f"{tmp_path}/bad.jsonl:151: " in other
    assert total == f"{tmp_path}/out.csv: 151 of 151 rows have no prediction"


def test_a_table_with_other_columns_is_one_message(hours, tmp_path):
    (tmp_path / "new.csv").write_text("age,work\n1,a\n")
    with pytest.raises(
        DataError, match="new.csv:1: 2 of the inputs have no columns: expected hours-per-week, job, rec"
    ):
        predict(hours, str(tmp_path / "new.csv"), str(tmp_path / "out.csv"))


def test_an_output_that_nobody_writes_is_refused_before_anything_is_read(reports, tmp_path, command):
    for name in ("out.ods", "out", "out.json"):
        with pytest.raises(ConfigError, match=r"unknown file format.* expected one of .jsonl, .csv, .tsv, .xlsx, "):
            predict(reports, str(tmp_path / "none.txt"), str(tmp_path / name))
    with pytest.raises(ConfigError, match=r"out.txt: the model writes no texts: expected one of .jsonl, .csv, .tsv"):
        predict(reports, str(tmp_path / "none.txt"), str(tmp_path / "out.txt"))
    answer = command("predict", "no such model", "--output", tmp_path / "out.ods")
    assert answer.status == 2 and "out.ods" in answer.errors and "model" not in answer.errors


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx", ".parquet"])
def test_all_columns_of_a_file_stay_next_to_its_predictions(models, tmp_path, suffix):
    shutil.copytree(models / "reports/10", tmp_path / "reports/1")
    TrainingFile({"text": "Note"}, targets={"label": "label"}).write(tmp_path / "reports/1/assets.extra/source.json")
    rows = [{"Note": "x" * 12, "label": "Leak", "score": "7", "Cost": "1"}, {"Note": "x", "label": "", "Cost": "2"}]
    frame = pandas.DataFrame(rows)
    path, output = tmp_path / f"new{suffix}", tmp_path / f"out{suffix}"
    {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".xlsx": lambda: frame.to_excel(path, index=False),
        ".parquet": lambda: frame.to_parquet(path),
    }[suffix]()
    assert predict(local.load("reports", tmp_path), str(path), str(output), append=True) == 2
    read = {".csv": pandas.read_csv, ".xlsx": pandas.read_excel, ".parquet": pandas.read_parquet}
    found = read[suffix](output) if suffix in read else pandas.read_json(output, lines=True)
    assert list(found)[:4] == ["Note", "target", "input.score", "Cost"]
    assert list(found["Note"]) == [row["Note"] for row in rows]
    assert list(found["label"]) == ["Leak", "Électronique"] and found["target"][0] == "Leak"


# Numbers.

FILES = {
    "new.tsv": "job\thours-per-week\tage\tid\nclerk\t 40 \t39\ta\n\t?\t1e1\tb\n",
    "new.csv": 'id,age,hours-per-week,job\na,39,40,clerk\nb,"10",NA,\n',
    "new.jsonl": '{"age": 39, "hours-per-week": 40.0, "job": "clerk"}\n'
    '{"age": "10", "hours-per-week": null, "job": ""}\n',
}


@pytest.fixture(scope="module")
def hours(models):
    return local.load("timed", models)


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_read_from_any_kind_of_file(hours, tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    assert predict(hours, str(tmp_path / name), str(tmp_path / "out.jsonl")) == 2
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["told"] for line in lines] == ["clerk 79.0", " 10.5"]
    assert {"age", "hours-per-week", "job", "told"} == set(lines[0]) - {"id"}


@pytest.mark.parametrize(("column", "name"), [("customer", "new.csv"), ("id", "new.csv"), ("customer", "new.jsonl")])
def test_predictions_have_the_identifiers_of_their_rows(models, tmp_path, column, name):
    shutil.copytree(models / "timed", tmp_path / "timed")
    (tmp_path / "timed/1/assets.extra").mkdir()
    names = {name: name for name in ("age", "hours-per-week", "job")}
    TrainingFile(names, id="customer").write(tmp_path / "timed/1/assets.extra/source.json")
    cells = {"age": "1", "hours-per-week": "2", "job": "a", column: "0042"}
    text = json.dumps(cells) if name.endswith("jsonl") else "\n".join(map(",".join, (cells, cells.values())))
    (tmp_path / name).write_text(f"{text}\n")
    predict(local.load("timed", tmp_path), str(tmp_path / name), str(tmp_path / "out.jsonl"))
    [line] = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert list(line.items())[0] == ("id", "0042") and line["told"] == "a 3.0"


@pytest.mark.parametrize("text", ["forty", "1,5", "1_000", "0x10", "inf", "1e400", "-"])
@pytest.mark.parametrize("batch_size", [1, 32])
def test_what_is_no_number_is_named_with_file_line_and_column(hours, tmp_path, text, batch_size):
    path = tmp_path / "new.tsv"
    path.write_text(f"age\thours-per-week\tjob\n1\t2\ta\n1\t{text}\tb\n1\t2\tc\n")
    with pytest.raises(DataError) as caught:
        predict(hours, str(path), str(tmp_path / "out.jsonl"), batch_size=batch_size)
    assert str(caught.value).splitlines()[0] == (
        f"{path}:3: the column `hours-per-week` holds no finite number: expected a number or '' or '?' or 'NA' or "
        f"'nan', received {text!r}"
    )
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("told") for line in lines] == ["a 3.0", None, "c 3.0"] and lines[1]["hours-per-week"] == text


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_row_that_the_model_refuses_is_found_in_its_batch(hours, tmp_path, batch_size):
    path = tmp_path / "new.csv"
    path.write_text("age,hours-per-week,job\n" + "1,2,a\n" * 4 + "1e30,2,b\n" + "1,2,c\n" * 3)
    with pytest.raises(DataError, match=r"new.csv:6: the model refuses the row: received `age` is no finite number\n"):
        predict(hours, str(path), str(tmp_path / "out.jsonl"), batch_size=batch_size)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert ["told" in line for line in lines] == [True] * 4 + [False] + [True] * 3


def test_what_counts_as_missing_comes_with_the_export(models, tmp_path):
    shutil.copytree(models / "timed", tmp_path / "timed")
    (tmp_path / "timed/1/assets.extra").mkdir()
    names = {"age": "age", "hours-per-week": "hours", "job": "job"}
    TrainingFile(names, missing=("-",)).write(tmp_path / "timed/1/assets.extra/source.json")
    (tmp_path / "new.csv").write_text("age,hours,job\n1, - ,a\n1,,b\n")
    with pytest.raises(
        DataError, match="new.csv:3: the column `hours-per-week` .* expected a number or '-', received ''"
    ):
        predict(local.load("timed", tmp_path), str(tmp_path / "new.csv"), str(tmp_path / "out.jsonl"))
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["told"] == "a 1.5"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"age": true, "hours-per-week": 1, "job": ""}', "new.jsonl:1: the column `age` holds no finite number"),
        ('{"age": 1, "hours-per-week": [1], "job": ""}', "new.jsonl:1: the value of 'hours-per-week' is nested"),
        ('{"age": 1, "hours-per-week": Infinity, "job": ""}', "new.jsonl:1: the column `hours-per-week` holds no"),
        ('{"age": 1, "job": ""}', "new.jsonl:1: there is no column for the input `hours-per-week`"),
    ],
)
def test_what_json_may_not_hold_for_a_number(hours, tmp_path, line, message):
    (tmp_path / "new.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        predict(hours, str(tmp_path / "new.jsonl"), str(tmp_path / "out.jsonl"))
