"""Preparation: one complete folder; errors are located and leave existing files unchanged."""

import functools
import json
import shutil
import subprocess
import sys

import pytest

from tests.data.small_parts import prepared as small_prepared
from tests.data.small_parts import section as small_section
from tests.data.small_parts import write
from tfattn import files
from tfattn.data.batching import Batching
from tfattn.data.engines.local_engine import Local
from tfattn.data.examples.answer_targets import REMARKS, Answers
from tfattn.data.examples.answer_windows import AnswerWindows
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.examples import Examples
from tfattn.data.preparation import prepare as preparing
from tfattn.data.preparation.prepare import prepare
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.split_config import Split
from tfattn.errors import DataError, TfattnError
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.jsonl_files import JsonLinesFile
from tfattn.preprocessing.table import TableColumns
from tfattn.preprocessing.wordpiece import WordPiece

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
        parts = {"targets": Classes(), "examples": Examples(), "split": split or Split()} | parts
        return Data(source=source, preprocessing=preprocessing, batching=Batching(batch_size=4), **parts)

    return build


def read(folder, split):
    """What a reader gives, by record number."""
    reader = Reader(folder, split, batching=Batching(batch_size=4), seed=0, shuffle=False)
    rows = {}
    for batch in reader.dataset(0).as_numpy_iterator():
        for place, row in enumerate(batch["record_ids"]):
            mask = batch["padding_mask"][place]
            tokens = batch["token_ids"][place][mask].tolist(), batch["segment_ids"][place][mask].tolist()
            rows[int(row)] = (*tokens, int(batch["label_ids"][place]))
    return [rows[number] for number in range(len(rows))]


def test_records_have_the_rows_of_the_file(table, section, tmp_path):
    data = section(table(ROWS), split=Split(validation=0.2, test=0.1))
    prepare(data, tmp_path / "prepared", seed=3)
    manifest = files.verify(tmp_path / "prepared")
    assert manifest["targets"] == {"labels": ["leak", "noise"], "counts": [7, 14]}
    labels = manifest["targets"]["labels"]
    assert {split: facts["rows"] for split, facts in manifest["splits"].items()} == {
        "train": 21,
        "validation": 6,
        "test": 3,
    }
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


