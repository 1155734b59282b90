"""A GGUF file of llama.cpp: a Llama, with or without quantization, and its byte-level BPE."""

import glob
import re
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError, ConfigError, listed
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.pretrained.decoder_names import DecoderNames
from tfattn.pretrained.gguf_header import Header, StoredTensor, import_gguf, read_header
from tfattn.pretrained.gpt import PublishedGpt

SUFFIX = ".gguf"

HEADS, KEY_VALUE_HEADS = "llama.attention.head_count", "llama.attention.head_count_kv"
SIZES = {
    "hidden_dim": "llama.embedding_length",
    "num_layers": "llama.block_count",
    "num_heads": HEADS,
    "intermediate_dim": "llama.feed_forward_length",
    "max_sequence_length": "llama.context_length",
}
NAMES = DecoderNames(
    outer={"token": "token_embd", "norm": "output_norm", "output": "output"},
    block="blk.{}.",
    parts={
        "attention_norm": ("attn_norm",),
        "attention/qkv": ("attn_q", "attn_k", "attn_v"),
        "attention/output": ("attn_output",),
        "feed_forward_norm": ("ffn_norm",),
        "feed_forward/intermediate": ("ffn_gate", "ffn_up"),
        "feed_forward/output": ("ffn_down",),
    },
)
TABLES = ("token_embd.weight", "output.weight")
PATTERNS = {"gpt-2": "gpt2", "smollm": "digits"}
ROTARY_BASE = 10000.0  # the default of llama.cpp
ADD_BOS = "tokenizer.ggml.add_bos_token"
_NORMAL = 1  # the type of ordinary tokens


