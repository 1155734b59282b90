"""Prepare: raw files in, one whole folder out; what is wrong is located and leaves what stood there untouched."""

import json

import pytest

from tfattn import files
from tfattn.data.batching import Batching
from tfattn.data.csv_files import CsvFile
from tfattn.data.prepare import prepare
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.split import Split
from tfattn.errors import DataError

ROWS = [
    (f"report {number} " + "very " * (number % 4) + "loud", "noise" if number % 3 else "leak") for number in range(30)
]


@pytest.fixture
def table(tmp_path):
    def write(rows, name="reports.csv", header="text,label"):
        path = tmp_path / name
        path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
        return CsvFile(path=str(path), fields={column: column for column in header.split(",")})

    return write


@pytest.fixture
def section(words):
    def build(source, *, preprocessing=None, split=None, **parts):
        preprocessing = preprocessing or words()
        return Data(
            source=source, preprocessing=preprocessing, batching=Batching(batch_size=4), split=split or Split(), **parts
        )

    return build


def read(folder, split):
    """What a reader gives, by record number."""
    reader = Reader(folder, split, batching=Batching(batch_size=4), seed=0, shuffle=False)
    rows = {}
    for batch in reader.dataset(0).as_numpy_iterator():
        for place, row in enumerate(batch["row_ids"]):
            mask = batch["padding_mask"][place]
            tokens = batch["token_ids"][place][mask].tolist(), batch["segment_ids"][place][mask].tolist()
            rows[int(row)] = (*tokens, int(batch["label_ids"][place]))
    return [rows[number] for number in range(len(rows))]


def test_records_hold_the_rows_of_the_file(table, section, tmp_path):
    data = section(table(ROWS), split=Split(validation=0.2, test=0.1))
    prepare(data, tmp_path / "prepared", seed=3)
    manifest = files.verify(tmp_path / "prepared")
    labels = manifest["labels"]
    assert labels == ["leak", "noise"] == (tmp_path / "prepared/labels.txt").read_text().split()
    assert {split: facts["rows"] for split, facts in manifest["splits"].items()} == {
        "train": 21,
        "validation": 6,
        "test": 3,
    }
    assert manifest["splits"]["train"]["class_counts"] == [7, 14]
    assert list(manifest["sources"]) == ["source"]
    known = ["?", *data.preprocessing.words]

    def text(tokens):
        return " ".join(known[token] for token in tokens)

    train = [(text(tokens), labels[label]) for tokens, _, label in read(tmp_path / "prepared", "train")]
    measured = []
    for split in ("validation", "test"):
        raw = [json.loads(line) for line in (tmp_path / "prepared" / f"{split}.jsonl").read_text().splitlines()]
        measured += [(row["text"], row["label"]) for row in raw]
        for row, (tokens, _, label) in zip(raw, read(tmp_path / "prepared", split), strict=True):
            words_of_row = [word if word in known else "?" for word in row["text"].split()]
            assert (text(tokens).split(), labels[label]) == (words_of_row, row["label"])
    assert sorted(train + measured) == sorted(ROWS)


