"""Downloads of repositories of the Hugging Face hub by the real client: what is requested, checked and kept."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from safetensors.numpy import save

from benchmarks import architecture_reference
from benchmarks.decoders import DECODERS
from tests.pretrained.decoder_logits import stored
from tests.pretrained.hub.hub_server import git_sha1
from tests.pretrained.hub.stand_in import bert_files, random_bert
from tfattn import console, hub, pretrained
from tfattn.errors import HubError
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt

SMALL = {"x": np.arange(300_000, dtype="float32")}


def test_a_model_is_downloaded_and_read(server, client):
    tensors = random_bert()
    server.add("me/tiny", bert_files(tensors))
    weights = pretrained.open("hf://me/tiny")
    bert = Bert(**weights.sizes())
    assert not (weights.folder / "model.safetensors").exists()  # sizes do not need the weights
    report = weights.load_into(bert)
    assert (len(report.used), report.unused) == (39, [])
    kernel = keras.ops.convert_to_numpy(bert.pooler.dense.kernel)
    np.testing.assert_array_equal(kernel, tensors["pooler.dense.weight"].T)
    assert weights.vocabulary.read_text().startswith("[PAD]")


@pytest.mark.parametrize("name", ["gpt2", "gemma2"])
def test_a_decoder_is_downloaded_and_compared_with_its_tensors(server, client, tmp_path, name):
    architecture_reference.write_weights(tmp_path, stored(name)["tensors"])
    (tmp_path / "config.json").write_text(json.dumps(DECODERS[name].config))
    server.add("me/decoder", {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()})
    weights = pretrained.open("hf://me/decoder")
    assert server.paths("HEAD") == ["config.json"]
    report = weights.load_into(Gpt(**weights.sizes()))
    assert (report.unused, report.missing) == ([], [])


def test_only_readable_files_are_requested(server, client):
    files = bert_files(SMALL) | {
        "pytorch_model.bin": b"\x80\x04",
        "tf_model.h5": b"x",
        "onnx/model.onnx": b"x",
        "onnx/config.json": b"{}",
        "1_Pooling/config.json": b"{}",
        "modeling_mine.py": b"raise SystemExit",
        "tokenizer.model": b"\x0a\x00",
        "model.fp16.safetensors": b"x",
    }
    server.add("me/tiny", files)
    hub.open("hf://me/tiny").fetch_weights()
    expected = {"config.json", "vocab.txt", "README.md", "tokenizer.model", "model.safetensors"}
    assert set(server.paths("HEAD")) == expected


def test_what_is_in_the_cache_is_not_requested_again(server, client, fresh):
    server.add("me/tiny", bert_files(SMALL))
    first = hub.open("hf://me/tiny")
    first.fetch_weights()
    server.requests.clear()
    fresh("hf://me/tiny").fetch_weights()
    assert [path for _, path, _ in server.requests] == ["/api/models/me/tiny"]
    server.requests.clear()
    fresh(str(first.address)).fetch_weights()
    assert server.requests == []


def test_a_process_reads_one_revision(server, client):
    repository = server.add("me/tiny", bert_files(SMALL))
    first = hub.open("hf://me/tiny")
    repository.commit(bert_files(SMALL, hidden_size=16))
    hub.open("hf://me/tiny").fetch_weights()
    assert hub.open("hf://me/tiny") is first
    assert json.loads((first.folder / "config.json").read_text())["hidden_size"] == 8


def test_a_revision_that_moves_has_another_address_and_fingerprint(server, client, fresh):
    repository = server.add("me/tiny", bert_files(SMALL))
    old = repository.branches["main"]
    before = pretrained.open("hf://me/tiny")
    seen = before.address, before.fingerprint()
    repository.commit(bert_files({"x": -SMALL["x"]}))
    hub.open.cache_clear()
    after = pretrained.open("hf://me/tiny")
    assert seen[0] == f"hf://me/tiny@{old}" != after.address
    assert seen[1] != after.fingerprint()
    hub.open.cache_clear()
    assert pretrained.open(seen[0]).fingerprint() == seen[1]


def test_digests_are_of_all_files_that_are_read(server, client):
    server.add("me/tiny", bert_files(SMALL))
    weights = pretrained.open("hf://me/tiny")
    assert set(weights.digests) == {"README.md", "config.json", "model.safetensors", "vocab.txt"}
    assert (weights.origin["license"], weights.origin["language"]) == ("apache-2.0", "en")
    assert weights.origin["from"] == f"hf://me/tiny@{server.repositories['me/tiny'].branches['main']}"


def test_branches_subfolders_and_files(server, client):
    repository = server.add("me/tiny", {"README.md": b""})
    repository.commit({f"inner/{name}": content for name, content in bert_files(SMALL).items()}, "refs/pr/1")
    inner = hub.open("hf://me/tiny@refs/pr/1/inner")
    inner.fetch_weights()
    assert sorted(inner.names()) == ["README.md", "config.json", "model.safetensors", "vocab.txt"]
    assert inner.path.name == "inner"
    assert hub.local_path("hf://me/tiny@refs/pr/1/inner/vocab.txt").read_text().startswith("[PAD]")


def test_shards_of_an_index_are_downloaded(server, client):
    shards = {f"model-{number}.safetensors": save({f"x{number}": SMALL["x"]}) for number in (1, 2)}
    index = {"weight_map": {f"x{number}": f"model-{number}.safetensors" for number in (1, 2)}}
    files = bert_files() | shards | {"model.safetensors.index.json": json.dumps(index).encode()}
    server.add("me/tiny", files | {"model-3.safetensors": b"not in the index"})
    snapshot = hub.open("hf://me/tiny")
    snapshot.fetch_weights()
    assert {name for name in snapshot.names() if name.endswith("safetensors")} == set(shards)


def test_a_broken_transfer_continues(server, client, monkeypatch):
    monkeypatch.setattr(client, "DOWNLOAD_CHUNK_SIZE", 100_000)  # what a broken transfer may lose
    server.add("me/tiny", bert_files(SMALL))
    server.breaks["model.safetensors"] = 500_000
    snapshot = hub.open("hf://me/tiny")
    snapshot.fetch_weights()
    assert server.ranges == ["bytes=500000-"]
    assert (snapshot.folder / "model.safetensors").read_bytes() == save(SMALL)


def test_a_token_is_sent_to_the_hub_and_not_to_its_storage(server, client, monkeypatch):
    server.add("me/secret", bert_files(SMALL), private=True, tokens=("mine",))
    monkeypatch.setenv("HF_TOKEN", "mine")
    hub.open("hf://me/secret").fetch_weights()
    of_storage = {has_token for _, path, has_token in server.requests if path.startswith("/cdn/")}
    of_hub = {has_token for _, path, has_token in server.requests if "/resolve/" in path}
    assert (of_storage, of_hub) == ({False}, {True})


def test_the_cache_is_read_without_a_network(server, client, fresh, monkeypatch):
    server.add("me/tiny", bert_files(SMALL))
    hub.open("hf://me/tiny").fetch_weights()
    with monkeypatch.context() as offline:
        offline.setattr(client, "HF_HUB_OFFLINE", True)
        server.requests.clear()
        fresh("hf://me/tiny").fetch_weights()
        assert server.requests == []
    server.close()  # the hub is down
    snapshot = fresh("hf://me/tiny")
    snapshot.fetch_weights()
    assert "model.safetensors" in snapshot.names()


def test_a_cache_that_another_program_filled_is_read(server, client, fresh, monkeypatch):
    from huggingface_hub import hf_hub_download

    server.add("me/tiny", bert_files(SMALL))
    for name in ("config.json", "vocab.txt", "model.safetensors"):
        hf_hub_download("me/tiny", name)
    monkeypatch.setattr(client, "HF_HUB_OFFLINE", True)
    snapshot = fresh("hf://me/tiny")
    snapshot.fetch_weights()
    assert sorted(snapshot.names()) == ["config.json", "model.safetensors", "vocab.txt"]


def test_the_environment_is_that_of_the_client(server, tmp_path):
    """A mirror, a token and a cache, given as users give them."""
    server.add("me/tiny", bert_files(SMALL), private=True, tokens=("mine",))
    program = "from tfattn import hub; s = hub.open('hf://me/tiny'); s.fetch_weights(); print(s.folder)"
    variables = {
        "HF_ENDPOINT": server.address,
        "HF_TOKEN": "mine",
        "HF_HUB_CACHE": str(tmp_path / "cache"),
        "HF_HOME": str(tmp_path),
    }
    for offline in ("0", "1"):
        environment = os.environ | variables | {"HF_HUB_OFFLINE": offline}
        server.requests.clear()
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.stdout.startswith(str(tmp_path / "cache/models--me--tiny/snapshots/")), done.stderr
        assert bool(server.requests) == (offline == "0")


@pytest.mark.parametrize("gigabytes", [10, 2e-6], ids=["one file", "shards"])
def test_a_preset_of_keras_hub_is_read_from_the_hugging_face_hub(server, client, tmp_path, gigabytes):
    keras_hub = pytest.importorskip("keras_hub")
    sizes = {"vocabulary_size": 12, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 20}
    backbone = keras_hub.models.BertBackbone(**sizes, max_sequence_length=16)
    backbone.save_to_preset(tmp_path / "preset", max_shard_size=gigabytes)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg"]
    keras_hub.models.BertTokenizer(vocabulary=words).save_to_preset(tmp_path / "preset")
    paths = [path for path in (tmp_path / "preset").rglob("*") if path.is_file()]
    server.add("keras/tiny", {str(path.relative_to(tmp_path / "preset")): path.read_bytes() for path in paths})
    weights = pretrained.open("hf://keras/tiny")
    bert = Bert(**weights.sizes())
    assert weights.load_into(bert).missing == []
    assert weights.vocabulary.read_text().split() == words


def test_checksums_of_the_server_are_those_of_git():
    assert git_sha1(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git's empty file


def test_a_file_that_repositories_share_is_checked_by_its_own_name(server, client, fresh):
    server.add("me/tiny", bert_files(SMALL))
    snapshot = hub.open("hf://me/tiny")
    snapshot.fetch_weights()
    blob = (snapshot.folder / "model.safetensors").resolve()
    shared = Path(client.HF_HUB_CACHE) / "blobs/ab" / ("ab" * 32)  # named by another checksum
    shared.parent.mkdir(parents=True)
    blob.rename(shared)
    blob.symlink_to(shared)
    fresh("hf://me/tiny").fetch_weights()
    shared.write_bytes(b"damaged")
    with pytest.raises(HubError, match="the checksum of the downloaded file differs"):
        fresh("hf://me/tiny").fetch_weights()
    fresh("hf://me/tiny").fetch_weights()
    assert (snapshot.folder / "model.safetensors").read_bytes() == save(SMALL)


def test_the_progress_is_that_of_all_bytes(server, client, monkeypatch):
    seen = []

    @contextlib.contextmanager
    def transfer(title, size):
        counts = []
        yield counts.append
        seen.append((title, size, sum(counts)))

    monkeypatch.setattr(console, "transfer", transfer)
    files = bert_files(SMALL)
    server.add("me/tiny", files)
    hub.open("hf://me/tiny").fetch_weights()
    small = sum(len(content) for name, content in files.items() if name in ("config.json", "vocab.txt", "README.md"))
    weights = len(files["model.safetensors"])
    assert seen == [("downloading hf://me/tiny", small, small), ("downloading hf://me/tiny", weights, weights)]


def test_a_gguf_file_is_read_by_its_address(server, client, tmp_path):
    pytest.importorskip("gguf")
    from tests.pretrained import decoders

    model = decoders.random_gpt(**decoders.LLAMA)
    path = decoders.write_gguf(tmp_path / "tiny-q8.gguf", model)
    server.add("me/tiny", {"README.md": b"", "tiny-q8.gguf": path.read_bytes(), "tiny-q4.gguf": b"x"})
    weights = pretrained.open("hf://me/tiny/tiny-q8.gguf")
    assert weights.sizes()["hidden_dim"] == model.hidden_dim
    assert set(weights.digests) == {"tiny-q8.gguf"}
    assert server.paths("HEAD") == ["tiny-q8.gguf"]
