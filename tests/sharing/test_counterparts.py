"""Architectures of transformers in both directions: what their readers read is written again."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from benchmarks.architectures import ARCHITECTURES
from benchmarks.decoders import DECODERS
from tfattn import pretrained, registry
from tfattn.sharing.architectures import architectures
from tfattn.sharing.counterparts import Counterpart, differences_of, split, tensors
from tfattn.sharing.trained_export import defaults
from tfattn.tasks.masked_lm import MaskedLm

CONFIGS = {name: known.config for name, known in {**ARCHITECTURES, **DECODERS}.items()}
WRITTEN = {one.model_type: one for one in architectures()}
# One of each idea: fused, skipped, projected, shared and relative embeddings; scaled, gated and fused layers.
STORED = ("roberta", "electra", "albert", "mpnet", "deberta_v2", "modernbert", "gemma3_text", "gpt_neox", "qwen3")


def stated(folder, config):
    """Write a config.json; return its reader and the arguments of the model."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    reader = pretrained.open(folder)
    return reader, reader.stated_sizes() if hasattr(reader, "stated_sizes") else reader.sizes()


def test_all_architectures_are_written():
    assert set(WRITTEN) >= {config["model_type"] for config in CONFIGS.values()}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_written_configuration_is_read_as_the_same_model(name, tmp_path):
    reader, sizes = stated(tmp_path / "published", CONFIGS[name])
    arguments = {**defaults("models", reader.model), **sizes}
    written, again = stated(tmp_path / "written", WRITTEN[CONFIGS[name]["model_type"]].config(arguments))
    assert type(written) is type(reader) and differences_of(written, arguments) == []
    known = {name: value for name, value in sizes.items() if value is not None}  # others follow from these
    assert json.loads(json.dumps({name: again[name] for name in known})) == json.loads(json.dumps(known))


@pytest.mark.parametrize("name", STORED)
def test_written_tensors_are_read_as_the_same_weights(name, tmp_path):
    reader, sizes = stated(tmp_path, CONFIGS[name])
    model, other = (registry.find("models", reader.model)(**sizes) for _ in range(2))
    optional = [] if reader.model == "gpt" else MaskedLm(model=model).optional_layers
    again = [] if reader.model == "gpt" else MaskedLm(model=other).optional_layers
    draw, values = np.random.default_rng(0), {}
    for weight in [*model.weights, *(weight for layer in optional for weight in layer.weights)]:
        if "seed" not in weight.path:
            weight.assign(draw.normal(size=weight.shape))
            values[weight.path.removeprefix(f"{model.name}/")] = weight.numpy()
    counterpart = Counterpart(WRITTEN[CONFIGS[name]["model_type"]], reader, {})
    save_file(
        tensors(counterpart, values, {**defaults("models", reader.model), **sizes}), tmp_path / "model.safetensors"
    )
    assert reader.load_into(other, again).unused == []
    for weight in [*other.weights, *(weight for layer in again for weight in layer.weights)]:
        path = weight.path.removeprefix(f"{model.name}/")
        if "seed" not in path and not (path.startswith("pooler/") and name not in ("albert", "mpnet", "roberta")):
            np.testing.assert_allclose(weight.numpy(), values[path], atol=1e-6, err_msg=path)


def test_queries_keys_and_values_have_the_widths_of_their_heads():
    pieces = split(np.zeros((5, 32)), 3, {"num_heads": 4, "num_key_value_heads": 2})
    assert [piece.shape for piece in pieces] == [(5, 16), (5, 8), (5, 8)]
    assert [piece.shape for piece in split(np.zeros((5, 32)), 2, {})] == [(5, 16), (5, 16)]
