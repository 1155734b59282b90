"""Whatever happens to a small file of a run or an export: it is named, and what it said is never used in silence.

The next command refuses it with a message that names the file, or says so and makes it again from what is undamaged.
"""

import collections
import contextlib
import json
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.damages import damages

# Each file, and the command that reads it next; {} is its path.
PREPARED = "runs/tiny/prepared/*"
RUN = "runs/tiny/[0-9a-f]*"
EXPORT = "saved_models/tiny/*"
EVALUATE = ("evaluate", "tiny.yaml", "--force")
TRAIN = ("train", "tiny.yaml")
FILES = {
    f"{PREPARED}/manifest.json": EVALUATE,
    f"{PREPARED}/preprocessing/vocab.txt": EVALUATE,
    f"{PREPARED}/preprocessing/tokenizer_config.json": EVALUATE,
    f"{PREPARED}/validation.jsonl": EVALUATE,
    f"{PREPARED}/validation-*.lengths.npy": EVALUATE,
    f"{PREPARED}/validation-*.label_ids.npy": EVALUATE,
    f"{PREPARED}/summary.json": EVALUATE,
    f"{PREPARED}/train-*.label_ids.npy": (*TRAIN, "--force"),
    f"{RUN}/config.yaml": ("train", "{}"),
    f"{RUN}/stages/train.json": TRAIN,
    f"{RUN}/history.jsonl": TRAIN,
    f"{RUN}/environment.json": TRAIN,
    f"{RUN}/checkpoints/*/manifest.json": TRAIN,
    f"{RUN}/checkpoints/*/state.json": TRAIN,
    f"{RUN}/stages/evaluate.json": ("evaluate", "tiny.yaml"),
    f"{RUN}/metrics.json": ("evaluate", "tiny.yaml"),
    f"{RUN}/stages/export.json": ("export", "tiny.yaml"),
    **{
        f"{EXPORT}/{name}": ("predict", "tiny", "--input", "new.txt")
        for name in (
            "manifest.json",
            "saved_model.pb",
            "fingerprint.pb",
            "variables/variables.index",
            "assets/labels.txt",
            "assets/vocab.txt",
            "assets/tokenizer_config.json",
            "assets.extra/card.json",
            "assets.extra/config.yaml",
            "assets.extra/operations.txt",
            "assets.extra/parity.json",
            "assets.extra/source.json",
            "assets.extra/tf_serving_warmup_requests",
        )
    },
}
# To find out about these takes seconds each: an epoch or an evaluation comes before it, or after it.
SLOW = (
    f"{PREPARED}/summary.json",
    f"{RUN}/checkpoints/*/manifest.json",
    f"{RUN}/checkpoints/*/state.json",
    f"{RUN}/metrics.json",
)


@pytest.fixture
def outcome(finished, tmp_path, command):
    """What came of a damage to a file, in a fresh copy of a whole run: refused, healed; or a fault of ours."""

    def of(pattern, damage, ask):
        shutil.rmtree(tmp_path / "project", ignore_errors=True)
        shutil.copytree(finished[0], tmp_path / "project", symlinks=True)
        with contextlib.chdir(tmp_path / "project"):
            path = max(path for path in Path().glob(pattern) if not path.is_symlink())
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            Path("new.txt").write_text("Sorter blows fuses.\n")
            try:
                answer = command(*(word.format(path) for word in ask))
            except Exception as error:
                return f"traceback: {error!r}"
        is_named = str(path) in answer.errors
        if answer.status:
            return "refused" if is_named else f"misnamed: {answer.errors}"
        runs_again = damage is None and f"{path.stem}: {path.parent.parent}" in answer.errors
        return "healed" if is_named or runs_again else f"silent: {answer.errors}"

    return of


def found(project, pattern):
    return max(path for path in project.glob(pattern) if path.is_file())


@pytest.mark.parametrize("pattern", [pattern for pattern in FILES if pattern not in SLOW])
def test_a_damaged_file_is_named(pattern, finished, outcome):
    content = found(finished[0], pattern).read_bytes()
    assert outcome(pattern, content[: len(content) // 2], FILES[pattern]) in ("refused", "healed")


@pytest.mark.slow
@pytest.mark.parametrize("place", [PREPARED, RUN, EXPORT])
def test_any_damage_to_any_file_is_detected(place, finished, outcome):
    counts, faults = collections.Counter(), {}
    for pattern in (pattern for pattern in FILES if pattern.startswith(place)):
        path = found(finished[0], pattern)
        is_json = path.suffix == ".json" and pattern not in SLOW
        for what, damage in damages(path.read_bytes(), is_json=is_json):
            came = outcome(pattern, damage, FILES[pattern])
            kind = came.partition(":")[0]
            counts[kind] += 1
            if kind not in ("refused", "healed"):
                faults[f"{path.relative_to(finished[0])}, {what}"] = came
        print(f"{path.relative_to(finished[0])}: {counts.total()} damages so far: {dict(counts)}", flush=True)
    assert counts.total() > 100
    assert not faults, json.dumps(faults, indent=2)
