"""Exports of models on a hub: made once, and found again by the address of their weights."""

import json

import pytest

from tests.pretrained import fill_mask_cases
from tests.pretrained.hub.stand_in import bert_files
from tfattn import files, published
from tfattn.errors import ConfigError

OLD, NEW = "0" * 40, "1" * 40


@pytest.fixture
def exports(tmp_path):
    """Two versions of an export, of an old and a new commit, as far as they are searched."""
    for version, commit in ((1, OLD), (2, NEW)):
        with files.atomic_folder(
            tmp_path / f"tiny/{version}", model="tiny", made_of=f"hf://me/tiny@{commit}"
        ) as folder:
            (folder / "saved_model.pb").write_bytes(b"graph")
    return tmp_path


def test_an_export_is_found_without_the_hub(exports):
    assert published.find_or_export("hf://me/tiny", folder=exports) == exports / "tiny/2"
    assert published.find_or_export(f"hf://me/tiny@{OLD}", folder=exports) == exports / "tiny/1"


def test_a_branch_is_resolved_first(exports, server, client):
    commit = server.add("me/tiny", bert_files()).branches["main"]
    made_of = f"hf://me/tiny@{commit}"
    with files.atomic_folder(exports / "tiny/1", model="tiny", made_of=made_of) as folder:
        (folder / "saved_model.pb").write_bytes(b"graph")
    assert published.find_or_export("hf://me/tiny@main", folder=exports) == exports / "tiny/1"


def test_models_of_the_same_name_are_not_confused(exports):
    message = r"tiny: another model has the name of this export: expected an export of hf://other/tiny, .*--folder"
    with pytest.raises(ConfigError, match=message):
        published.find_or_export("hf://other/tiny", folder=exports)


def test_masked_tokens_are_predicted_by_a_model_on_a_hub(server, client, tmp_path, monkeypatch, command):
    case, stored = fill_mask_cases.CASES["chinese"], json.loads(fill_mask_cases.STORED.read_text())["chinese"]
    (tmp_path / "chinese").mkdir()
    fill_mask_cases.write(case, tmp_path / "chinese")
    files_of_case = {path.name: path.read_bytes() for path in (tmp_path / "chinese").iterdir()}
    server.add("google-bert/bert-base-chinese", files_of_case)
    monkeypatch.chdir(tmp_path)
    for attempt in range(2):
        answer = command("fill-mask", "hf://google-bert/bert-base-chinese", case.text, "--top-k", "2")
        assert answer.status == 0, answer.errors
        found = [line.split()[:2] for line in answer.output.splitlines()]
        assert found == [[f"{one['score']:.4f}", one["token_str"]] for one in stored[:2]]
        if not attempt:
            server.close()  # the export is used from then on
