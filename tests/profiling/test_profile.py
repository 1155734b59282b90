"""Profiles: every planted fault is found, at its rows, and clean data have no finding."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest

from tests.profiling.conftest import TABLE, clean_table, clean_texts
from tfattn.config.build import build
from tfattn.data.split_config import TRAIN, VALIDATION
from tfattn.errors import DataError, TfattnError
from tfattn.profiling.profile import profile
from tfattn.profiling.raw_rows import read_rows


def kinds(profile):
    return {finding.kind for finding in profile.findings}


def of_kind(profile, kind):
    return [finding for finding in profile.findings if finding.kind == kind]


@pytest.mark.parametrize("rows", [clean_table(), clean_texts()], ids=["table", "texts"])
def test_clean_rows_have_no_finding(profiled, rows):
    found = profiled(rows)
    assert [str(finding) for finding in found.findings] == []
    assert {split: len(some) for split, some in found.rows.splits.items()} == {
        TRAIN: len(rows) * 3 // 4,
        VALIDATION: len(rows) // 4,
    }


@pytest.mark.parametrize("make", [clean_table, clean_texts])
def test_leaked_rows_are_found_and_dropped(profiled, make):
    rows = make()
    leaked = random.Random(1).sample(rows, 50)
    found = profiled(rows, validation=[*make(120), *leaked], split={"validation": 0})
    [finding] = of_kind(found, "leaked_rows")
    assert finding.rows.tolist() == list(range(len(rows) + 120, len(rows) + 170))
    assert all("validation.csv:" in location for location in finding.locations)
    assert kinds(found) == {"leaked_rows", "duplicates"}
    dropped = profiled(rows, validation=[*make(120), *leaked], split={"validation": 0, "leaks": "drop"})
    assert kinds(dropped) == set() and len(dropped.rows.splits[TRAIN]) == len(rows) - 50


@pytest.mark.parametrize("make", [clean_table, clean_texts])
def test_near_duplicates_within_and_across_splits_are_found(profiled, make):
    rows, name = make(), "load" if make is clean_table else "text"
    near = [row | {name: row[name] + ("7" if make is clean_table else " ox")} for row in rows[:30]]
    within = profiled([*rows, *near])
    split = np.zeros(len(rows) + 30, bool)
    split[within.rows.splits[VALIDATION]] = True
    crossing = [number for number in range(30) if split[number] != split[len(rows) + number]]
    found = {
        int(row) for kind in ("near_leaks", "near_duplicates") for one in of_kind(within, kind) for row in one.rows
    }
    partners = set(range(30)) | set(range(len(rows), len(rows) + 30))
    assert len(found) == 30 and found <= partners
    [leaks] = of_kind(within, "near_leaks")
    assert len(leaks.rows) == len(crossing) and all(split[leaks.rows])
    across = profiled(rows, validation=near, split={"validation": 0})
    assert of_kind(across, "near_leaks")[0].rows.tolist() == list(range(len(rows), len(rows) + 30))


def test_equal_rows_with_different_targets_are_found(profiled):
    rows = clean_texts()
    rows.append(rows[0] | {"label": {"up": "down", "down": "up"}[rows[0]["label"]]})
    assert of_kind(profiled(rows), "conflicts")[0].rows.tolist() == [0, len(rows) - 1]


@pytest.mark.parametrize("is_number", [True, False])
def test_a_column_that_gives_the_target_away_is_found(profiled, is_number):
    rows, draw = clean_table(), random.Random(3)
    for row in rows:
        is_yes = (row["label"] == "yes") ^ (draw.random() < 0.01)
        row["panel" if not is_number else "load"] = (
            f"{is_yes + draw.random() / 3:.3f}" if is_number else f"left {is_yes}"
        )
    [finding] = of_kind(profiled(rows), "gives_away")
    assert finding.where == f"column {'load' if is_number else 'panel'}"


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("panel", lambda number: f"C-{number * 7919 % 100_000:05}", "identifier"),
        ("age", lambda number: str(1000 + number), "identifier"),
        ("region", lambda number: "N", "constant"),
    ],
)
def test_columns_that_are_no_features_are_found(profiled, column, value, kind):
    rows = [row | {column: value(number)} for number, row in enumerate(clean_table())]
    found = profiled(rows)
    assert kinds(found) == {kind} and found.findings[0].where == f"column {column}"


def test_drift_is_found_in_the_columns_that_drifted(profiled):
    validation = [row | {"age": f"{float(row['age']) + 6:.2f}"} for row in clean_table(300)]
    found = profiled(clean_table(), validation=validation, split={"validation": 0})
    assert [finding.where for finding in of_kind(found, "drift")] == ["column age"]
    long = [row | {"text": row["text"] + " so" * 9} for row in clean_texts(200)]
    found = profiled(clean_texts(), validation=long, split={"validation": 0})
    assert [finding.where for finding in of_kind(found, "drift")] == ["column text"]


def test_missing_and_unreadable_numbers_are_found_at_their_rows(profiled):
    rows = clean_table()
    rows[3]["age"], rows[5]["age"], rows[8]["panel"] = " ", "many", "?"
    found = profiled(rows)
    missing = {finding.where: finding.rows.tolist() for finding in of_kind(found, "missing_values")}
    assert missing == {"column age": [3], "column panel": [8]}
    [unread] = of_kind(found, "no_number")
    assert unread.rows.tolist() == [5] and 'missing: ["", "?", NA, nan, many]' in unread.remedy
    assert unread.locations[0].endswith("rows.csv:7")


def test_rare_classes_and_imbalance_are_found(profiled):
    rows = clean_table()
    for row in rows:
        row["label"] = "no"
    for number in range(5):
        rows[number]["label"] = "odd: one"
    found = profiled(rows)
    [rare] = of_kind(found, "rare_classes")
    assert rare.rows.tolist() == [0, 1, 2, 3, 4] and 'missing: {label: ["odd: one"]}' in rare.remedy
    assert "imbalance" in kinds(found)
    single = profiled([*clean_table(), clean_table(7)[0] | {"label": "once"}])
    assert "no_split" in kinds(single) and list(single.rows.splits) == [TRAIN]


def test_truncated_texts_are_found(profiled):
    found = profiled(clean_texts(), preprocessing={"name": "wordpiece", "max_length": 16})
    assert {finding.where for finding in of_kind(found, "truncated")} == {"train split", "validation split"}
    lengths = found.lengths
    assert lengths.unit == "words" and lengths.is_truncated.sum() == (lengths.lengths > 16).sum() > 100


def test_numbers_as_targets(profiled):
    rows = [row | {"label": f"{float(row['age']) + number % 7:.2f}"} for number, row in enumerate(clean_table())]
    found = profiled(rows, task="regression")
    assert found.powers["age"] > 0.8 > found.powers["load"] and kinds(found) == set()
    exact = [row | {"load": row["label"]} for row in rows]
    assert [finding.where for finding in of_kind(profiled(exact, task="regression"), "gives_away")] == ["column load"]


def test_pairs_of_texts_and_several_labels(profiled):
    words = clean_texts(800)
    rows = [
        {"text_a": first["text"], "text_b": second["text"], "label": f"{first['label']}|{number % 3}"}
        for number, (first, second) in enumerate(zip(words[:400], words[400:], strict=True))
    ]
    rows.append(rows[7] | {"text_b": rows[7]["text_b"] + " so"})
    options = {
        "task": "multi_label_classification",
        "preprocessing": {"name": "wordpiece", "fields": ["text_a", "text_b"]},
    }
    found = profiled(rows, **options)
    assert kinds(found) in ({"near_duplicates"}, {"near_leaks"})
    assert {frozenset(pair[:2]) for pair in found.near} == {frozenset((7, 400))}
    assert [column.kind for column in found.columns] == ["text", "text"] and found.powers == {}
    assert (found.lengths.lengths >= 24 + 3).all()  # words, [CLS] and two [SEP]


def test_the_splits_are_those_of_preparation(config, tmp_path):
    from tfattn.data.preparation.prepare import prepare

    one = config(clean_table(200))
    data = build(one, "data")
    prepare(data, tmp_path / "prepared", one.values["seed"])
    lines = (tmp_path / "prepared/validation.jsonl").read_text().splitlines()
    rows = read_rows(one)
    assert [json.loads(line)["age"] for line in lines] == [rows.columns["age"][row] for row in rows.splits[VALIDATION]]


def test_profiles_are_deterministic(config):
    one = config(clean_texts())
    assert profile(one).to_dict() == profile(one).to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [row | {"label": ""} for row in rows], "no row is complete.*600 rows without label"),
        (lambda rows: [{"age": "1", "label": "yes"} for _ in rows], "no columns|column"),
    ],
)
def test_rows_that_cannot_be_used_are_an_error(profiled, change, message):
    with pytest.raises(TfattnError, match=message):
        profiled(change(clean_table()))


def test_a_table_without_any_value_is_profiled(profiled):
    rows = [
        dict.fromkeys(("age", "load", "width", "region", "panel"), "") | {"label": row["label"]}
        for row in clean_table(40)
    ]
    found = profiled(rows)
    assert [finding.where for finding in of_kind(found, "constant")] == [
        f"column {name}" for name in (*TABLE["numeric"], *TABLE["categorical"])
    ]


def test_an_empty_file_is_an_error(config, tmp_path):
    one = config(clean_table(40))
    (tmp_path / "rows.csv").write_text("age,load,width,region,panel,label\n")
    with pytest.raises(DataError, match="rows.csv: the file holds a header but no rows"):
        profile(one)


def test_other_tasks_are_refused(config):
    one = config(clean_texts(40))
    one.values["data"]["preprocessing"] = {"name": "images", "size": 8}
    with pytest.raises(TfattnError, match="cannot be profiled: expected texts or a table.*received images"):
        profile(one)


def test_the_command_reads_data_files_without_tensorflow(write, tmp_path):
    rows = clean_table()
    path = write([row | {"customer_id": f"K{number}"} for number, row in enumerate([*rows, rows[0]])])
    code = (
        "import sys; from tfattn.cli.program import app\n"
        f"try: app(['profile', {path!r}, '--target', 'label', '--fail-on', 'duplicates'])\n"
        "except SystemExit as done: print('status', done.code, 'tensorflow' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "status 1 False"
    assert "duplicates: all splits: rows that repeat an earlier row (1 row: rows.csv:602)" in ran.stdout
    saved = json.loads((tmp_path / "profiles/rows/profile.json").read_text())
    assert saved["rows"]["train"] + saved["rows"]["validation"] == 601
    assert "customer_id" not in saved["columns"] and {"age", "load"} <= saved["columns"].keys()