def test_records_depend_on_the_seed(table, section, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        prepare(section(table(ROWS)), tmp_path / name, seed=seed)
    first, again, other = (files.read_manifest(tmp_path / name) for name in "abc")
    assert first == again
    assert first["files"]["validation.jsonl"] != other["files"]["validation.jsonl"]
    assert first["preprocessing"] != other["preprocessing"]


def test_few_rows_are_prepared_in_the_calling_process(table, section, tmp_path):
    def make():
        raise AssertionError("another process was started")

    prepare(section(table(ROWS), engine=Local(processes=2)), tmp_path / "prepared", seed=3, make=make)
    assert files.verify(tmp_path / "prepared")["splits"]["train"]["rows"]


def test_training_records_of_a_sorted_file_are_mixed(table, section, tmp_path):
    prepare(section(table(sorted(ROWS, key=lambda row: row[1]))), tmp_path / "prepared", seed=3)
    labels = [label for _, _, label in read(tmp_path / "prepared", "train")]
    assert labels != sorted(labels)


def test_incomplete_rows_are_excluded_and_long_rows_cut_with_counts(table, section, tmp_path):
    rows = [*ROWS, ("", "noise"), ("quiet", " "), ("calm", "-"), ("word " * 20, "leak"), ("word " * 21, "noise")]
    data = section(table(rows), split=Split(validation=0.2), missing={"label": ["-"]})
    prepare(data, tmp_path / "prepared", seed=3)
    summary = json.loads((tmp_path / "prepared/summary.json").read_text())
    places = {name: finding["first"] for name, finding in summary["missing"].items()}
    assert places == {
        "text": [f"{tmp_path}/reports.csv:32"],
        "label": [f"{tmp_path}/reports.csv:{line}" for line in (33, 34)],
    }
    assert sum(finding["rows"] for finding in summary["truncated"].values()) == 2
    manifest = files.read_manifest(tmp_path / "prepared")
    assert sum(facts["truncated"] for facts in manifest["splits"].values()) == 2
    assert sum(summary["rows"].values()) == 32
    assert (
        max(len(tokens) for split in ("train", "validation") for tokens, _, _ in read(tmp_path / "prepared", split))
        == 8
    )


def test_misplaced_answers_are_counted_and_windows_are_records(section, tmp_path):
    rows = [
        {"question": "who", "context": f"one two three {number} five Rome", "answers": [{"text": "Rome", "start": 21}]}
        for number in range(8)
    ]
    rows[3]["answers"][0]["start"] = 4
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = {name: name for name in rows[0]}
    preprocessing = WordPiece(fields=("question", "context"), max_length=9, doc_stride=2, max_query_length=1)
    data = section(
        JsonLinesFile(path=str(path), fields=fields),
        preprocessing=preprocessing,
        targets=Answers(),
        examples=AnswerWindows(),
        split=Split(validation=0.25),
    )
    prepare(data, tmp_path / "prepared", seed=3)
    summary = json.loads((tmp_path / "prepared/summary.json").read_text())
    assert summary["remarks"] == {REMARKS["find"]: {"rows": 1, "first": [f"{path}:4"]}}
    assert files.read_manifest(tmp_path / "prepared")["splits"]["train"]["records"] > 6
    reader = Reader(tmp_path / "prepared", "train", batching=Batching(batch_size=4), seed=0, shuffle=False)
    assert {"start_positions", "end_positions"} <= set(reader.targets) and "starts" in reader.inputs
    found = [batch["start_positions"] for batch in reader.dataset(0).as_numpy_iterator()]
    assert sum((positions > 0).sum() for positions in found) >= 6, "each row has a window with its answer"


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


def test_errors_are_located_and_nothing_is_written(table, section, tmp_path):
    def refused(rows, message, **parts):
        with pytest.raises(DataError, match=message):
            prepare(section(table(rows), **parts), tmp_path / "prepared", seed=3)
        assert {path.suffix for path in tmp_path.iterdir()} == {".csv"}

    unseen = table([("loud", "noise"), ("wet", "lake")], "validation.csv")
    message = (
        r"validation.csv:3: a label that no training row has: .* received 'lake'. Did you mean `leak`\? "
        "Add rows of this class to `source`, or take them out of `validation_source`."
    )
    refused(ROWS, message, validation_source=unseen)
    priced = [(text, f"{number}.5") for number, (text, _) in enumerate(ROWS)]
    refused(priced, "reports.csv: the column of the label seems to hold numbers.*30 different values in 30 rows")
    refused([*ROWS, ("wet", "lake")], "reports.csv:32: the class 'lake' has one row")
    refused([("", "a"), ("b", "")], "no row is complete: .* received 1 rows without text, 1 rows without label")
    refused([("a", "x"), ("b", "x")], "fewer than two classes")


def test_an_empty_text_is_located(section, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "loud", "label": "noise"}\n{"text": ["wet"], "label": "leak"}\n')
    source = JsonLinesFile(path=str(path), fields={"text": "text", "label": "label"})
    with pytest.raises(
        DataError, match=r'rows.jsonl:2: the value of `text` is nested: expected text, received \["wet"\]'
    ):
        prepare(section(source), tmp_path / "prepared", seed=3)


def test_an_error_keeps_existing_files(table, section, words, tmp_path):
    prepare(section(table(ROWS)), tmp_path / "prepared", seed=3)
    before = files.verify(tmp_path / "prepared")

    class Full(words):
        def save(self, folder):
            raise DataError("no more")

    with pytest.raises(DataError, match="no more"):
        prepare(section(table(ROWS[::-1]), preprocessing=Full()), tmp_path / "prepared", seed=3)
    assert files.verify(tmp_path / "prepared") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepared", "reports.csv"]


def test_raw_rows_are_in_the_order_of_the_records(table, section, tmp_path, monkeypatch):
    monkeypatch.setattr("tfattn.data.preparation.scatter.MAX_BATCH_ROWS", 4)
    prepare(section(table(ROWS)), tmp_path / "prepared", seed=3)
    raw = [json.loads(line)["label"] for line in (tmp_path / "prepared/validation.jsonl").read_text().splitlines()]
    labels = files.read_manifest(tmp_path / "prepared")["targets"]["labels"]
    assert [labels[label] for _, _, label in read(tmp_path / "prepared", "validation")] == raw


def test_unknown_values_are_counted_in_each_split(table, section, tmp_path, monkeypatch):
    monkeypatch.setattr("tfattn.data.preparation.scatter.MAX_BATCH_ROWS", 2)
    validation = table([("report 1 is quite loud", "leak"), ("very quite new one", "noise")], "validation.csv")
    words = WordPiece(vocabulary_size=400)
    prepare(section(table(ROWS), preprocessing=words, validation_source=validation), tmp_path / "prepared", seed=3)
    found = json.loads((tmp_path / "prepared/summary.json").read_text())["unknown"]["text"]
    assert found["train"]["unknown"] == 0 and found["train"]["counted"] > 90
    assert found["validation"] | {"counted": None, "fraction": None} == {
        "counted": None, "unknown": 5, "fraction": None, "most_frequent": {"quite": 2, "is": 1, "new": 1, "one": 1},
    }  # fmt: skip
    assert found["validation"]["fraction"] == round(5 / found["validation"]["counted"], 4)


@pytest.mark.parametrize("counts", [False, True])
def test_a_preprocessor_fits_a_sample_unless_it_needs_all_rows(counts, table, section, words, tmp_path, monkeypatch):
    monkeypatch.setattr("tfattn.data.preparation.fitting.MAX_FITTED", 7)
    learned = []

    class Watched(words):
        fits_on_all_rows = counts

        def fit(self, rows):
            learned.extend(rows)
            super().fit(learned)

    prepare(section(table(ROWS), preprocessing=Watched()), tmp_path / "prepared", seed=3)
    assert len(learned) == (files.verify(tmp_path / "prepared")["splits"]["train"]["rows"] if counts else 7)


def test_long_texts_are_encoded_a_few_at_a_time(table, section, words, tmp_path, monkeypatch):
    monkeypatch.setattr("tfattn.data.preparation.scatter.MAX_BATCH_CHARACTERS", 60)
    sizes = []

    class Watched(words):
        def __call__(self, fields):
            sizes.append(sum(map(len, fields["text"].numpy())))
            return super().__call__(fields)

    rows = [*ROWS, ("loud " * 20, "noise"), ("wet " * 30, "leak")]
    prepare(section(table(rows), preprocessing=Watched()), tmp_path / "prepared", seed=3)
    assert sorted(sizes)[-2:] == [100, 120]  # alone, because longer than the limit
    assert all(size <= 60 for size in sorted(sizes)[:-2])
    assert sum(files.verify(tmp_path / "prepared")["splits"][split]["rows"] for split in ("train", "validation")) == 32


PEOPLE = [
    (f"person {number // 2}", "abc"[number % 3], str(20 + number), f"{number / 4}", "yn"[number % 2])
    for number in range(36)
]
HEADER = "person,panel,age,score,label"


@pytest.fixture
def people(tmp_path):
    """The section of a table of people, whose columns `age` and `score` are read."""

    def build(rows=PEOPLE, *, name="people.csv", **options):
        path = tmp_path / name
        path.write_text("\n".join([HEADER, *(",".join(row) for row in rows)]) + "\n")
        source = CsvFile(path=str(path), fields={"label": "label", "person": "person", "panel": "panel"})
        table = TableColumns(numeric=("age", "score"))
        parts = {"preprocessing": table, "targets": Classes(), "examples": Examples()}
        return Data(source=source, batching=Batching(batch_size=4), **parts | options)

    return build


def changed(number, column, value):
    """The people with one field as it should not be, or as it is seldom."""
    rows = [list(row) for row in PEOPLE]
    rows[number][HEADER.split(",").index(column)] = value
    return rows


def raw(folder, split):
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]


