"""Every registered format is read by the same class in training and prediction."""

import pytest

from tfattn import registry
from tfattn.errors import DataError
from tfattn.formats.file_formats import FILE_FORMATS, INPUT_KINDS
from tfattn.formats.source import Source
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import input_rows

SENTENCES = "-DOCSTART- O\n\nBonn B-LOC\nlies O\n\nIn O\nPeru B-LOC\n"
QUESTIONS = """{"data": [{"title": "t", "paragraphs": [{"context": "Bonn lies here.", "qas": [
    {"question": "Where?", "id": 1, "answers": [{"text": "here", "answer_start": 10}]},
    {"question": "What?", "id": 2, "answers": [{"text": "Bonn", "answer_start": 0}]}]}]}]}"""


def write_parquet(path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"Report": "a", "Cost": 1.5, "Kind": "x"}, {"Report": None, "Cost": 2.0, "Kind": "y"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def write_excel(path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Report", "Cost", "Kind"], ["a", 1.5, "x"], [None, 2.0, "y"]):
        book.active.append(row)
    book.save(path.with_suffix(".xlsx"))
    path.with_suffix(".xlsx").rename(path)


# Of each format a file, the settings of its source, and which fields are inputs of a model.
FILES = {
    "conll": ("eng.testa", SENTENCES, {"fields": {"text": 1, "tags": 2}}, {"text": "1"}),
    "csv": ("a.csv", "Report;Kind\na;x\nb;y\n", {"fields": {"text": "Report"}, "delimiter": ";"}, {"text": "Report"}),
    "excel": (
        "a.xls",
        write_excel,
        {"fields": {"text": "Report", "cost": "Cost"}},
        {"text": "Report", "cost": "Cost"},
    ),
    "jsonl": ("a.json", '{"Report": "a"}\n{"Report": "b"}\n', {"fields": {"text": "Report"}}, {"text": "Report"}),
    "parquet": (
        "a.pq",
        write_parquet,
        {"fields": {"text": "Report", "cost": "Cost"}},
        {"text": "Report", "cost": "Cost"},
    ),
    "squad": ("dev.json", QUESTIONS, {}, {"question": "question", "context": "context"}),
}


@pytest.fixture
def opened(tmp_path):
    """Writes the file of a format; returns its source, and what an export keeps of it."""

    def opened(name):
        file, content, options, columns = FILES[name]
        path = tmp_path / file
        content(path) if callable(content) else path.write_text(content)
        source = registry.find("sources", name)(path=str(path), **options)
        return source, TrainingFile(columns, suffix=source.path.suffix.lower(), format=source.format)

    return opened


def test_every_format_has_a_test_file():
    assert FILES.keys() == FILE_FORMATS.keys()


@pytest.mark.parametrize("name", FILES)
def test_predictions_read_what_training_reads(opened, tmp_path, name):
    source, trained_on = opened(name)
    assert isinstance(source, Source) and source.format.kind == name
    trained_on.write(tmp_path / "source.json")
    kept = TrainingFile.read(tmp_path / "source.json", remedy="")
    trained = [{name: row.fields[name] for name in kept.columns} for row in source.rows()]
    assert [row.fields for row in input_rows.read(str(source.path), kept)] == trained and trained


@pytest.mark.parametrize("name", ["conll", "squad", "parquet", "excel"])
def test_a_file_of_an_unknown_suffix_is_of_the_format_that_trained_the_model(opened, name):
    source, trained_on = opened(name)
    other = source.path.rename(source.path.with_suffix(".other"))
    assert all(not row.problem for row in input_rows.read(str(other), trained_on))
    assert [row.fields for row in input_rows.read(str(other), trained_on, kind=name)]
    with pytest.raises(DataError, match="cannot be read from standard input"):
        list(input_rows.read("-", trained_on, kind=name))


def test_prediction_needs_only_inputs(tmp_path, opened):
    _, of_words = opened("conll")
    (tmp_path / "words.testb").write_text("Bonn\nlies\n\nHere\n")
    assert [row.fields["text"] for row in input_rows.read(str(tmp_path / "words.testb"), of_words)] == [
        "Bonn lies",
        "Here",
    ]
    _, of_questions = opened("squad")
    (tmp_path / "test.json").write_text(QUESTIONS.replace('"answers"', '"others"'))
    assert [row.fields["question"] for row in input_rows.read(str(tmp_path / "test.json"), of_questions)] == [
        "Where?",
        "What?",
    ]


def test_a_model_reads_other_formats_with_its_inputs(opened):
    source, _ = opened("conll")
    rows = list(input_rows.read(str(source.path), TrainingFile({"text": "Report"}), kind="conll"))
    assert [row.fields["text"] for row in rows] == ["Bonn lies", "In Peru"]
    with pytest.raises(DataError, match="the format conll has no such input: expected text, received text_a, text_b"):
        list(input_rows.read(str(source.path), TrainingFile({"text_a": "a", "text_b": "b"}), kind="conll"))


def test_prediction_from_an_unsupported_source_is_refused(tmp_path):
    (tmp_path / "dump.xml").write_text("<a/>")
    with pytest.raises(DataError, match="dump.xml: rows of the training file's format cannot be read"):
        list(input_rows.read(str(tmp_path / "dump.xml"), TrainingFile({"text": "text"}, suffix=".xml")))


def test_suffixes_belong_to_one_format():
    suffixes = [suffix for format in FILE_FORMATS.values() for suffix in format.suffixes]
    assert len(set(suffixes)) == len(suffixes) and set(INPUT_KINDS) >= set(suffixes)
