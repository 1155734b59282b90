"""Runs that start from a model on a hub: the revision is a part of the run, and of the card of its export."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import write_project
from tests.pretrained.hub.stand_in import bert_files, random_bert
from tfattn import files, hub, stages
from tfattn.config.resolve import resolve
from tfattn.errors import ConfigError
from tfattn.vectors.opening import open_vectors

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: reports.csv, fields: {text: Description, label: Category}}
  preprocessing: {name: wordpiece, vocabulary: pretrained, max_length: 16}
  batching: {batch_size: 32}
  split: {validation: 0.2}
model: {name: bert, pretrained: hf://me/tiny}
task: {name: classification}
training: {epochs: 1}
runtime: {precision: float32}
"""


@pytest.fixture
def project(server, client, tmp_path, monkeypatch):
    """A folder with a pipeline, and its model on the hub."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    write_project(tmp_path / "project")
    (tmp_path / "project/tiny.yaml").write_text(PIPELINE)
    server.add("me/tiny", bert_files(random_bert()))
    return server.repositories["me/tiny"]


def opened(*overrides):
    hub.open.cache_clear()
    return stages.open_run("tiny.yaml", overrides)


def test_a_configuration_names_the_commit(project, server):
    config = resolve("tiny.yaml")
    assert config.values["model"]["pretrained"] == f"hf://me/tiny@{project.branches['main']}"
    assert config.values["model"]["hidden_dim"] == 8
    assert "model.safetensors" not in server.paths("HEAD")  # to check a pipeline, no weights are downloaded


def test_a_revision_that_moves_starts_a_new_run(project, capsys):
    before, old = opened(), project.branches["main"]
    before.stage_log.write_config()  # as its first stage does
    assert opened().folder == before.folder
    new = project.commit(bert_files({name: 2 * value for name, value in random_bert().items()}))
    capsys.readouterr()
    after = opened()
    assert (after.id != before.id, after.folder.exists()) == (True, False)
    assert (
        f"model.pretrained: hf://me/tiny@{new} is not the revision of the run {before.id}, so this is a new run. To "
        f"continue the other run, set model.pretrained=hf://me/tiny@{old}"
    ) in capsys.readouterr().err.replace("\n", " ")
    assert opened(f"model.pretrained=hf://me/tiny@{old}").folder == before.folder


def test_a_commit_that_changes_no_weights_is_another_run_too(project):
    before = opened()
    project.commit({**bert_files(random_bert()), "README.md": b"# another text\n"})
    assert opened().id != before.id


def test_an_export_names_its_origin(project, command):
    answer = command("run", "tiny.yaml")
    assert answer.status == 0, answer.errors
    (version,) = files.numbered("saved_models/tiny").values()
    origin = json.loads((version / "assets.extra/card.json").read_text())["pretrained"]["pretrained"]
    commit = project.branches["main"]
    content = project.commits[commit]
    assert (origin["from"], origin["license"]) == (f"hf://me/tiny@{commit}", "apache-2.0")
    readme = (version / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("---\nlicense: apache-2.0\nlanguage: en\nbase_model: me/tiny\n")
    assert set(origin["sha256"]) == {"README.md", "config.json", "model.safetensors", "vocab.txt"}
    (version.parent / "weights").write_bytes(content["model.safetensors"])
    assert origin["sha256"]["model.safetensors"] == files.sha256(version.parent / "weights")
    assert f"hf://me/tiny@{commit}" in (version / "assets.extra/config.yaml").read_text()


def test_vocabularies_are_read_from_a_hub(project, server):
    run = opened(
        "model={name: bert, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 8}",
        "data.preprocessing.vocabulary=hf://me/tiny/vocab.txt",
    )
    assert [name for name in run.fingerprints.data if name.startswith("preprocessing file")]
    stages.prepare(run)
    assert len(run.members[0].preprocessor().tokens) == 12
    assert "model.safetensors" not in server.paths("HEAD")


def test_word_vectors_are_read_from_a_hub(project, server):
    text = b"2 8\nleak 1 0 0 0 0 0 0 0\nnoise 0 1 0 0 0 0 0 0\n"
    repository = server.add("me/vectors", {"words.vec": text, "words.vec.gz": gzip.compress(text), "words.bin": b"x"})
    model = (
        "model={name: bert, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 8, embeddings: {from: %s}}"
    )
    trained = "data.preprocessing.vocabulary=train"
    run = opened(model % "hf://me/vectors/words.vec.gz", trained)
    address = f"hf://me/vectors@{repository.branches['main']}/words.vec.gz"
    assert run.config.at("model", "embeddings")["from"] == address
    assert run.fingerprints.origins["embeddings"]["from"] == address
    assert set(run.fingerprints.origins["embeddings"]["sha256"]) == {"words.vec.gz"}
    assert open_vectors(address).words == open_vectors("hf://me/vectors/words.vec").words == ["leak", "noise"]
    with pytest.raises(ConfigError, match=r"a file of this kind is not read: expected a file .*\.vec, .*words.bin"):
        opened(model % "hf://me/vectors/words.bin", trained)
    with pytest.raises(ConfigError, match=r"--set model: model.* there is no such repository, .*hf://me/vector/a.vec"):
        opened(model % "hf://me/vector/a.vec", trained)


def test_a_wrong_address_is_reported_at_its_key(project):
    Path("tiny.yaml").write_text(PIPELINE.replace("hf://me/tiny", "hf://me/other"))
    with pytest.raises(ConfigError, match=r"tiny.yaml:7:\d+: there is no such repository, .*received hf://me/other"):
        resolve("tiny.yaml")


def test_features_of_a_model_on_a_hub(project, command):
    answer = command(
        "features",
        "hf://me/tiny",
        "--input",
        "reports.csv",
        "--columns",
        "Description",
        "--pooling",
        "mean",
        "--output",
        "vectors.npy",
    )
    assert answer.status == 0, answer.errors
    assert np.load("vectors.npy").shape[1] == 8
