"""Models on the hub that cannot be read: each has one message with what to do, and nothing in the cache is lost."""

import json
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save

from tests.pretrained.hub.stand_in import bert_files
from tfattn import hub, pretrained
from tfattn.errors import ConfigError, HubError

TENSORS = {"x": np.arange(50_000, dtype="float32")}


def fetch(address: str) -> hub.Snapshot:
    hub.open.cache_clear()
    snapshot = hub.open(address)
    snapshot.fetch_weights()
    return snapshot


def test_an_unknown_repository(server, client):
    with pytest.raises(
        ConfigError, match=r"there is no such repository, or it is private: expected a repository of http"
    ):
        fetch("hf://me/nothing")
    server.add("me/secret", bert_files(), private=True, tokens=("mine",))
    with pytest.raises(
        ConfigError, match=r"received hf://me/secret\. Check .* run `hf auth login`, or set HF_TOKEN"
    ) as found:
        fetch("hf://me/secret")
    assert found.value.key == "pretrained"


def test_a_token_that_is_wrong(server, client, monkeypatch):
    server.add("me/tiny", bert_files(TENSORS))
    monkeypatch.setenv("HF_TOKEN", "expired")
    with pytest.raises(HubError, match=r"received 401 Invalid credentials .*The token is wrong or has expired"):
        fetch("hf://me/tiny")


@pytest.mark.parametrize("token", [None, "other"])
def test_a_gated_model(server, client, monkeypatch, token):
    server.add("me/gated", bert_files(TENSORS), gated=True, tokens=("mine",))
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    message = (
        r"the model is gated.* Accept the terms on http://\S+/me/gated, create a token on http://\S+/settings/tokens"
    )
    with pytest.raises(ConfigError, match=message):
        fetch("hf://me/gated")
    monkeypatch.setenv("HF_TOKEN", "mine")
    assert "model.safetensors" in fetch("hf://me/gated").names()


def test_an_unknown_revision(server, client):
    server.add("me/tiny", bert_files(TENSORS))
    message = r"no such revision: expected a branch, a tag or a commit, .*, received hf://me/tiny@v9"
    with pytest.raises(ConfigError, match=message):
        fetch("hf://me/tiny@v9")
    with pytest.raises(ConfigError, match="no such revision"):
        fetch(f"hf://me/tiny@{'0' * 40}")


def test_an_unknown_folder_and_file(server, client):
    server.add("me/tiny", {**bert_files(TENSORS), "large/config.json": b"{}", "q4.gguf": b"x"})
    with pytest.raises(ConfigError, match=r"no such folder or file: expected a folder \(large\), .* mean `q4.gguf`"):
        fetch("hf://me/tiny/q5.gguf")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "modeling.py", "model.safetensors"])
def test_a_file_of_another_kind(server, client, name):
    server.add("me/tiny", {name: b"x"})
    with pytest.raises(ConfigError, match=rf"a file of this kind is not read: expected a file \.gguf.*/{name}"):
        fetch(f"hf://me/tiny/{name}")
    assert server.paths("HEAD") == []


def test_pickled_weights_are_refused_with_the_command_that_converts_them(server, client):
    server.add("me/old", {**bert_files(), "pytorch_model.bin": b"\x80\x04", "training_args.bin": b"\x80\x04"})
    with pytest.raises(ConfigError) as caught:
        pretrained.open("hf://me/old").fingerprint()
    commit = server.repositories["me/old"].branches["main"]
    received = f"received pytorch_model.bin, training_args.bin in hf://me/old@{commit}"
    program = (
        "from transformers import AutoTokenizer, BertForMaskedLM; "
        f"[kind.from_pretrained('me/old', revision='{commit}').save_pretrained('old') "
        "for kind in (AutoTokenizer, BertForMaskedLM)]"
    )
    assert str(caught.value) == (
        "the repository has no weights that can be read: expected model.safetensors or model.safetensors.index.json "
        f"with its files (Hugging Face), model.weights.h5 or model.weights.json with its files (KerasHub), {received}. "
        "Pickled weights can run code and are never read. Pull requests of a repository often add safetensors: the "
        "address of number 4 is hf://me/old@refs/pr/4. Or, if you trust the author, convert the weights with "
        f'transformers, and use the folder: python -c "{program}"'
    )
    assert not any(path.endswith(".bin") for path in server.paths("HEAD"))


