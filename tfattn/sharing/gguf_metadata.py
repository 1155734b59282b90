"""The metadata of GGUF files: the sizes of a model, and its tokenizer."""

from collections.abc import Callable, Mapping
from typing import Any

from tfattn.errors import ExportError
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.preprocessing.sentencepiece_proto import CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from tfattn.pretrained.gguf_architectures import ARCHITECTURES
from tfattn.pretrained.gguf_decoder import SIZES
from tfattn.pretrained.gguf_tokens import PATTERNS
from tfattn.sharing.chat_jinja import chat_jinja
from tfattn.sharing.tokenizer_files import chat_template
from tfattn.sharing.trained_export import TrainedExport

Metadata = dict[str, Any]
Arguments = Mapping[str, Any]


def sizes(name: str, arguments: Arguments) -> Metadata:
    """Return the metadata of a model.

    Options that llama.cpp does not read from a file are left out: reading the file shows the difference.

    Args:
        name: the architecture.
        arguments: all arguments of `Gpt`.
    """
    architecture = ARCHITECTURES[name]
    head_dim = arguments["head_dim"] or arguments["hidden_dim"] // arguments["num_heads"]
    found = {
        **{theirs: arguments[ours] for ours, theirs in SIZES.items()},
        "vocab_size": arguments["vocabulary_size"],
        "attention.head_count_kv": arguments["num_key_value_heads"] or arguments["num_heads"],
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        architecture.epsilon: arguments["epsilon"],
    }
    if arguments["positions"] == "rotary":
        found |= _rotary(arguments, head_dim)
    if architecture.window_pattern is not None and arguments["window"] is not None:
        found["attention.sliding_window"] = arguments["window"]
    if architecture.soft_caps != (None, None):
        found["attn_logit_softcapping"] = arguments["attention_soft_cap"] or 0.0
        found["final_logit_softcapping"] = arguments["logit_soft_cap"] or 0.0
    if "norm" not in architecture.fixed:
        found["use_parallel_residual"] = arguments["norm"] == "parallel"
    return {f"{name}.{key}": value for key, value in found.items()}


def tokens(export: TrainedExport) -> Metadata:
    """Return the metadata of the tokenizer, with the chat template.

    Raises:
        ExportError: llama.cpp has no such tokenizer.
    """
    make = _TOKENIZERS.get(export.weights.preprocessor)
    found = None if make is None else make(export.weights.tokenization())
    if found is None:
        raise ExportError(
            "the tokenizer has no counterpart in llama.cpp",
            where=str(export.folder),
            expected=f"a language model with the preprocessing {' or '.join(_TOKENIZERS)}, as published",
            received=export.weights.preprocessor,
            remedy="Serve the SavedModel: tfattn serve.",
        )
    language = export.preprocessor
    start = language.start_token
    template = chat_template(export)
    return {
        **found,
        "tokenizer.ggml.bos_token_id": language.tokens.index(start or language.end_token),
        "tokenizer.ggml.eos_token_id": language.end_id,
        "tokenizer.ggml.add_bos_token": start is not None,
        **({} if template is None else {"tokenizer.chat_template": chat_jinja(template)}),
    }


def _rotary(arguments: Arguments, head_dim: int) -> Metadata:
    scaling = arguments["rotary_scaling"] or {}
    linear = {"rope.scaling.type": "linear", "rope.scaling.factor": float(scaling.get("factor", 1.0))}
    return {
        "rope.freq_base": float(arguments["rotary_base"]),
        "rope.dimension_count": round(head_dim * arguments["rotary_fraction"]),
        **(linear if scaling.get("name") == "linear" else {}),
    }


def _byte_bpe(tokenization: Mapping[str, Any]) -> Metadata | None:
    known: ByteVocabulary = tokenization["vocabulary"]
    wanted = tokenization["pattern"], tokenization.get("normalization"), known.has_whole_pieces
    pattern = next((name for name, settings in PATTERNS.items() if settings == wanted), None)
    if pattern is None:
        return None
    kinds = dict.fromkeys(known.text_tokens, USER_DEFINED) | dict.fromkeys(known.special, CONTROL)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pattern,
        "tokenizer.ggml.tokens": list(known.tokens),
        "tokenizer.ggml.token_type": [kinds.get(token, NORMAL) for token in known.tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in known.merges],
    }


def _piece_bpe(tokenization: Mapping[str, Any]) -> Metadata | None:
    known: PieceVocabulary = tokenization["vocabulary"]
    pieces = known.proto.pieces
    unknown = next((index for index, piece in enumerate(pieces) if piece.kind == UNKNOWN), None)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(known.tokens),
        "tokenizer.ggml.scores": [float(piece.score) for piece in pieces],
        "tokenizer.ggml.token_type": [piece.kind for piece in pieces],
        "tokenizer.ggml.add_space_prefix": known.prefix != "never",
        **({} if unknown is None else {"tokenizer.ggml.unknown_token_id": unknown}),
    }


_TOKENIZERS: dict[str, Callable[[Mapping[str, Any]], Metadata | None]] = {
    "byte_bpe": _byte_bpe,
    "piece_bpe": _piece_bpe,
}
