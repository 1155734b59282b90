"""GGUF files, which llama.cpp reads: a decoder with its tokenizer and chat template in one file."""

import re
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tfattn import files, pretrained
from tfattn.errors import CheckpointError, ExportError, listed
from tfattn.pretrained.gguf_architectures import ARCHITECTURES, GgufArchitecture
from tfattn.pretrained.gguf_decoder import SUFFIX
from tfattn.pretrained.gguf_header import import_gguf
from tfattn.sharing import counterparts, gguf_metadata, llama_cpp
from tfattn.sharing.trained_export import TrainedExport
from tfattn.trained import model_card

Precision = Literal["float32", "float16", "bfloat16", "q8_0"]
# The names of the package gguf for the types of matrices, and the numbers that llama.cpp gives to such files.
PRECISIONS: dict[Precision, tuple[str, int]] = {
    "float32": ("F32", 0),
    "float16": ("F16", 1),
    "bfloat16": ("BF16", 32),
    "q8_0": ("Q8_0", 7),
}
_INPUT, _OUTPUT = "token_embd.weight", "output.weight"
_BLOCK = 32  # values of a row that Q8_0 quantizes together
# The names of architectures in llama.cpp that differ from `model_type` in transformers.
_NAMES = {"gemma3_text": "gemma3", "gpt_neox": "gptneox", "mistral": "llama"}
# Architectures whose files have a table of the output, even if it is that of the input.
_WITH_OUTPUT = ("gptneox",)
_REMEDY = "Write it for transformers: --format hugging_face."


def write(export: TrainedExport, folder: Path, *, precision: Precision = "float16") -> None:
    """Write an export into an empty folder as NAME-PRECISION.gguf, with a model card, and compare it with llama.cpp.

    Args:
        export: the export of a language model.
        folder: the folder, whose content is discarded after an error.
        precision: of the matrices; vectors are always in float32.

    Raises:
        ConfigError: the package gguf is not installed.
        ExportError: llama.cpp has no such model or tokenizer, or continues a text differently.
    """
    gguf = import_gguf()
    tokens = gguf_metadata.tokens(export)
    found = counterparts.find(
        export.model,
        export.arguments,
        folder,
        preprocessor=export.weights.preprocessor,
        where=str(export.folder),
        special_ids={},
    )
    (folder / counterparts.CONFIG).unlink()
    name = _NAMES.get(found.architecture.model_type, found.architecture.model_type)
    if name not in ARCHITECTURES:
        raise ExportError(
            "llama.cpp does not read the architecture",
            where=str(export.folder),
            expected=listed(ARCHITECTURES),
            received=name,
            remedy=_REMEDY,
        )
    path = folder / f"{export.name}-{precision}{SUFFIX}"
    writer = gguf.GGUFWriter(path, name)
    metadata = {
        "general.name": export.name,
        "general.file_type": PRECISIONS[precision][1],
        "general.quantization_version": gguf.GGML_QUANT_VERSION,
        **gguf_metadata.sizes(name, export.arguments),
        **tokens,
    }
    for key, value in metadata.items():
        _add(writer, key, value)
    tensors = _tensors(export, ARCHITECTURES[name])
    if name in _WITH_OUTPUT:
        tensors = {_OUTPUT: tensors[_INPUT], **tensors}
    for tensor, value in tensors.items():
        kind = gguf.GGMLQuantizationType[_type_of(tensor, value, precision)]
        writer.add_tensor(tensor, gguf.quantize(value, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    _check(path, export, allowed={"tied"} if name in _WITH_OUTPUT else set())
    compared = llama_cpp.check(path, export, precision)
    card = model_card.text(
        export.folder,
        library="gguf",
        summary=f"The architecture `{name}` of llama.cpp, in {precision}.",
        use=f"```sh\nllama-cli -m {path.name}\n```",
        differences=["Names of special tokens in a prompt may be special tokens here."],
        check=compared,
    )
    files.write_text(folder / model_card.CARD, card)


def _check(path: Path, export: TrainedExport, *, allowed: Set[str]) -> None:
    """Check that `pretrained:` reads the same model and tokens from a file; some arguments are allowed to differ.

    Raises:
        ExportError: an argument of the model or of the tokenizer differs: llama.cpp has no such option.
    """
    weights = pretrained.open(path)
    try:
        compared = {name: value for name, value in export.arguments.items() if name not in allowed}
        found = counterparts.differences_of(weights, compared)
    except CheckpointError as error:
        found = [f"{error.received} ({error.expected})"]
    ours, theirs = export.weights.tokenization(), weights.tokenization()
    found += [
        f"{name}: {ours.get(name)} (there {theirs[name]})"
        for name in ("pattern", "normalization", "start_token", "end_token")
        if name in theirs and ours.get(name) != theirs[name]
    ]
    if (prefix := getattr(ours["vocabulary"], "prefix", None)) != getattr(theirs["vocabulary"], "prefix", None):
        found.append(f"the blank before a text: {prefix} (there {theirs['vocabulary'].prefix})")
    if found:
        raise ExportError(
            "the model has no counterpart in llama.cpp",
            where=str(export.folder),
            expected="the settings of that architecture in llama.cpp",
            received=listed(found),
            remedy=_REMEDY,
        )


def _tensors(export: TrainedExport, architecture: GgufArchitecture) -> dict[str, np.ndarray]:
    arguments, found = export.arguments, {}
    for path, value in export.values.items():
        names = architecture.names.tensor_names(path)
        for name, piece in zip(names, counterparts.split(value, len(names), arguments), strict=True):
            found[name] = np.ascontiguousarray(_stored(name, path, piece, architecture, arguments))
    return found


def _stored(
    name: str, path: str, value: np.ndarray, architecture: GgufArchitecture, arguments: Mapping[str, Any]
) -> np.ndarray:
    """Convert a weight to the layout of the file: (outputs, inputs), with interleaved rotations."""
    value = value if path.endswith("/embeddings") else value.T
    if architecture.is_interleaved and (kind := re.search(r"\.attn_([qk])\.", name)):
        heads = arguments["num_heads"]
        heads = heads if kind[1] == "q" else arguments["num_key_value_heads"] or heads
        value = value.reshape(heads, 2, -1, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)
    return value


def _type_of(name: str, value: np.ndarray, precision: Precision) -> str:
    """Return the type of a tensor: vectors and positions are small, and llama.cpp adds them in float32."""
    if value.ndim == 1 or name.startswith("position_embd"):
        return PRECISIONS["float32"][0]
    return PRECISIONS["float16" if precision == "q8_0" and value.shape[-1] % _BLOCK else precision][0]


def _add(writer: Any, key: str, value: Any) -> None:
    kinds = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }
    kinds[type(value)](key, value)
