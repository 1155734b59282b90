"""Byte-level BPE in Hugging Face folders: tokenizer.json, or GPT-2's vocab.json and merges.txt."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import CheckpointError
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary, tokens_by_id
from tfattn.pretrained.contract import read_json

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"
END_OF_TEXT = "<|endoftext|>"

_BYTES = ("ByteLevel", None, False, True)
_PATTERNS = {(_BYTES,): "gpt2", (("Digits", True, None, None), _BYTES): "digits"}


class _Model(TypedDict):
    type: str
    vocab: dict[str, int]
    merges: list[str | tuple[str, str]]


class _Added(TypedDict):
    id: int
    content: str


class _Tokenizer(TypedDict):
    """The content of tokenizer.json, restricted to the fields that are read."""

    model: _Model
    added_tokens: list[_Added]
    normalizer: dict[str, Any] | None
    pre_tokenizer: dict[str, Any] | None


def read_tokens(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Read the arguments of `ByteBpe.adopt`.

    Args:
        folder: the folder of the published model.
        config: the content of its config.json, for the end token if the tokenizer has none.

    Raises:
        CheckpointError: the tokenizer has another algorithm.
        DataError: a file is missing or damaged, or tokens and merges do not match.
    """
    if not (folder / TOKENIZER).is_file():
        end = _end_token(folder) or END_OF_TEXT
        vocabulary = ByteVocabulary.read(folder, special=[end])
        return {"vocabulary": vocabulary, "pattern": "gpt2", "end_token": end}
    path = str(folder / TOKENIZER)
    known = files.read_json(path, _Tokenizer)
    pattern = _pattern(known, path)
    added = {token["content"]: token["id"] for token in known["added_tokens"]}
    tokens = tokens_by_id(known["model"]["vocab"] | added, path)
    end = _end_token(folder) or _config_end_token(config, tokens) or END_OF_TEXT
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in known["model"]["merges"])
    vocabulary = ByteVocabulary(tokens, tuple(map(tuple, pairs)), tuple(dict.fromkeys([end, *added])))
    vocabulary.check(path, lambda rank: f"{path}: merge {rank}")
    return {"vocabulary": vocabulary, "pattern": pattern, "end_token": end}


def _pattern(known: _Tokenizer, where: str) -> str:
    """Return the pattern of the pre-tokenizer."""
    first = known["pre_tokenizer"] or {}
    settings = ("type", "individual_digits", "add_prefix_space", "use_regex")
    steps = first.get("pretokenizers", []) if first.get("type") == "Sequence" else [first]
    found = tuple(tuple(step.get(name) for name in settings) for step in steps)
    if known["model"]["type"] != "BPE" or known["normalizer"] or found not in _PATTERNS:
        raise CheckpointError(
            "not supported",
            where=where,
            expected="byte-level BPE with the pre-tokenizer of GPT-2, with or without digit splitting",
            received=", ".join([known["model"]["type"], *(str(step.get("type")) for step in steps)]),
        )
    return _PATTERNS[found]


def _end_token(folder: Path) -> str | None:
    end = read_json(folder / SETTINGS).get("eos_token") if (folder / SETTINGS).is_file() else None
    return end.get("content") if isinstance(end, dict) else end


def _config_end_token(config: Mapping[str, Any], tokens: tuple[str, ...]) -> str | None:
    number = config.get("eos_token_id")
    number = number[0] if isinstance(number, list) and number else number
    return tokens[number] if type(number) is int and 0 <= number < len(tokens) else None
