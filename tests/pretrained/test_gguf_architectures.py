"""GGUF files of all architectures and quantizations: equal to the folders of transformers."""

import numpy as np
import pytest

from benchmarks.decoders import DECODERS, logits
from tests.pretrained import decoders
from tests.pretrained.decoder_logits import stored
from tests.pretrained.gguf_files import write_decoder
from tests.pretrained.test_decoder_architectures import write
from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.gpt import Gpt

gguf = pytest.importorskip("gguf", reason="needs the extra `pretrained`")

# What these architectures have by default, other than the small decoders.
CHANGES = {
    "qwen2": {"attention__sliding_window_pattern": [False, False, True, True]},
    "gemma2": {"attention__scale": 24**-0.5},
    "gemma3_text": {"attention__sliding_window_pattern": 3, "rope__freq_base_swa": 100.0},
}
NAMES = [name for name in DECODERS if name not in ("llama, dynamic scaling", "gpt_neox, in sequence")]
# Options that a file does not have, or that it states otherwise.
UNSTATED = {"attention_dropout", "dropout", "initializer_range", "head_dim", "query_scale"}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_equals_the_folder_of_transformers(tmp_path, name):
    read = pretrained.open(write_decoder(tmp_path / "model.gguf", name, **CHANGES.get(name, {})))
    (tmp_path / "folder").mkdir()
    folder = pretrained.open(write(tmp_path / "folder", name))
    ours, theirs = Gpt(**read.sizes()), Gpt(**folder.sizes())
    read.load_into(ours)
    folder.load_into(theirs)
    expected = decoders.values_of(theirs)
    for path, value in decoders.values_of(ours).items():
        np.testing.assert_allclose(value, expected[path], atol=1e-6, err_msg=path)
    for found in logits(tmp_path / "model.gguf"):
        np.testing.assert_allclose(found, stored(name)["logits"], atol=1e-4)


@pytest.mark.parametrize("name", ["qwen2", "gemma3_text", "gpt_neox"])
def test_options_that_the_file_states(tmp_path, name):
    (tmp_path / "folder").mkdir()
    theirs = pretrained.open(write(tmp_path / "folder", name)).sizes()
    ours = pretrained.open(write_decoder(tmp_path / "model.gguf", name, **CHANGES.get(name, {}))).sizes()
    assert {key: value for key, value in ours.items() if key in theirs and key not in UNSTATED} == {
        key: value for key, value in theirs.items() if key not in UNSTATED
    }


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("gemma3_text", {"rope__freq_base_swa": 50.0}, {"local_rotary_base": 50.0}),
        ("gemma3_text", {"attention__sliding_window": None}, {"window": None}),
        ("gemma3_text", {"attention__scale": 0.25}, {"query_scale": 0.25}),
        ("gemma3_text", {}, {"global_layers": [], "local_rotary_base": 10000.0}),
        ("gemma2", {"attention__sliding_window": None}, {"window": 4096, "global_layers": [1, 3]}),
        (
            "llama, yarn scaling",
            {"rope__scaling__yarn_beta_fast": 16.0, "rope__scaling__attn_factor": 0.5},
            {"rotary_scaling": {"beta_fast": 16.0, "attention_factor": pytest.approx(0.5 * (1 + 0.1 * np.log(4)))}},
        ),
    ],
)
def test_options_of_the_metadata(tmp_path, name, changes, expected):
    sizes = pretrained.open(write_decoder(tmp_path / "model.gguf", name, **changes)).sizes()
    for key, value in expected.items():
        found = sizes.get(key)
        assert {inner: found[inner] for inner in value} == value if isinstance(value, dict) else found == value


@pytest.mark.parametrize("kind", [kind.name for kind in gguf.quants._type_traits])
def test_every_quantization_of_the_package_is_read(tmp_path, kind):
    quantization = gguf.GGMLQuantizationType[kind]
    per_block, size = gguf.GGML_QUANT_SIZES[quantization]
    content = np.random.default_rng(0).integers(0, 256, (4, 256 // per_block * size), dtype=np.uint8)
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_tensor("output.weight", content, raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with np.errstate(all="ignore"):
        read = pretrained.open(tmp_path / "model.gguf").read(["output.weight"])["output.weight"]
        np.testing.assert_array_equal(read, gguf.dequantize(content, quantization))
    assert read.shape == (4, 256)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("F16", 3e-4), ("BF16", 3e-3), ("Q8_0", 0.01), ("Q5_1", 0.05), ("Q5_0", 0.06), ("Q4_1", 0.09), ("Q4_0", 0.12)],
)
def test_quantized_weights_are_near_the_folder(tmp_path, kind, limit):
    read = pretrained.open(write_decoder(tmp_path / "model.gguf", "qwen3", quantization=kind))
    (tmp_path / "folder").mkdir()
    folder = pretrained.open(write(tmp_path / "folder", "qwen3"))
    for path in ("token/embeddings", "block_1/attention/qkv/kernel", "block_3/feed_forward/output/kernel"):
        pair = []
        for weights in (read, folder):
            names = weights.stored_names(path, weights.stored_shapes())
            tensors = weights.read(names)
            pair.append(np.concatenate([tensors[name] for name in names], axis=-1))
        assert np.sqrt(np.mean((pair[0] - pair[1]) ** 2)) < limit * pair[1].std()


@pytest.mark.parametrize(
    ("kind", "message"), [("Q8_K", "output.weight: an unsupported quantization: received Q8_K.*such as Q8_0")]
)
def test_other_quantizations_are_refused(tmp_path, kind, message):
    quantization = gguf.GGMLQuantizationType[kind]
    _, size = gguf.GGML_QUANT_SIZES[quantization]
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_tensor("output.weight", np.zeros((1, size), np.uint8), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(tmp_path / "model.gguf").read(["output.weight"])


def test_an_unsupported_architecture_is_refused_with_the_nearest(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "qwen3moe")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match="general.architecture: the architecture .*received qwen3moe.*`qwen3`"):
        pretrained.open(tmp_path / "model.gguf").sizes()
