"""A folder with a DistilBERT as ONNX, with or without int8 weights, and its tokenizer.json."""

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.pretrained.bert import PublishedBert, original_names
from tfattn.pretrained.onnx_file import OnnxFile

TOKENIZER, SUFFIX = "tokenizer.json", ".onnx"

HEAD_WIDTH = 64  # of all published DistilBERTs; the graph has it only in its reshapes
PREFIX = "distilbert."
TOKENS, POSITIONS = f"{PREFIX}embeddings.word_embeddings.weight", f"{PREFIX}embeddings.position_embeddings.weight"
FEED_FORWARD = f"{PREFIX}transformer.layer.0.ffn.lin1.weight"
LAYER = re.compile(rf"{re.escape(PREFIX)}transformer\.layer\.(\d+)\.")
SEGMENTS = "segments"  # DistilBERT has none: a table of zeros, which training can change

# Parts of BERT's names and those of DistilBERT.
NAMES = {
    "encoder.layer.": "transformer.layer.",
    ".attention.self.query": ".attention.q_lin",
    ".attention.self.key": ".attention.k_lin",
    ".attention.self.value": ".attention.v_lin",
    ".attention.output.dense": ".attention.out_lin",
    ".attention.output.LayerNorm": ".sa_layer_norm",
    ".intermediate.dense": ".ffn.lin1",
    ".output.dense": ".ffn.lin2",
    ".output.LayerNorm": ".output_layer_norm",
}


class OnnxDistilBert(PublishedBert):
    """A DistilBERT as PyTorch exports it to ONNX: a BERT without segments and pooler.

    The table of segments starts with zeros, so that the outputs are those of DistilBERT until training changes it. The
    pooler keeps its initial weights. Matrices with int8 weights become float32.
    """

    description = f"a file *{SUFFIX} of a DistilBERT, and {TOKENIZER} (ONNX)"
    weights = (f"*{SUFFIX}",)

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / TOKENIZER).is_file() and len(list(folder.glob(f"*{SUFFIX}"))) == 1

    @property
    def path(self) -> Path:
        return self.tensor_file.path

    def sizes(self) -> dict[str, Any]:
        shapes = self.tensor_file.shapes()
        if missing := [name for name in (TOKENS, POSITIONS, FEED_FORWARD) if name not in shapes]:
            raise CheckpointError(
                "not supported",
                where=str(self.path),
                expected=f"a DistilBERT, with {missing[0]}",
                received="no such tensor",
            )
        vocabulary_size, hidden_dim = shapes[TOKENS]
        layers = {
            re.sub(r".*layer\.(\d+)\..*", r"\1", name) for name in shapes if f"{PREFIX}transformer.layer." in name
        }
        return {
            "vocabulary_size": vocabulary_size,
            "hidden_dim": hidden_dim,
            "num_layers": len(layers),
            "num_heads": hidden_dim // HEAD_WIDTH,
            "intermediate_dim": shapes[FEED_FORWARD][1],
            "max_sequence_length": shapes[POSITIONS][0],
            "num_segments": 2,
            "dropout": 0.1,
            "attention_dropout": 0.1,
            "activation": "gelu",
            "layer_norm_epsilon": 1e-12,
            "initializer_range": 0.02,
        }

    @property
    def vocabulary(self) -> Path:
        return self._existing(TOKENIZER)

    @cached_property
    def tensor_file(self) -> OnnxFile:
        (path,) = self.folder.glob(f"*{SUFFIX}")
        return OnnxFile(path)

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = self.sizes()
        return {**self.tensor_file.shapes(), SEGMENTS: (sizes["num_segments"], sizes["hidden_dim"])}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if path == "embeddings/segment/embeddings":
            return (SEGMENTS,)
        return tuple(map(_translate, original_names(path)))

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        names = list(names)
        tensors = self.tensor_file.read([name for name in names if name != SEGMENTS])
        return {name: tensors[name] if name in tensors else np.zeros(self.stored_shapes()[name]) for name in names}


def _translate(original: str) -> str:
    name = re.sub(r"layer_(\d+)", r"layer.\1", original).replace("/", ".")
    if name.endswith("_embeddings"):
        name += ".weight"
    for theirs, ours in NAMES.items():
        name = name.replace(theirs, ours)
    return PREFIX + re.sub(r"(kernel|gamma)$", "weight", re.sub(r"beta$", "bias", name))
