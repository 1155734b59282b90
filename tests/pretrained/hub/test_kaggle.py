"""Presets of KerasHub from a server that speaks Kaggle's protocol, by the real client."""

import json
import subprocess
import sys

import pytest

from tests.pretrained.hub.kaggle_server import KaggleServer
from tfattn import hub, pretrained
from tfattn.errors import ConfigError, HubError
from tfattn.models.bert import Bert

HANDLE = "me/bert/keras/tiny"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg"]
SIZES = {"vocabulary_size": 12, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 20}


@pytest.fixture(scope="module")
def preset(tmp_path_factory) -> dict[str, bytes]:
    """The files of a preset that KerasHub has written."""
    keras_hub = pytest.importorskip("keras_hub")
    folder = tmp_path_factory.mktemp("preset")
    keras_hub.models.BertBackbone(**SIZES, max_sequence_length=16).save_to_preset(folder)
    keras_hub.models.BertTokenizer(vocabulary=WORDS, lowercase=True).save_to_preset(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def kaggle(preset, tmp_path, monkeypatch):
    """The server, and the environment of the client."""
    env = pytest.importorskip("kagglesdk.kaggle_env")
    server = KaggleServer()
    server.models[HANDLE] = {1: {**preset, "config.json": b"{}"}, 2: preset}
    monkeypatch.setitem(env._env_to_endpoint, env.KaggleEnv.PROD, server.address)
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_API_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)
    hub.open.cache_clear()
    yield server
    hub.open.cache_clear()
    server.close()


def fetch(address: str) -> hub.Snapshot:
    hub.open.cache_clear()
    snapshot = hub.open(address)
    snapshot.fetch_weights()
    return snapshot


def test_a_preset_is_downloaded_and_read(kaggle):
    weights = pretrained.open(f"keras://{HANDLE}")
    bert = Bert(**weights.sizes())
    assert weights.address == f"keras://{HANDLE}/2"  # the newest version
    assert ("DownloadModelInstanceVersion", "model.weights.h5") not in kaggle.requests  # sizes do not need the weights
    assert weights.load_into(bert).missing == []
    assert weights.vocabulary.read_text().split() == WORDS and weights.lower_case is True
    names = {"assets/tokenizer/vocabulary.txt", "config.json", "model.weights.h5", "tokenizer.json"}
    assert set(weights.digests) == names


def test_a_preset_with_several_files_of_weights(kaggle, tmp_path):
    keras_hub = pytest.importorskip("keras_hub")
    backbone = keras_hub.models.BertBackbone(**SIZES, max_sequence_length=16)
    backbone.save_to_preset(tmp_path / "shards", max_shard_size=2e-6)  # in GB
    shards = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    kaggle.models["me/bert/keras/shards"] = {1: shards}
    for attempt in range(2):
        snapshot = fetch("keras://me/bert/keras/shards")
        assert {*snapshot.names()} - {"config.json"} == {name for name in shards if "weights" in name}
        weights = pretrained.open("keras://me/bert/keras/shards/1")
        assert weights.load_into(Bert(**weights.sizes())).missing == []
        if not attempt:
            kaggle.close()  # what is in the cache is read without a network


def test_the_cache_is_read_without_a_network(kaggle):
    first = fetch(f"keras://{HANDLE}")
    kaggle.close()
    for address in (f"keras://{HANDLE}", f"keras://{HANDLE}/2"):
        again = fetch(address)
        assert (again.path, sorted(again.names())) == (first.path, sorted(first.names()))
        assert str(again.address) == f"keras://{HANDLE}/2"


def test_a_broken_transfer_continues(kaggle, preset, monkeypatch):
    monkeypatch.setattr("kagglehub.clients.CHUNK_SIZE", 10_000)  # what a broken transfer may lose
    kaggle.breaks["model.weights.h5"] = 10_000
    snapshot = fetch(f"keras://{HANDLE}")
    assert kaggle.ranges == ["bytes=10000-"]
    assert (snapshot.folder / "model.weights.h5").read_bytes() == preset["model.weights.h5"]