def test_a_table_is_read_by_the_names_of_its_columns(people, tmp_path):
    prepare(people(split=Split()), tmp_path / "prepared", seed=3)
    manifest = files.verify(tmp_path / "prepared")
    assert manifest["features"].keys() >= {"numeric", "missing", "label_ids"}
    assert manifest["features"]["numeric"]["shape"] == [2]
    assert manifest["targets"]["labels"] == ["n", "y"]
    summary = json.loads((tmp_path / "prepared/summary.json").read_text())
    assert "tokens" not in summary
    assert raw(tmp_path / "prepared", "validation")[0].keys() == {"row", "label", "person", "panel", "age", "score"}


def test_a_number_may_be_missing_and_a_label_may_not(people, tmp_path):
    rows = changed(4, "score", "")
    rows[7][-1] = " "
    prepare(people(rows, split=Split()), tmp_path / "prepared", seed=3)
    summary = json.loads((tmp_path / "prepared/summary.json").read_text())
    assert sum(summary["rows"].values()) == 35
    assert summary["missing"] == {"label": {"rows": 1, "first": [f"{tmp_path}/people.csv:9"]}}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(4, "age", "old"), r"people.csv:6: the column `age` holds no finite number: .* received 'old'"),
        (changed(5, "score", "1e999"), r"people.csv:7: the column `score` holds no finite number"),
        (
            changed(0, "label", "maybe"),
            r"people.csv:2: not a label of `data.targets.labels`: expected one of n, y, received 'maybe'",
        ),
        ([*PEOPLE, PEOPLE[0][:4]], r"people.csv:38: the row is ragged: expected 5 fields, received 4"),
        ([(*row[:3], "1", row[4]) for row in PEOPLE], r"the column `score` is constant: .* received 1 in all \d+ rows"),
    ],
)
def test_table_errors_are_a_single_message_and_nothing_is_written(people, tmp_path, rows, message):
    with pytest.raises(DataError, match=message):
        prepare(people(rows, split=Split(), targets=Classes(labels=["n", "y"])), tmp_path / "prepared", seed=3)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_missing_column_is_named(people, tmp_path):
    data = people(preprocessing=TableColumns(numeric=("ages",)), split=Split())
    with pytest.raises(DataError, match=r"people.csv:1: there is no column for `ages`.*Did you mean `age`"):
        prepare(data, tmp_path / "prepared", seed=3)


