"""Uploads of exports and folders to a local hub by the real client."""

import numpy as np
import pytest
from safetensors.numpy import save

from tests.pretrained.hub.stand_in import bert_files
from tfattn import files, hub
from tfattn.errors import ConfigError, DataError

TENSORS = {"x": np.arange(5000, dtype="float32")}


@pytest.fixture
def export(tmp_path):
    """A version of an export, as far as an upload reads it."""
    version = tmp_path / "saved_models/reports/7"
    with files.atomic_folder(version, model="reports", made_of="") as folder:
        (folder / "variables").mkdir()
        (folder / "saved_model.pb").write_bytes(b"graph")
        (folder / "variables/variables.index").write_bytes(b"index")
        files.write_text(folder / "README.md", "# reports\n")
    return version


@pytest.fixture
def writer(monkeypatch, client):
    monkeypatch.setenv("HF_TOKEN", "writer")


def content(server, name: str) -> dict[str, bytes]:
    repository = server.repositories[name]
    return repository.commits[repository.branches["main"]]


def test_an_export_is_uploaded_with_its_model_card(server, writer, export, command, monkeypatch):
    monkeypatch.chdir(export.parents[2])
    answer = command("push", "reports", "hf://me/reports", "--private")
    assert answer.status == 0, answer.errors
    repository = server.repositories["me/reports"]
    assert answer.output == f"hf://me/reports@{repository.branches['main']}\n"
    assert repository.private
    uploaded = content(server, "me/reports")
    assert set(uploaded) == {str(path.relative_to(export)) for path in export.rglob("*") if path.is_file()}
    assert uploaded["README.md"] == b"# reports\n"


def test_a_folder_is_uploaded_and_read_back(server, writer, tmp_path, fresh):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, data in {**bert_files(), "model.safetensors": save(TENSORS), ".env": b"secret"}.items():
        (folder / name).write_bytes(data)
    from tfattn.hub.upload import push

    address = push(folder, "hf://me/tiny")
    assert str(address) == f"hf://me/tiny@{server.repositories['me/tiny'].branches['main']}"
    assert set(content(server, "me/tiny")) == {"README.md", "config.json", "vocab.txt", "model.safetensors"}
    snapshot = fresh(str(address))
    snapshot.fetch_weights()
    assert (snapshot.folder / "model.safetensors").read_bytes() == save(TENSORS)


def test_an_existing_repository_is_kept(server, writer, export):
    from tfattn.hub.upload import push

    server.add("me/reports", {"notes.md": b"old"})
    push(export, "hf://me/reports/v7")
    assert {"notes.md", "v7/saved_model.pb", "v7/README.md"} <= set(content(server, "me/reports"))


def test_an_upload_needs_a_token_with_permission(server, client, export, monkeypatch, command):
    monkeypatch.chdir(export.parents[2])
    answer = command("push", "reports", "hf://me/reports")
    assert (answer.status, server.repositories) == (2, {})
    assert "an upload needs a token: expected a token with write permission. Create one on http" in answer.errors
    monkeypatch.setenv("HF_TOKEN", "reader")
    answer = command("push", "reports", "hf://me/reports")
    assert answer.status == 2
    assert "the token has no permission to write here: expected a token that may write to me" in answer.errors


def test_a_damaged_export_is_not_uploaded(server, writer, export):
    from tfattn.hub.upload import push

    (export / "saved_model.pb").write_bytes(b"other")
    with pytest.raises(DataError, match="saved_model.pb"):
        push(export, "hf://me/reports")
    assert server.repositories == {}


def test_links_out_of_the_folder_are_not_followed(server, writer, tmp_path):
    from tfattn.hub.upload import push

    (tmp_path / "folder").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder/config.json").symlink_to(tmp_path / "secret")
    with pytest.raises(ConfigError, match="config.json: a link leaves the folder"):
        push(tmp_path / "folder", "hf://me/tiny")


@pytest.mark.parametrize("address", ["keras://bert_tiny", "me/tiny", "hf://tiny", "saved_models"])
def test_other_addresses_are_refused(export, address):
    from tfattn.hub.upload import push

    with pytest.raises(ConfigError, match="not the address of a repository"):
        push(export, address)


def test_an_unknown_model(command, export, monkeypatch):
    monkeypatch.chdir(export.parents[2])
    answer = command("push", "report", "hf://me/reports")
    assert "no such model to upload: expected a folder, or an export in saved_models/: reports" in answer.errors
    assert "Did you mean `reports`?" in answer.errors
    assert hub.parse("hf://me/reports").name == "reports"