class GgufLlama(PublishedGpt):
    """A file of the architecture `llama` with byte-level BPE; quantized weights become float32.

    Args:
        folder: the file, or a folder with a single such file.

    Raises:
        ConfigError: the folder has several files.
    """

    description = f"a file *{SUFFIX} of the architecture llama (GGUF)"

    def __init__(self, folder: Path):
        files = _files(Path(folder))
        if len(files) > 1:
            raise ConfigError(
                "the folder has several models",
                key="pretrained",
                where=str(folder),
                expected="the path of a single file",
                received=listed(path.name for path in files),
            )
        (self._file,) = files
        self.weights = (glob.escape(self._file.name),)
        super().__init__(self._file.parent)

    @property
    def path(self) -> Path:
        return self._file

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return bool(_files(folder))

    def stated_sizes(self) -> dict[str, Any]:
        self._require("general.architecture", "llama")
        sizes = {ours: self._metadata(theirs, int) for ours, theirs in SIZES.items()}
        self._check_integers(sizes)
        self._check_supported(sizes["hidden_dim"] // sizes["num_heads"])
        tensors = self._header.tensors
        return {
            **sizes,
            "vocabulary_size": tensors[TABLES[0]].shape[0] if TABLES[0] in tensors else 0,
            "num_key_value_heads": self._metadata(KEY_VALUE_HEADS, int, sizes["num_heads"]),
            "epsilon": self._metadata("llama.attention.layer_norm_rms_epsilon", float),
            "positions": "rotary",
            "rotary_base": self._metadata("llama.rope.freq_base", float, ROTARY_BASE),
            "normalization": "rms_norm",
            "activation": "swiglu",
            "use_bias": False,
            "tied": TABLES[1] not in tensors,
            "dropout": 0.0,
        }

    def tokenization(self) -> dict[str, Any]:
        self._require("tokenizer.ggml.model", "gpt2")
        pattern = PATTERNS[self._require("tokenizer.ggml.pre", *PATTERNS)]
        if self._metadata(ADD_BOS, bool, False):
            raise CheckpointError(
                "a model with a start token before every text is not supported",
                where=f"{self.path}: {ADD_BOS}",
                expected="false",
                received="true",
            )
        tokens = self._metadata("tokenizer.ggml.tokens", list)
        kinds = self._metadata("tokenizer.ggml.token_type", np.ndarray, np.full(len(tokens), _NORMAL))
        merges = [tuple(merge.split(" ")) for merge in self._metadata("tokenizer.ggml.merges", list)]
        end = self._metadata("tokenizer.ggml.eos_token_id", int)
        if len(kinds) != len(tokens) or not 0 <= end < len(tokens) or any(len(merge) != 2 for merge in merges):
            raise CheckpointError(
                "the tokenizer is damaged",
                where=str(self.path),
                expected="a type of each token, an end token among them, and merges of two tokens",
                received=f"{len(tokens):,} tokens, {len(kinds):,} types, and {end} as end token",
            )
        special = [token for token, kind in zip(tokens, kinds.tolist(), strict=True) if kind != _NORMAL]
        special = tuple(dict.fromkeys([tokens[end], *special]))
        vocabulary = ByteVocabulary(tuple(tokens), tuple(merges), special)
        vocabulary.check(str(self.path), lambda rank: f"{self.path}: merge {rank}")
        return {"vocabulary": vocabulary, "pattern": pattern, "end_token": tokens[end]}

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tensor.shape for name, tensor in self._header.tensors.items()}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return NAMES.tensor_names(path)

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return {name: self._convert(name, self._values(name, self._header.tensors[name])) for name in names}

    def _values(self, name: str, tensor: StoredTensor) -> np.ndarray:
        gguf = import_gguf()
        content = np.memmap(self.path, np.uint8, "r", offset=tensor.start, shape=tensor.size)
        quantization = gguf.GGMLQuantizationType(tensor.quantization)
        try:
            values = gguf.dequantize(content.reshape(*tensor.shape[:-1], -1), quantization)
        except NotImplementedError:
            raise CheckpointError(
                "an unsupported quantization",
                where=f"{self.path}: {name}",
                received=quantization.name,
                remedy="Use the model in another quantization, such as Q8_0.",
            ) from None
        return np.asarray(values).reshape(tensor.shape)

    def _convert(self, name: str, value: np.ndarray) -> np.ndarray:
        if name in TABLES or value.ndim == 1:
            return value
        if re.search(r"\.attn_[qk]\.", name):
            heads = self._metadata(HEADS, int)
            heads = heads if ".attn_q." in name else self._metadata(KEY_VALUE_HEADS, int, heads)
            # llama.cpp interleaves the two components of a rotation; in the model they are half a head apart.
            value = value.reshape(heads, -1, 2, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        return value.T

    @cached_property
    def _header(self) -> Header:
        return read_header(self.path)

    def _metadata(self, name: str, kind: type, default: Any = None) -> Any:
        known = {**({} if default is None else {name: default}), **self._header.metadata}
        value = self._setting(known, name, self.path.name)
        if type(value) is not kind:
            received = type(value).__name__
            raise CheckpointError(
                "another type", where=f"{self.path}: {name}", expected=kind.__name__, received=received
            )
        return value

    def _require(self, name: str, *known: str) -> str:
        value = self._metadata(name, str)
        if value not in known:
            raise CheckpointError(
                "not supported", where=f"{self.path}: {name}", expected=" or ".join(known), received=value[:60]
            )
        return value

    def _check_supported(self, width: int) -> None:
        """Refuse settings that the model does not support; `width` is the width of a head."""
        for name in ("llama.rope.dimension_count", "llama.attention.key_length", "llama.attention.value_length"):
            if (found := self._metadata(name, int, width)) != width:
                where = f"{self.path}: {name}"
                raise CheckpointError("not supported", where=where, expected=str(width), received=str(found))
        if "llama.rope.scaling.type" in self._header.metadata:
            self._require("llama.rope.scaling.type", "none")
        layers = "|".join(name for names in NAMES.parts.values() for name in names)
        known = re.compile(rf"({'|'.join(NAMES.outer.values())}|blk\.\d+\.({layers}))\.weight")
        if others := [name for name in self._header.tensors if not known.fullmatch(name)]:
            raise CheckpointError(
                "not supported", where=str(self.path), expected="the tensors of a Llama", received=listed(others, 5)
            )


def _files(path: Path) -> list[Path]:
    """List the GGUF files of a path."""
    if path.is_file():
        return [path] if path.suffix == SUFFIX else []
    return sorted(path.glob(f"*{SUFFIX}"))