def test_scales_are_learned_only_from_training_rows(people, tmp_path):
    def table(rows):
        prepare(people(rows, split=Split(hold_out={"panel": ["c"]})), tmp_path / "prepared", seed=3)
        return (tmp_path / "prepared/preprocessing/table.json").read_text()

    first = table(PEOPLE)
    assert table([(*row[:2], "99", "77", row[4]) if row[1] == "c" else row for row in PEOPLE]) == first
    assert table([(*row[:2], "99", row[3], row[4]) if row[1] == "b" else row for row in PEOPLE]) != first


def test_rows_with_a_held_out_value_are_the_test_rows_and_groups_stay_whole(people, tmp_path):
    rows = [(f" {row[0]} " if number % 2 else row[0], *row[1:]) for number, row in enumerate(PEOPLE)]
    split = Split(group="person", hold_out={"panel": ["c"]}, validation=0.3)
    prepare(people(rows, split=split), tmp_path / "prepared", seed=3)
    measured, aside = (raw(tmp_path / "prepared", split) for split in ("validation", "test"))
    assert sorted(row["age"] for row in aside) == sorted(row[2] for row in PEOPLE if row[1] == "c")
    persons = {row["person"].strip() for row in measured}
    ages = {row["age"] for row in measured}
    assert ages == {row[2] for row in PEOPLE if row[0] in persons and row[1] != "c"}
    counts = files.read_manifest(tmp_path / "prepared")["splits"]
    assert {split: facts["rows"] for split, facts in counts.items()} == {
        "train": 24 - len(measured), "validation": len(measured), "test": 12,
    }  # fmt: skip


