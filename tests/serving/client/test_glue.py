"""What is sent in to GLUE: a number and a prediction for each row of a test file, as it comes."""

import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import glue, local


class Number:
    """A model of pairs that predicts a number."""

    trained_on, writes_text = TrainingFile(columns={"text_a": "1", "text_b": "2"}), False
    numeric = files = frozenset()

    def predict(self, rows):
        return [{"prediction": float(row["text_b"])} for row in rows]


@pytest.fixture
def test_file(tmp_path):
    def write(*rows):
        path = tmp_path / "test.tsv"
        path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return write


def test_labels_are_written_by_name(models, test_file, tmp_path):
    path = test_file(("index", "sentence"), ("0", 'no "quotes'), ("1", "short"), ("2", "a long sentence"))
    written = glue.write(local.load("reports", models), "SST-2", path, tmp_path / "glue")
    assert written == tmp_path / "glue" / "SST-2.tsv"
    assert written.read_text() == "index\tprediction\n0\tLeak\n1\tÉlectronique\n2\tLeak\n"


def test_numbers_are_clipped_to_their_range(test_file, tmp_path):
    header = ("index", "genre", "sentence1", "sentence2")
    path = test_file(header, ("0", "", "a", "-0.2"), ("1", "", "b", "3.14159"), ("2", "", "c", "5.01"))
    written = glue.write(Number(), "STS-B", path, tmp_path)
    assert written.read_text() == "index\tprediction\n0\t0.000\n1\t3.142\n2\t5.000\n"


def test_a_model_of_another_task_is_refused(models, test_file, tmp_path):
    reports, path = local.load("reports", models), test_file(("index", "sentence1", "sentence2"), ("0", "a", "1"))
    with pytest.raises(ConfigError, match="not trained on RTE: expected one that reads text_a and text_b, received"):
        glue.write(reports, "RTE", path, tmp_path)
    with pytest.raises(ConfigError, match="not trained on RTE: expected one that predicts label, received one that p"):
        glue.write(Number(), "RTE", path, tmp_path)
    assert not (tmp_path / "RTE.tsv").exists()


def test_a_file_of_another_task_lacks_a_column(models, test_file, tmp_path):
    with pytest.raises(DataError, match=r"test.tsv:1: there is no column for the input `text`: expected sentence"):
        glue.write(local.load("reports", models), "CoLA", test_file(("index", "question"), ("0", "a")), tmp_path)


def test_a_misspelt_task_is_corrected(command):
    answer = command("glue", "MNLI", "nothing", "--input", "test.tsv")
    assert answer.status == 2 and "GLUE has no such task" in answer.errors and "Did you mean `MNLI-m" in answer.errors
