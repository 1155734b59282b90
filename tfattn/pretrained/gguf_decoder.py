"""A GGUF file of llama.cpp: a decoder, with or without quantization, and its tokenizer."""

import glob
import re
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError, ConfigError, listed
from tfattn.pretrained.contract import unsupported_architecture
from tfattn.pretrained.gguf_architectures import ARCHITECTURES, ROPE_FREQUENCIES, TABLES, GgufArchitecture
from tfattn.pretrained.gguf_header import Header, StoredTensor, import_gguf, read_header
from tfattn.pretrained.gguf_tokens import read_tokens
from tfattn.pretrained.gpt import PublishedGpt
from tfattn.pretrained.tokenization import Tokenization

SUFFIX = ".gguf"

_ARCHITECTURE = "general.architecture"
SIZES = {
    "hidden_dim": "embedding_length",
    "num_layers": "block_count",
    "num_heads": "attention.head_count",
    "intermediate_dim": "feed_forward_length",
    "max_sequence_length": "context_length",
}
_ROTARY_BASE = 10000.0  # the default of llama.cpp


class GgufDecoder(PublishedGpt):
    """A GGUF file with the weights and the tokenizer of a decoder; quantized weights become float32.

    Args:
        folder: the file, or a folder with a single such file.

    Raises:
        ConfigError: the folder has several files.
    """

    description = f"a file *{SUFFIX} of the architecture {', '.join(ARCHITECTURES)} (GGUF)"

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
        architecture = self._architecture
        sizes = {ours: self._metadata(theirs, int) for ours, theirs in SIZES.items()}
        self.check_values(sizes)
        self._refuse_other_tensors()
        shapes = self.stored_shapes()
        head_dim = self._metadata("attention.key_length", int, sizes["hidden_dim"] // sizes["num_heads"])
        self._require("attention.value_length", head_dim, default=head_dim)
        return {
            **sizes,
            "vocabulary_size": shapes.get(TABLES[0], (0,))[0],
            "num_key_value_heads": self._metadata("attention.head_count_kv", int, sizes["num_heads"]),
            "head_dim": head_dim,
            "epsilon": self._metadata(architecture.epsilon, float),
            "use_bias": "blk.0.ffn_up.bias" in shapes,
            "attention_bias": self._attention_bias(shapes),
            "tied": "output.weight" not in shapes,
            "dropout": 0.0,
            **architecture.fixed,
            **(self._rotary(head_dim) if architecture.fixed["positions"] == "rotary" else {}),
            **self._windows(sizes["num_layers"]),
            **self._scores(sizes, head_dim),
        }

    @property
    def preprocessor(self) -> str:
        return self._tokens.preprocessor

    def tokenization(self) -> dict[str, Any]:
        return self._tokens.arguments

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        # The factors of rotary positions are an option of the model, not a weight.
        return {name: tensor.shape for name, tensor in self._header.tensors.items() if name != ROPE_FREQUENCIES}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return self._architecture.names.tensor_names(path)

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
        if name in TABLES:
            return value
        if self._architecture.is_interleaved and re.search(r"\.attn_[qk]\.", name):
            heads = self._metadata("attention.head_count", int)
            heads = heads if ".attn_q." in name else self._metadata("attention.head_count_kv", int, heads)
            value = value.reshape(heads, -1, 2, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)
        return value.T

    @cached_property
    def _header(self) -> Header:
        return read_header(self.path)

    @cached_property
    def _tokens(self) -> Tokenization:
        size = self.stored_shapes().get(TABLES[0], (0,))[0]
        return read_tokens(self._header.metadata, str(self.path), size=size)

    @property
    def _architecture(self) -> GgufArchitecture:
        name = self._setting(self._header.metadata, _ARCHITECTURE, self.path.name)
        if name not in ARCHITECTURES:
            raise unsupported_architecture(f"{self.path}: {_ARCHITECTURE}", str(name), ARCHITECTURES)
        return ARCHITECTURES[name]

    def _attention_bias(self, shapes: Collection[str]) -> str:
        if "blk.0.attn_output.bias" in shapes:
            return "all"
        return "qkv" if {"blk.0.attn_q.bias", "blk.0.attn_qkv.bias"}.intersection(shapes) else "none"

    def _rotary(self, head_dim: int) -> dict[str, Any]:
        """Read the settings of rotary positions."""
        width = self._metadata("rope.dimension_count", int, head_dim)
        factor = self._metadata("rope.scaling.factor", float, 1.0)
        kind = self._require("rope.scaling.type", "none", "linear", "yarn", default="none")
        scaling: dict[str, Any] | None = None
        if ROPE_FREQUENCIES in self._header.tensors:
            factors = self._values(ROPE_FREQUENCIES, self._header.tensors[ROPE_FREQUENCIES])
            scaling = {"name": "factors", "factors": [float(str(value)) for value in factors.astype("float32")]}
        elif kind == "linear":
            scaling = {"name": "linear", "factor": factor}
        elif kind == "yarn":
            scaling = self._yarn(factor)
        return {
            "rotary_base": self._metadata("rope.freq_base", float, _ROTARY_BASE),
            "rotary_fraction": width / head_dim,
            "rotary_scaling": scaling,
            **self._unrotated(),
        }

    def _yarn(self, factor: float) -> dict[str, Any]:
        # llama.cpp multiplies its factor by 0.1 ln(factor) + 1.
        stated = self._metadata("rope.scaling.attn_factor", float, 1.0)
        stated = self._metadata("rope.scaling.yarn_attn_factor", float, stated)
        return {
            "name": "yarn",
            "factor": factor,
            "original_length": self._metadata("rope.scaling.original_context_length", int),
            "beta_fast": self._metadata("rope.scaling.yarn_beta_fast", float, 32.0),
            "beta_slow": self._metadata("rope.scaling.yarn_beta_slow", float, 1.0),
            "attention_factor": stated * (0.1 * float(np.log(max(factor, 1.0))) + 1.0),
            "truncate": True,
        }

    def _unrotated(self) -> dict[str, Any]:
        interval, depth = self._architecture.unrotated_interval, self._metadata("block_count", int)
        return {} if interval is None else {"unrotated_layers": list(range(interval - 1, depth, interval))}

    def _windows(self, depth: int) -> dict[str, Any]:
        architecture = self._architecture
        window = self._metadata("attention.sliding_window", int, architecture.default_window or 0)
        if window == 0:
            return {}
        found = {"window": window, "global_layers": self._global_layers(depth)}
        if architecture.local_rotary_base is not None:
            found["local_rotary_base"] = self._metadata("rope.freq_base_swa", float, architecture.local_rotary_base)
        return found

    def _global_layers(self, depth: int) -> list[int]:
        """Return the layers without a window: by an interval, or stated for each layer."""
        name = f"{self._header.metadata[_ARCHITECTURE]}.attention.sliding_window_pattern"
        pattern = self._header.metadata.get(name, self._architecture.window_pattern or 0)
        if isinstance(pattern, np.ndarray) and len(pattern) == depth:
            return [index for index in range(depth) if not pattern[index]]
        if type(pattern) is not int:
            raise CheckpointError(
                "not supported",
                where=f"{self.path}: {name}",
                expected=f"an interval, or a value for each of {depth} layers",
                received=str(pattern)[:60],
            )
        return list(range(pattern - 1, depth, pattern)) if pattern else []

    def _scores(self, sizes: dict[str, Any], head_dim: int) -> dict[str, Any]:
        """Read the scale and the soft caps of scores, and how the sublayers are connected."""
        architecture = self._architecture
        by_width = sizes["num_layers"] == architecture.scales_by_width
        width = sizes["hidden_dim"] / sizes["num_heads"] if by_width else head_dim
        scores, logits = architecture.soft_caps
        found = {
            "query_scale": self._metadata("attention.scale", float, width**-0.5) or width**-0.5,
            "attention_soft_cap": self._metadata("attn_logit_softcapping", float, scores or 0.0) or None,
            "logit_soft_cap": self._metadata("final_logit_softcapping", float, logits or 0.0) or None,
        }
        if "norm" not in architecture.fixed:
            found["norm"] = "parallel" if self._metadata("use_parallel_residual", bool, False) else "pre"
        return found

    def _metadata(self, name: str, kind: type, default: Any = None) -> Any:
        """Return a value of the architecture; the default if the file does not state it."""
        name = f"{self._header.metadata[_ARCHITECTURE]}.{name}"
        known = {**({} if default is None else {name: default}), **self._header.metadata}
        value = self._setting(known, name, self.path.name)
        if type(value) is not kind:
            received = type(value).__name__
            raise CheckpointError(
                "another type", where=f"{self.path}: {name}", expected=kind.__name__, received=received
            )
        return value

    def _require(self, name: str, *known: Any, default: Any) -> Any:
        value = self._metadata(name, type(default), default)
        if value not in known:
            raise CheckpointError(
                "not supported",
                where=f"{self.path}: {self._header.metadata[_ARCHITECTURE]}.{name}",
                expected=" or ".join(map(str, known)),
                received=str(value)[:60],
            )
        return value

    def _refuse_other_tensors(self) -> None:
        names = self._architecture.names
        layers = "|".join(re.escape(name) for inner in names.parts.values() for name in inner)
        known = re.compile(rf"({'|'.join(names.outer.values())}|rope_freqs|blk\.\d+\.({layers}))\.(weight|bias)")
        if others := [name for name in self._header.tensors if not known.fullmatch(name)]:
            raise CheckpointError(
                "not supported",
                where=str(self.path),
                expected=f"the tensors of a {self._header.metadata[_ARCHITECTURE]}",
                received=listed(others, 5),
            )


def _files(path: Path) -> list[Path]:
    """List the GGUF files of a path."""
    if path.is_file():
        return [path] if path.suffix == SUFFIX else []
    return sorted(path.glob(f"*{SUFFIX}"))