def test_held_out_rows_of_a_validation_file_are_test_rows_too(people, tmp_path):
    validation = people(PEOPLE[:12], name="validation.csv", split=Split()).source
    data = people(validation_source=validation, split=Split(hold_out={"panel": ["c"]}))
    prepare(data, tmp_path / "prepared", seed=3)
    assert {row["panel"] for row in raw(tmp_path / "prepared", "validation")} == {"a", "b"}
    assert len(raw(tmp_path / "prepared", "test")) == 12 + 4


@pytest.mark.parametrize(
    ("hold_out", "message"),
    [
        ({"panel": ["c", "d"]}, "expected some rows with panel: d, received a, b, c"),
        ({"panel": ["C"]}, "expected some rows with panel: C, received a, b, c"),
        ({"panel": ["a", "b", "c"]}, "every row is held out: expected some that `split.hold_out` leaves"),
    ],
)
def test_held_out_values_must_exist_and_leave_training_rows(people, tmp_path, hold_out, message):
    with pytest.raises(DataError, match=f"people.csv: .*{message}"):
        prepare(people(split=Split(hold_out=hold_out)), tmp_path / "prepared", seed=3)


FULL = """
import subprocess
import sys
from pathlib import Path
from tfattn import native
native.import_tensorflow()
from tests.data.small_parts import section
from tfattn.data.engines.local_engine import Local
from tfattn.data.preparation.prepare import prepare
from tfattn.errors import TfattnError

folder, disk = Path(sys.argv[1]), Path(sys.argv[1]) / "disk"
disk.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], check=True)
make = lambda: section(folder, Local(processes=1))
try:
    prepare(make(), disk / "prepared", seed=3, identity="it")
except TfattnError as error:
    print(error)
done = {path: path.stat().st_ino for path in disk.glob(".prepared.parts/survey/*")}
subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
kept = {}
link = Path.rename
def watched(*arguments):
    kept.update({path: path.stat().st_ino for path in done})
    return link(*arguments)
Path.rename = watched
prepare(make(), disk / "prepared", seed=3, identity="it")
Path.rename = link
print(len(done) > 4 and kept == done)
prepare(make(), folder / "whole", seed=3)
print((disk / "prepared/manifest.json").read_text() == (folder / "whole/manifest.json").read_text())
"""


def test_a_full_disk_is_reported_and_results_are_kept(tmp_path):
    """On a disk of 400 kB, which then grows; in a namespace of its own, so that nothing stays mounted."""
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], capture_output=True).returncode:
        pytest.skip("this system lets no test mount a small disk (unshare --user --mount)")
    write(tmp_path)
    done = subprocess.run([*own, sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True)
    message, kept, same = done.stdout.strip().splitlines() or [done.stderr]
    assert "disk/.prepared.parts" in message and "no space left on the disk. Free some space" in message
    assert (kept, same) == ("True", "True"), done.stderr


def test_results_of_parts_may_be_at_an_address(tmp_path):
    write(tmp_path)
    whole, work_folder = small_prepared(tmp_path, "whole", Local(processes=1)), f"ram://{tmp_path}/work"
    assert small_prepared(tmp_path, "other", Local(processes=1), work_folder=work_folder) == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "rows.csv", "whole"]
    assert not list(files.path_of(work_folder).iterdir())


def test_results_at_an_address_are_kept(tmp_path, monkeypatch):
    write(tmp_path)
    whole, work_folder = small_prepared(tmp_path, "whole", Local(processes=1)), f"ram://{tmp_path}/work"

    def again(step):
        """Prepares, but ends at a step."""
        with monkeypatch.context() as patch:
            patch.setattr(preparing, step, functools.wraps(getattr(preparing, step))(_ended))
            return small_prepared(tmp_path, "other", Local(processes=1), identity="it", work_folder=work_folder)

    with pytest.raises(KeyboardInterrupt):
        again("gather")
    assert {path.name for path in files.path_of(f"{work_folder}/.other.parts").iterdir()} >= {"survey", "scatter"}
    assert again("scatter") == whole


def _ended(work, unit):
    raise KeyboardInterrupt