def test_the_same_seed_gives_the_same_records_and_another_does_not(table, section, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        prepare(section(table(ROWS)), tmp_path / name, seed=seed)
    first, again, other = (files.read_manifest(tmp_path / name) for name in "abc")
    assert first == again
    assert first["files"]["validation.jsonl"] != other["files"]["validation.jsonl"]
    assert first["preprocessing"]["sha256"] != other["preprocessing"]["sha256"]


def test_training_records_of_a_sorted_file_are_mixed(table, section, tmp_path):
    prepare(section(table(sorted(ROWS, key=lambda row: row[1]))), tmp_path / "prepared", seed=3)
    labels = [label for _, _, label in read(tmp_path / "prepared", "train")]
    assert labels != sorted(labels)


def test_incomplete_rows_are_left_out_and_long_ones_cut_and_both_are_counted(table, section, tmp_path):
    rows = [*ROWS, ("", "noise"), ("quiet", " "), ("word " * 20, "leak"), ("word " * 21, "noise")]
    prepare(section(table(rows), split=Split(validation=0.2)), tmp_path / "prepared", seed=3)
    summary = json.loads((tmp_path / "prepared/summary.json").read_text())
    places = {name: finding["first"] for name, finding in summary["missing"].items()}
    assert places == {"text": [f"{tmp_path}/reports.csv:32"], "label": [f"{tmp_path}/reports.csv:33"]}
    assert sum(finding["rows"] for finding in summary["truncated"].values()) == 2
    manifest = files.read_manifest(tmp_path / "prepared")
    assert sum(facts["truncated"] for facts in manifest["splits"].values()) == 2
    assert sum(summary["rows"].values()) == 32
    assert (
        max(len(tokens) for split in ("train", "validation") for tokens, _, _ in read(tmp_path / "prepared", split))
        == 8
    )


def test_pairs_of_texts_are_read(table, section, words, tmp_path):
    rows = [(f"a{number}", "b b", "yes" if number % 2 else "no") for number in range(10)]
    source = table(rows, header="text_a,text_b,label")
    prepare(section(source, preprocessing=words(fields=("text_a", "text_b"))), tmp_path / "prepared", seed=3)
    assert {tuple(segments) for _, segments, _ in read(tmp_path / "prepared", "train")} == {(0, 1, 1)}


def test_validation_rows_of_their_own_file(table, section, tmp_path):
    validation = table([("never heard", "leak"), ("loud", "noise")], "validation.csv")
    prepare(section(table(ROWS), validation_source=validation), tmp_path / "prepared", seed=3)
    manifest = files.read_manifest(tmp_path / "prepared")
    assert [(split, facts["rows"]) for split, facts in manifest["splits"].items()] == [("train", 30), ("validation", 2)]
    assert list(manifest["sources"]) == ["source", "validation_source"]
    assert [label for _, _, label in read(tmp_path / "prepared", "validation")] == [0, 1]


def test_what_is_wrong_is_located_and_nothing_is_written(table, section, tmp_path):
    def refused(rows, message, **parts):
        with pytest.raises(DataError, match=message):
            prepare(section(table(rows), **parts), tmp_path / "prepared", seed=3)
        assert {path.suffix for path in tmp_path.iterdir()} == {".csv"}

    unseen = table([("loud", "noise"), ("wet", "lake")], "validation.csv")
    message = r"validation.csv:3: a label that no training row has: .* received 'lake'. Did you mean `leak`"
    refused(ROWS, message, validation_source=unseen)
    refused([*ROWS, ("wet", "lake")], "reports.csv:32: the class 'lake' has one row")
    refused([("", "a"), ("b", "")], "no row is complete: .* received 1 rows without text, 1 rows without label")
    refused([("a", "x"), ("b", "x")], "nothing to tell apart")


def test_an_error_leaves_what_stood_there(table, section, words, tmp_path):
    prepare(section(table(ROWS)), tmp_path / "prepared", seed=3)
    before = files.verify(tmp_path / "prepared")

    class Full(words):
        def save(self, folder):
            raise DataError("no more")

    with pytest.raises(DataError, match="no more"):
        prepare(section(table(ROWS[::-1]), preprocessing=Full()), tmp_path / "prepared", seed=3)
    assert files.verify(tmp_path / "prepared") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepared", "reports.csv"]


def test_raw_rows_stand_in_the_order_of_the_records(table, section, tmp_path, monkeypatch):
    monkeypatch.setattr("tfattn.data.prepare.ROWS_AT_ONCE", 4)
    prepare(section(table(ROWS)), tmp_path / "prepared", seed=3)
    raw = [json.loads(line)["label"] for line in (tmp_path / "prepared/validation.jsonl").read_text().splitlines()]
    labels = files.read_manifest(tmp_path / "prepared")["labels"]
    assert [labels[label] for _, _, label in read(tmp_path / "prepared", "validation")] == raw
