"""Cleaning: exactly the listed files go, and every stage finds its results afterwards."""

import shutil
from pathlib import Path

import pytest

from tfattn import files
from tfattn.errors import DataError
from tfattn.runs.cleaning import find_removals
from tfattn.runs.listing import list_runs
from tfattn.training.checkpoints import Checkpoints

DONE = "nothing has changed, skipped"


def all_files():
    paths = [path for folder in ("runs", "saved_models") for path in Path(folder).rglob("*")]
    return {str(path): path.read_bytes() for path in paths if path.is_file() and path.suffix != ".flock"}


def only_run():
    (info,) = list_runs("runs")
    return Path("runs/tiny") / info.id


def test_the_listed_bytes_are_freed_and_nothing_else_changes(trained):
    before, found = all_files(), find_removals("runs", "saved_models")
    assert [removal.what for removal in found] == ["states of the optimizer, earlier weights"]
    for removal in found:
        removal.remove()
    after = all_files()
    rewritten = ("manifest.json", "stages/train.json")
    assert {path for path in after if after[path] != before.get(path)} <= {
        path for path in after if path.endswith(rewritten)
    }
    gone = sum(len(before[path]) for path in before.keys() - after.keys() if not path.endswith("manifest.json"))
    assert gone <= sum(removal.bytes for removal in found) <= gone + 2_000  # manifests of removed folders
    assert find_removals("runs", "saved_models") == []


def test_every_stage_still_has_its_results_or_computes_them_again(trained, command):
    metrics = (only_run() / "metrics.json").read_bytes()
    assert "freed" in command("clean", "--yes").errors
    again = command("run", "tiny.yaml")
    assert again.status == 0 and again.errors.count(DONE) == 4
    shutil.rmtree("saved_models")
    (only_run() / "history.jsonl").unlink()  # training resumes at its end
    computed = command("evaluate", "tiny.yaml", "--force")
    assert computed.status == 0 and (only_run() / "metrics.json").read_bytes() == metrics
    assert command("export", "tiny.yaml").status == 0


def test_an_unfinished_or_damaged_training_is_kept_whole(trained):
    run = only_run()
    record = (run / "stages" / "train.json").read_bytes()
    (run / "stages" / "train.json").unlink()
    assert find_removals("runs", "saved_models") == []
    (run / "stages" / "train.json").write_bytes(record)
    assert len(find_removals("runs", "saved_models")) == 1
    with files.lock(run):
        assert find_removals("runs", "saved_models") == []
    slots = next(run.glob("checkpoints/*/slots.safetensors"))
    slots.write_bytes(b"damaged")
    assert find_removals("runs", "saved_models") == []


def test_a_cleaning_that_is_killed_leaves_valid_checkpoints(trained, monkeypatch):
    checkpoints = Checkpoints(only_run() / "checkpoints", writes=True)
    weights = checkpoints.best().fingerprint
    removed = []

    def killed(path):
        removed.append(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "unlink", killed)
        patched.setattr(files, "remove_folder", killed)
        checkpoints.remove_unused()
    assert removed and checkpoints.best().fingerprint == weights
    checkpoints.remove_unused()
    assert checkpoints.unused() == [] and checkpoints.best().fingerprint == weights


def test_prepared_data_of_a_removed_run_and_old_versions_go(trained):
    (version,) = [path for path in Path("saved_models/tiny").iterdir() if path.name.isdigit()]
    shutil.copytree(version, version.with_name("1"))
    (used,) = Path("runs/tiny/prepared").glob("[!.]*")
    shutil.copytree(used, used.with_name("0123456789"))
    shutil.copytree(used, only_run() / "encoded")
    found = {str(removal.path): removal for removal in find_removals("runs", "saved_models", ["tiny"])}
    run = only_run()
    unused = {"saved_models/tiny/1", f"{used.parent}/0123456789", f"{run}/encoded", f"{run}/checkpoints"}
    assert found.keys() == unused
    for removal in found.values():
        removal.remove()
    assert used.is_dir() and version.is_dir()
    assert not any(Path(path).exists() for path in unused - {f"{run}/checkpoints"})
    assert find_removals("runs", "saved_models", keep_versions=1) == []


def test_prepared_data_stay_while_a_training_has_not_recorded_its_data(trained):
    (used,) = Path("runs/tiny/prepared").glob("[!.]*")
    shutil.copytree(used, used.with_name("0123456789"))
    (only_run() / "stages" / "train.json").unlink()
    assert find_removals("runs", "saved_models") == []


def test_an_unknown_name_is_an_error(trained):
    with pytest.raises(DataError, match="no runs of this name: expected tiny"):
        find_removals("runs", "saved_models", ["tinny"])


def test_without_yes_nothing_is_removed(trained, command):
    before = all_files()
    listed = command("clean").errors
    assert "states of the optimizer" in listed and "`tfattn clean --yes` removes them" in listed
    assert all_files() == before