def test_an_unwritable_work_folder_is_reported(tmp_path):
    write(tmp_path)
    data = small_section(tmp_path, Local(processes=1), f"file://{tmp_path}/rows.csv")
    with pytest.raises(TfattnError, match=r"rows.csv/.prepared.parts: the address fails \(.*not a directory"):
        prepare(data, tmp_path / "prepared", seed=3)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    ("step", "name", "damage"),
    [
        ("survey", "survey/000001/texts.npy", "cut"),
        ("survey", "survey/000000/found.json", "missing"),
        ("scatter", "assignment/splits.npy", "cut"),
        ("gather", "scatter/000002/train.records", "cut"),
        ("gather", "scatter/000001/train.rows.npy", "missing"),
        ("gather", "gather/train-00000-of-00001/train-00000-of-00001.tfrecord", "missing"),
        ("survey", "survey/000001", "cut"),
        ("scatter", "assignment", "missing"),
        ("gather", "scatter/000002", "cut"),
    ],
)
def test_a_damaged_result_is_reported_and_the_next_run_restarts(tmp_path, monkeypatch, step, name, damage):
    write(tmp_path)
    is_packed = name.count("/") < 2 and not name.endswith(".npy")  # as results at an address are
    work_folder = f"file://{tmp_path}" if is_packed else None
    make = functools.partial(small_section, tmp_path, Local(processes=1), work_folder)
    done = getattr(preparing, step)

    def damaging(work, unit):
        path = tmp_path / ".prepared.parts" / name
        if step == "survey":
            done(work, unit)
        if path.exists():
            path.write_bytes(path.read_bytes()[:20]) if damage == "cut" else path.unlink()
        if step != "survey":
            done(work, unit)

    with monkeypatch.context() as patch:
        patch.setattr(preparing, step, functools.wraps(done)(damaging))
        with pytest.raises(DataError, match="what is done already has been damaged.*Run the same command again"):
            prepare(make(), tmp_path / "prepared", seed=3, identity="it")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_dropped_leaks_are_in_no_split_and_evaluation_rows_stay(table, section, tmp_path):
    rows = [*ROWS, *ROWS[:12]]
    kept, dropped = (
        (tmp_path / leaks, section(table(rows), split=Split(validation=0.3, leaks=leaks))) for leaks in ("keep", "drop")
    )
    for folder, data in (kept, dropped):
        prepare(data, folder, seed=7)
    before, after = ((folder / "validation.jsonl").read_text() for folder, _ in (kept, dropped))
    assert before == after
    summaries = [json.loads((folder / "summary.json").read_text()) for folder, _ in (kept, dropped)]
    assert summaries[0]["crossing"]["validation"]["rows"] > 0 and summaries[1]["crossing"]["validation"]["rows"] == 0
    [(_, left_out)] = summaries[1]["remarks"].items()
    assert summaries[1]["rows"]["train"] == summaries[0]["rows"]["train"] - left_out["rows"]
    evaluated = {json.loads(line)["text"] for line in after.splitlines()}
    trained = {text for text, _ in rows} - evaluated
    assert len(read(dropped[0], "train")) == sum(text in trained for text, _ in rows)


def test_dropping_all_training_rows_is_an_error(table, section, tmp_path):
    data = section(table(ROWS), split=Split(validation=0, leaks="drop"), validation_source=table(ROWS, "same.csv"))
    with pytest.raises(DataError, match="leaves no training row"):
        prepare(data, tmp_path / "prepared", seed=7)


def test_missing_values_of_a_table_are_a_sentence(table, section, tmp_path, capsys):
    rows = [(str(number % 7) if number != 4 else " ", "yes" if number % 2 else "no") for number in range(30)]
    source = table(rows, header="age,label")
    prepare(section(source, preprocessing=TableColumns(numeric=("age",))), tmp_path / "prepared", seed=7)
    printed = " ".join(capsys.readouterr().err.split())
    assert (
        f"Missing values, which the model reads as missing: `age` in 1 of 30 rows, such as {source.path}:6." in printed
    )