def test_the_command_does_not_contain_what_a_repository_says(server, client):
    config = {"model_type": "bert", "architectures": ["x; import os"]}
    server.add("me/old", {"config.json": json.dumps(config).encode(), "pytorch_model.bin": b""})
    with pytest.raises(ConfigError, match="import AutoTokenizer, AutoModel;") as caught:
        fetch("hf://me/old")
    assert "import os" not in str(caught.value)


def test_a_repository_of_gguf_files_needs_a_file(server, client):
    server.add("me/tiny", {"README.md": b"", "tiny-q4.gguf": b"x", "tiny-q8.gguf": b"x"})
    with pytest.raises(ConfigError, match=r"Name a file, such as hf://me/tiny@\w+/tiny-q4.gguf"):
        fetch("hf://me/tiny")


def test_an_unsupported_architecture_is_refused_before_its_weights_are_downloaded(server, client):
    config = {"model_type": "bert_generation"}
    server.add("me/other", {"config.json": json.dumps(config).encode(), "model.safetensors": save(TENSORS)})
    message = (
        r"hf://me/other: the architecture is not supported: expected model_type albert, .*, received bert_generation\. "
        r"The nearest is `bert`"
    )
    with pytest.raises(ConfigError, match=message):
        pretrained.open("hf://me/other")
    assert "model.safetensors" not in server.paths("HEAD")


def test_a_checksum_that_differs(server, client):
    server.add("me/tiny", bert_files(TENSORS))
    server.replaced["model.safetensors"] = save({"x": -TENSORS["x"]})
    with pytest.raises(
        HubError, match=r"me/tiny@\w+/model.safetensors: the checksum .* differs: expected \w{64}, .* \w{64}"
    ):
        fetch("hf://me/tiny")
    server.replaced.clear()
    assert "model.safetensors" in fetch("hf://me/tiny").names()  # the damaged file is not in the cache


def test_a_checksum_of_a_small_file_that_differs(server, client):
    server.add("me/tiny", bert_files(TENSORS))
    server.replaced["vocab.txt"] = server.repositories["me/tiny"].commits.popitem()[1]["vocab.txt"].swapcase()
    server.add("me/tiny", bert_files(TENSORS))
    with pytest.raises(HubError, match="vocab.txt: the checksum of the downloaded file differs: expected [0-9a-f]{40}"):
        fetch("hf://me/tiny")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(save(TENSORS)[:-1000], id="truncated"),
        pytest.param(save(TENSORS) + b"x", id="longer"),
        pytest.param(b"", id="empty"),
        pytest.param(struct.pack("<Q", 1 << 62) + b"{}", id="huge header"),
        pytest.param(struct.pack("<Q", 2) + b"[]", id="another header"),
        pytest.param(struct.pack("<Q", 20) + b'{"x": {"a": [0, 1]}}', id="no offsets"),
    ],
)
def test_truncated_safetensors(server, client, content):
    server.add("me/tiny", {**bert_files(), "model.safetensors": content})
    with pytest.raises(
        HubError, match=r"model.safetensors: the file is not a complete safetensors file.*choose another"
    ):
        fetch("hf://me/tiny")


def test_a_transfer_that_stays_incomplete(server, client):
    server.add("me/tiny", bert_files(TENSORS))
    server.headers["model.safetensors"] = {"X-Linked-Size": "999999"}
    with pytest.raises(HubError, match=r"not downloaded completely: received .* of size 999999 but has size 2\d+"):
        fetch("hf://me/tiny")


def test_an_offline_process_without_a_cache(server, client, monkeypatch):
    monkeypatch.setattr(client, "HF_HUB_OFFLINE", True)
    message = r"hf://me/tiny: the model is not in the cache, and HF_HUB_OFFLINE is set: .*cache.*Unset HF_HUB_OFFLINE"
    with pytest.raises(HubError, match=message):
        fetch("hf://me/tiny")


def test_an_offline_process_without_the_weights(server, client, monkeypatch):
    server.add("me/tiny", bert_files(TENSORS))
    hub.open("hf://me/tiny")
    monkeypatch.setattr(client, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="not in the cache, and HF_HUB_OFFLINE is set"):
        fetch("hf://me/tiny")


def test_no_network_and_no_cache(server, client):
    server.close()
    message = (
        r"the hub cannot be reached, and the model is not in the cache: .* received Connect\w+: .*HF_ENDPOINT names"
    )
    with pytest.raises(HubError, match=message):
        fetch("hf://me/tiny")