def test_the_name_of_a_preset_is_that_of_the_installed_keras_hub(kaggle, preset):
    keras_hub = pytest.importorskip("keras_hub")
    handle = keras_hub.models.Backbone.presets["bert_tiny_en_uncased"]["kaggle_handle"].removeprefix("kaggle://")
    model, _, version = handle.rpartition("/")
    kaggle.models[model] = {int(version): preset}
    assert str(fetch("keras://bert_tiny_en_uncased").address) == f"keras://{handle}"


def test_an_unknown_preset():
    pytest.importorskip("keras_hub")
    with pytest.raises(ConfigError, match=r"KerasHub has no such preset: .* Did you mean `bert_tiny_en_uncased`\?"):
        hub.open("keras://bert_tiny_en_uncasedd")


def test_an_unknown_model(kaggle):
    message = (
        r"no such model, or it has no config.json: .*received keras://me/bert/keras/large. Look at https://www.kaggle"
    )
    with pytest.raises(ConfigError, match=message):
        fetch("keras://me/bert/keras/large")


def test_a_private_model(kaggle, monkeypatch):
    kaggle.private.add(HANDLE)
    message = r"private or gated, .*accept the terms on https://www.kaggle.com/models/me/bert, .*set KAGGLE_API_TOKEN"
    with pytest.raises(ConfigError, match=message):
        fetch(f"keras://{HANDLE}")
    monkeypatch.setenv("KAGGLE_API_TOKEN", "mine")
    assert "model.weights.h5" in fetch(f"keras://{HANDLE}").names()


def test_a_checksum_that_differs(kaggle, preset):
    kaggle.replaced["model.weights.h5"] = preset["model.weights.h5"][::-1]
    with pytest.raises(HubError, match=r"tiny/2: model.weights.h5: the checksum of the downloaded file differs"):
        fetch(f"keras://{HANDLE}")
    kaggle.replaced.clear()
    fetch(f"keras://{HANDLE}")


def test_no_network_and_no_cache(kaggle):
    kaggle.close()
    with pytest.raises(
        HubError, match=r"Kaggle cannot be reached, and the model is not in the cache: .*KAGGLEHUB_CACHE"
    ):
        fetch(f"keras://{HANDLE}")


PROGRAM = """
import resource
from kagglesdk.kaggle_env import KaggleEnv, _env_to_endpoint
from tfattn import hub
from tfattn.errors import TfattnError
_env_to_endpoint[KaggleEnv.PROD] = {address!r}
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
try:
    hub.open("keras://{handle}").fetch_weights()
except TfattnError as error:
    print(error)
"""


def test_a_limit_of_files(kaggle, preset, tmp_path):
    assert max(map(len, preset.values())) > 4_000
    program = PROGRAM.format(address=kaggle.address, handle=HANDLE)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == (
        f"{tmp_path}/cache: the model cannot be stored (File too large): expected enough space on the disk. Free some "
        "space, or name another folder in KAGGLEHUB_CACHE. Complete files are kept."
    ), done.stderr
    kaggle.requests.clear()
    fetch(f"keras://{HANDLE}/2")
    assert ("DownloadModelInstanceVersion", "config.json") not in kaggle.requests  # what was complete is kept


def test_an_unsupported_architecture(kaggle, preset):
    config = json.dumps({"class_name": "BertGenerationBackbone"}).encode()
    kaggle.models[HANDLE][3] = {**preset, "config.json": config}
    with pytest.raises(ConfigError, match=r"received BertGenerationBackbone. The nearest is `BertBackbone`"):
        pretrained.open(f"keras://{HANDLE}")
    assert ("DownloadModelInstanceVersion", "model.weights.h5") not in kaggle.requests
