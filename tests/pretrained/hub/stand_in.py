"""A local hub with small random models at the addresses of published models, and the client that uses it."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from safetensors.numpy import save

from tests.pretrained.conftest import CONFIG, VOCABULARY
from tests.pretrained.hub.hub_server import HubServer
from tests.pretrained.published_models import write_translator
from tfattn import hub

REPOSITORIES = (
    "google-bert/bert-base-uncased",
    "google-bert/bert-large-uncased",
    "sentence-transformers/all-MiniLM-L6-v2",
)
TRANSLATOR = "Helsinki-NLP/opus-mt-en-de"  # its weights are in a pull request
POSITIONS = 512  # as the published models have
WIDTH, INNER, LAYERS = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["num_hidden_layers"]


@contextlib.contextmanager
def local_hub(cache: Path) -> Iterator[HubServer]:
    """Serve the models, to this process and the processes that it starts, with a token that may write."""
    server = HubServer()
    for name in REPOSITORIES:
        server.add(name, bert_files(random_bert(POSITIONS), max_position_embeddings=POSITIONS))
    # Its documented commands are checked, which reads the configuration only.
    server.add("FacebookAI/roberta-base", bert_files(model_type="roberta", max_position_embeddings=POSITIONS + 2))
    write_translator("marian", cache.with_name("translator"), max_length=POSITIONS)
    files = {path.name: path.read_bytes() for path in cache.with_name("translator").iterdir()}
    server.add(TRANSLATOR, {"README.md": b""}).commit(files, "refs/pr/4")
    with client_of(server, cache), pytest.MonkeyPatch.context() as patch:
        for name, value in (("HF_ENDPOINT", server.address), ("HF_HUB_CACHE", str(cache)), ("HF_TOKEN", "writer")):
            patch.setenv(name, value)
        yield server
    server.close()


@contextlib.contextmanager
def client_of(server: HubServer, cache: Path) -> Iterator[ModuleType]:
    """Point huggingface_hub at a server, as HF_ENDPOINT, HF_HUB_CACHE and others do when a process starts."""
    from huggingface_hub import constants
    from huggingface_hub.utils import _http

    values = {
        "ENDPOINT": server.address,
        "HUGGINGFACE_CO_URL_TEMPLATE": server.address + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_CACHE": str(cache),
        "HF_TOKEN_PATH": str(cache / "token"),
        "HF_STORED_TOKENS_PATH": str(cache / "tokens"),
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_XET": True,  # another protocol, of a service of its own
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
            patch.delenv(name, raising=False)
        for name, value in values.items():
            patch.setattr(constants, name, value)
        hub.open.cache_clear()
        yield constants
        hub.open.cache_clear()
        _http.close_session()


def bert_files(tensors: Mapping[str, np.ndarray] | None = None, **changes) -> dict[str, bytes]:
    """Return the files of a small BERT as transformers publishes it."""
    files = {
        "config.json": json.dumps({**CONFIG, "architectures": ["BertForMaskedLM"], **changes}).encode(),
        "vocab.txt": ("\n".join(VOCABULARY) + "\n").encode(),
        "README.md": b"---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\n",
        ".gitattributes": b"*.safetensors filter=lfs\n",
    }
    return files if tensors is None else {**files, "model.safetensors": save(dict(tensors))}


def random_bert(positions: int = CONFIG["max_position_embeddings"]) -> dict[str, np.ndarray]:
    """Return random weights of the sizes of `bert_files`, with the names of transformers."""
    draw = np.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (CONFIG["vocab_size"], WIDTH),
        "embeddings.position_embeddings.weight": (positions, WIDTH),
        "embeddings.token_type_embeddings.weight": (CONFIG["type_vocab_size"], WIDTH),
        **_norm("embeddings.LayerNorm"),
        **_dense("pooler.dense", WIDTH, WIDTH),
    }
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= _dense(f"{layer}.{part}", WIDTH, WIDTH)
        shapes |= _dense(f"{layer}.intermediate.dense", INNER, WIDTH) | _dense(f"{layer}.output.dense", WIDTH, INNER)
        shapes |= _norm(f"{layer}.attention.output.LayerNorm") | _norm(f"{layer}.output.LayerNorm")
    return {name: draw.normal(scale=0.1, size=shape).astype("float32") for name, shape in shapes.items()}


def _dense(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}
