"""Invalid input: a single message, a status other than 0, no traceback, no lost files."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from tfattn import files

REPORTS = Path("reports.csv")


def edit(change):
    """Changes the text of the reports."""
    REPORTS.write_text(change(REPORTS.read_text(encoding="utf-8-sig")), encoding="utf-8")


def refused(answer, *words, status=1):
    assert answer.status == status, answer.errors
    message = "\n".join(line for line in answer.errors.splitlines() if line.startswith("error: "))
    for word in words:
        assert word in message, f"{word!r} is not in {message!r}"
    assert "Traceback" not in answer.errors


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("training.epoch=3", ["--set training.epoch", "unknown key", "Did you mean `epochs`?"]),
        ("training.epochs=three", ["an integer > 0", "received 'three' (a string)"]),
        ("training.epochs=1e-4", ["an integer > 0", "received 0.0001 (a number)"]),
        ("task.pooling=no", ["one of 'mean', 'cls', 'max', 'pooler'", "received 'no' (a string)"]),
        ("model.num_heads=3", ["model.num_heads", "a divisor of hidden_dim=16", "received 3"]),
        ("model.name=brt", ["unknown name in models", "Did you mean `bert`?"]),
        ("model.pretrained=minilm2", ["minilm2"]),
        ("model.vocabulary_size=9", ["model.vocabulary_size", "does not match the data", "received 9"]),
        ("data.source.fields.text=Descripton", ["Descripton", "Did you mean `Description`?"]),
        ("data.source.path=gone.csv", ["gone.csv"]),
        ("data.batching.max_tokens=64", ["either batch_size or max_tokens", "received both"]),
        ("data.preprocessing.vocabulary=pretrained", ["there is no pretrained model to take the vocabulary from"]),
        ("data.preprocessing.vocabulary=gone.txt", ["gone.txt"]),
        ("data.preprocessing.max_length=32", ["max_length", "24"]),
    ],
)
def test_invalid_values_are_refused(project, command, override, words):
    answer = command("train", "tiny.yaml", "--set", override)
    refused(answer, *words, status=answer.status)
    assert answer.status in (1, 2)
    assert not list(Path("runs").rglob("checkpoints"))


def test_a_duplicate_key(project, command):
    Path("twice.yaml").write_text(Path("tiny.yaml").read_text() + "seed: 1\nseed: 2\n")
    refused(command("check", "twice.yaml"), "twice.yaml:12:1", "duplicate key `seed`", status=2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "", ["reports.csv", "empty"]),
        (lambda text: text.splitlines()[0] + "\n", ["reports.csv"]),
        (lambda text: text.replace("\n", "\nonly,three,fields\n", 3), ["reports.csv:2", "5", "3"]),
        (lambda text: text + "A rare thing.,Odd,Low,None,1\n", ["Odd"]),
    ],
)
def test_an_invalid_file_is_refused(project, command, change, words):
    edit(change)
    refused(command("prepare", "tiny.yaml"), *words)
    assert not list(Path("runs").rglob("manifest.json"))


def test_a_row_that_cannot_be_decoded(project, command):
    lines = REPORTS.read_bytes().splitlines(keepends=True)
    REPORTS.write_bytes(b"".join([*lines[:9], b"Caf\xe9 machine leaks,Leak,Low,x,1\n", *lines[9:]]))
    refused(command("prepare", "tiny.yaml"), "reports.csv:10", "encoding")


def test_an_unseen_label_is_reported(project, command):
    Path("more.csv").write_text("Description,Category\nAll is well.,Good News\n")
    answer = command(
        "prepare", "tiny.yaml", "--set", "data.validation_source={name: csv, path: more.csv, "
        "fields: {text: Description, label: Category}}",
    )  # fmt: skip
    refused(answer, "more.csv:2", "'Good News'")


def test_empty_and_long_texts_are_counted(project, command):
    room = ("--set", "data.preprocessing.max_length=60", "--set", "model.max_sequence_length=60")

    def summary():
        assert command("prepare", "tiny.yaml", "--force", *room).status == 0
        newest = max(Path("runs").rglob("summary.json"), key=os.path.getmtime)
        found = files.read_json(newest)
        return found["missing"]["text"], sum(finding["rows"] for finding in found["truncated"].values())

    _, long_before = summary()
    edit(lambda text: text + " ,Leak,Low,x,1\n" + "drip " * 99 + ",Leak,Low,x,1\n")
    empty, long = summary()
    assert empty == {"rows": 1, "first": ["reports.csv:482"]}
    assert (long_before, long) == (0, 1)


def test_a_damaged_record_file(trained, command):
    shard = next(Path("runs").rglob("train-*.tfrecord"))
    content = bytearray(shard.read_bytes())
    content[500] ^= 1
    shard.write_bytes(content)
    refused(command("train", "tiny.yaml", "--force"), shard.name, "byte")
    shard.write_bytes(content[:700])
    refused(command("train", "tiny.yaml", "--force"), shard.name, "byte")


def test_a_mismatched_checkpoint_is_refused(trained, command):
    wider = ["--set", "model.intermediate_dim=64", "--set", "training.epochs=1"]
    (old,) = Path("runs/tiny").glob("[0-9a-f]*/checkpoints")
    command("train", "tiny.yaml", *wider)
    (new,) = (path for path in Path("runs/tiny").glob("[0-9a-f]*/checkpoints") if path != old)
    for step in new.iterdir():
        files.remove_folder(step)
    for step in old.iterdir():
        step.rename(new / step.name)
    (new.parent / "stages" / "train.json").unlink()
    refused(command("train", "tiny.yaml", *wider), "step-")


def test_two_runs_in_one_folder(trained, command):
    folder = (Path("runs/tiny") / "latest").resolve()
    with files.lock(folder):
        refused(command("train", "tiny.yaml", "--force"), folder.name, "another process is at work in this folder")
    assert (folder / "checkpoints").is_dir()


def test_a_full_disk(project, command):
    disk = Path("disk")
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        answer = command("prepare", "tiny.yaml", "--set", f"runs_folder={disk}")
        refused(answer, "no space left on the disk", "Free some space")
        assert [path.name for path in (disk / "tiny" / "prepared").glob("[0-9a-f]*")] == []
    finally:
        with contextlib.suppress(OSError):
            subprocess.run(["umount", disk], check=True)


def test_a_missing_model_is_reported(project, command):
    os.makedirs("saved_models/tyni/1")
    refused(command("predict", "tiny", "--input", "reports.csv"), "tiny")