def test_an_error_of_the_server(server, client):
    server.add("me/tiny", bert_files(TENSORS))
    server.statuses["model.safetensors"] = 416
    with pytest.raises(HubError, match=r"the hub answers with an error: received 416 .*model.safetensors"):
        fetch("hf://me/tiny")


def test_a_server_that_is_not_a_hub(server, client):
    server.add("me/tiny", bert_files(TENSORS)).branches["main"] = "../../../outside"
    server.repositories["me/tiny"].commits["../../../outside"] = bert_files(TENSORS)
    with pytest.raises(
        HubError, match=r"a revision that is not a commit: expected 40 hex.*received '../../../outside'"
    ):
        fetch("hf://me/tiny")


@pytest.mark.parametrize(
    "name", ["../evil.json", "/etc/evil.json", "a/../../evil.json", "..\\evil.json", "inner/vocab.txt"]
)
def test_names_that_leave_the_folder_are_not_requested(server, client, name):
    server.add("me/tiny", {**bert_files(TENSORS), name: b"{}"})
    assert name not in fetch("hf://me/tiny").names()
    assert name not in server.paths("HEAD")


def test_an_index_that_names_other_files(server, client, tmp_path):
    index = {"weight_map": {"x": "../../../evil.safetensors", "y": "model.safetensors.index.json"}}
    files = {**bert_files(), "model.safetensors.index.json": json.dumps(index).encode()}
    server.add("me/tiny", files)
    with pytest.raises(ConfigError, match=r"the index names files that the repository does not have.*evil.safetensors"):
        fetch("hf://me/tiny")
    server.add("me/tiny", files | {"model.safetensors.index.json": b'{"weight_map": {}}'})
    with pytest.raises(ConfigError, match="the index names no files"):
        fetch("hf://me/tiny")


def test_a_file_outside_of_the_cache_is_not_read(server, client, tmp_path):
    server.add("me/tiny", bert_files(TENSORS))
    snapshot = hub.open("hf://me/tiny")
    (tmp_path / "secret").write_text("{}")
    (snapshot.folder / "config.json").unlink()
    (snapshot.folder / "config.json").symlink_to(tmp_path / "secret")
    with pytest.raises(HubError, match="config.json: the file is outside of the cache"):
        fetch("hf://me/tiny")


def test_a_configuration_that_is_too_large(server, client, monkeypatch):
    monkeypatch.setattr("tfattn.hub.requested_files.MAX_SMALL_BYTES", 1000)
    server.add("me/tiny", {**bert_files(TENSORS), "tokenizer.json": b" " * 1001})
    with pytest.raises(
        ConfigError, match="tokenizer.json: a file is too large .*: expected at most 1,000 bytes, received 1,001"
    ):
        fetch("hf://me/tiny")
    assert "tokenizer.json" not in server.paths("HEAD")


PROGRAM = """
import resource, sys
from tfattn import hub
from tfattn.errors import TfattnError
if {limit}:
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    hub.open("hf://me/tiny").fetch_weights()
except TfattnError as error:
    print(error)
"""
REMEDY = "Free some space, or name another folder in HF_HUB_CACHE. Complete files are kept."


def run(server, cache, command=(), limit=0):
    variables = {"HF_ENDPOINT": server.address, "HF_HUB_CACHE": str(cache), "HF_HOME": str(cache)}
    arguments = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
    program = PROGRAM.format(limit=limit)
    return subprocess.run([*arguments, sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def test_a_limit_of_files(server, client, tmp_path):
    server.add("me/tiny", bert_files(TENSORS))
    cache = tmp_path / "cache"
    done = run(server, cache, limit=100_000)
    expected = f"{cache}: the model cannot be stored (File too large): expected enough space on the disk. {REMEDY}"
    assert done.stdout.strip() == expected, done.stderr
    assert not list(cache.rglob("*.incomplete"))
    assert "model.safetensors" in fetch("hf://me/tiny").names()  # what was complete is kept


def test_a_full_disk(server, client, tmp_path):
    """A file system of 150 KB in a namespace of its own, where the system allows it."""
    unshare = shutil.which("unshare")
    mount = f"mount -t tmpfs -o size=150k tmpfs {tmp_path}/cache"
    (tmp_path / "cache").mkdir()
    if unshare is None or subprocess.run([unshare, "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("needs user namespaces, to mount a small file system")
    server.add("me/tiny", bert_files(TENSORS))
    shell = [unshare, "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    done = run(server, tmp_path / "cache", shell)
    assert "cannot be stored (No space left on device)" in done.stdout, done.stderr
    assert REMEDY in done.stdout
