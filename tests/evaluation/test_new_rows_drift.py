"""Drift of a file of new rows: inputs and predictions, the exit status, and files that do not fit."""

import csv

import pytest

from tfattn import files
from tfattn.data.preparation.input_statistics import Histogram
from tfattn.errors import ConfigError, DataError
from tfattn.evaluation import drift, new_rows_drift
from tfattn.evaluation.new_rows_drift import measure_drift
from tfattn.files.manifests import CHECKSUM


@pytest.fixture
def inside(finished, tmp_path, monkeypatch):
    """The folder of a finished run, entered; results go elsewhere."""
    monkeypatch.chdir(finished[0])
    return tmp_path


def texts():
    with open("reports.csv", encoding="utf-8-sig", newline="") as file:
        return [row["Description"] for row in csv.DictReader(file)]


def write(path, values, column="Description"):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([[column], *([value] for value in values)])
    return path


def test_rows_of_the_training_file_have_no_drift(inside, command):
    same = write(inside / "same.csv", texts()[::2])
    answer = command("drift", "tiny", same, "--output", inside / "out", "--fail")
    assert answer.status == 0, answer.errors
    assert "No drift is found." in answer.errors and "text: unknown words" in answer.output
    found = files.read_json(inside / "out/drift.json")
    assert not found["drift"] and found["rows"] == len(texts()[::2])
    assert set(found["inputs"]) == {"text", "text: unknown words"}
    assert set(found["predictions"]) == {"predicted label", "score of the predicted label"}
    labels = found["predictions"]["predicted label"]
    assert sum(labels["new_counts"]) == found["rows"]
    assert "Drift of the predictions" in (inside / "out/report.html").read_text()


def test_other_words_are_drift_and_a_status(inside, command):
    words = ["The weather is lovely in Vienna today, and cats sleep well."] * 40
    answer = command("drift", "tiny", write(inside / "other.csv", words), "--output", inside / "out", "--fail")
    assert answer.status == 3 and "text: unknown words" in answer.errors
    assert command("drift", "tiny", inside / "other.csv", "--output", inside / "out").status == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Other\nabc\n", "there is no column for the input `text`: expected Description"),
        ("Description\n", "the file holds a header but no rows"),
        ("", "the file is empty"),
    ],
)
def test_a_file_that_does_not_fit_is_one_message(inside, command, content, message):
    (inside / "bad.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        measure_drift("tiny", inside / "bad.csv", output=inside / "out")
    answer = command("drift", "tiny", inside / "bad.csv", "--output", inside / "out")
    assert answer.status == 1 and answer.errors.count("error: ") == 1 and not (inside / "out").exists()


def change_statistics(folder, change):
    """Write the statistics of an export again as `change` returns them; None for no file."""
    [version] = folder.glob("saved_models/tiny/*")
    path, manifest = version / "assets.extra/statistics.json", files.read_json(version / "manifest.json")
    changed = change(files.read_json(path))
    path.unlink()
    entry = manifest["files"].pop("assets.extra/statistics.json")
    if changed is not None:
        files.write_json(path, changed)
        entry |= {"size": path.stat().st_size, "sha256": files.sha256(path)}
        manifest["files"]["assets.extra/statistics.json"] = entry
    del manifest[CHECKSUM]
    files.write_json(version / "manifest.json", manifest | {CHECKSUM: files.digest(manifest)})


def test_an_export_without_histograms_names_the_remedy(trained):
    change_statistics(trained, lambda statistics: None)
    with pytest.raises(ConfigError, match="no histograms of its training rows.*export it again"):
        measure_drift("tiny", "reports.csv", output="out")


def test_an_export_of_an_earlier_version_is_compared_by_inputs(trained):
    earlier = ("rows", "inputs", "missing", "targets")
    change_statistics(trained, lambda statistics: {name: statistics[name] for name in earlier})
    found = measure_drift("tiny", "reports.csv", output="out")
    assert [one.name for one in found.inputs] == ["text"] and found.predictions == []


def test_hostile_names_and_values_are_escaped(tmp_path, capsys):
    old = Histogram.learn("category", ["<b>town</b>"] * 50)
    drifts = drift.of_histograms({"<script>": (old, old.of(["<script>"] * 50))})
    found = new_rows_drift.write(drifts, drifts, tmp_path, title="<script>", rows=50, flags={})
    page = found.report.read_text()
    assert found.is_drift and "<script>" not in page and "<b>town" not in page and "&lt;b&gt;town" in page
    assert "<script>" in capsys.readouterr().out
