"""Tokenizers in Hugging Face folders of decoders: tokenizer.json, tokenizer.model, or vocab.json with merges.txt."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats.chat_template import CHATML, recognize_format
from tfattn.preprocessing.byte_vocabulary import VOCABULARY, ByteVocabulary, tokens_by_id
from tfattn.preprocessing.merges import Merge
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary, Prefix
from tfattn.preprocessing.sentencepiece_proto import CONTROL, UNKNOWN, USER_DEFINED
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.tokenization import SpecialTokens, Tokenization, byte_bpe, piece_bpe, unsupported_tokenizer

TOKENIZER, MODEL, SETTINGS = "tokenizer.json", "tokenizer.model", "tokenizer_config.json"
CHAT_TEMPLATE = "chat_template.jinja"
END_OF_TEXT, END_OF_SENTENCE, START_OF_SENTENCE = "<|endoftext|>", "</s>", "<s>"

_REMEDY = "Download the folder again."
_CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
_PLAIN_BYTES = {**_BYTES, "use_regex": False}
_DIGITS = {"type": "Digits", "individual_digits": True}


def _split(digits: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": _CL100K % digits}, "behavior": "Isolated", "invert": False}


# The steps of pre-tokenizers of byte-level BPE.
_PATTERNS: list[tuple[str, list[dict[str, Any]]]] = [
    ("gpt2", [_BYTES]),
    ("digits", [_DIGITS, _BYTES]),
    ("llama3", [_split(r"\p{N}{1,3}"), _PLAIN_BYTES]),
    ("qwen2", [_split(r"\p{N}"), _PLAIN_BYTES]),
]
# The normalizer and the pre-tokenizer of BPE of whole texts, and the blank before a text.
_TO_BLANKS = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
_METASPACE = {"type": "Metaspace", "replacement": "▁", "split": False}
_PREFIXES: list[tuple[Prefix, list[dict[str, Any]], list[dict[str, Any]]]] = [
    ("always", [{"type": "Prepend", "prepend": "▁"}, _TO_BLANKS], []),
    ("never", [_TO_BLANKS], []),
    ("never", [_TO_BLANKS], [{"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}]),
    ("unless_blank", [], [{**_METASPACE, "prepend_scheme": "first"}]),
    ("unless_blank", [], [{**_METASPACE, "prepend_scheme": "always"}]),
    ("never", [], [{**_METASPACE, "prepend_scheme": "never"}]),
]
# Tokenizers without a tokenizer.json: pattern and normalization by class.
_CLASSES = {"Qwen2Tokenizer": ("qwen2", "nfc"), "GPTNeoXTokenizer": ("gpt2", "nfc")}


class _Model(TypedDict):
    type: str
    vocab: dict[str, int]
    merges: list[Any]
    byte_fallback: NotRequired[bool]
    ignore_merges: NotRequired[bool]
    unk_token: NotRequired[str | None]


class _Added(TypedDict):
    id: int
    content: str
    special: NotRequired[bool]
    single_word: NotRequired[bool]
    lstrip: NotRequired[bool]
    rstrip: NotRequired[bool]


class _Tokenizer(TypedDict):
    """The content of tokenizer.json, restricted to the fields that are read."""

    model: _Model
    added_tokens: list[_Added]
    normalizer: NotRequired[dict[str, Any] | None]
    pre_tokenizer: NotRequired[dict[str, Any] | None]
    post_processor: NotRequired[dict[str, Any] | None]


def read_tokens(folder: Path, config: Mapping[str, Any], *, size: int) -> Tokenization:
    """Read the tokenizer of a decoder.

    Args:
        folder: the folder of the published model.
        config: the content of its config.json, for the end token if the tokenizer has none.
        size: the number of rows of the model's table of tokens.

    Raises:
        CheckpointError: the tokenizer has another algorithm.
        DataError: a file is missing or damaged, or tokens and merges do not match.
    """
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    if (folder / TOKENIZER).is_file():
        return _read_json_tokenizer(folder, settings, config, size)
    if (folder / MODEL).is_file():
        return _read_model(folder, settings, size)
    end = _content(settings.get("eos_token")) or END_OF_TEXT
    added = {content: row for row, content, _ in _decoder(settings)}
    rows = len(read_json(folder / VOCABULARY)) if added else 0
    special = dict.fromkeys([end, *(name for name, row in added.items() if row < rows)])
    known = ByteVocabulary.read(folder, special=list(special))
    ids = known.ids | added
    pattern, normalization = _CLASSES.get(str(settings.get("tokenizer_class")), ("gpt2", None))
    tokens = SpecialTokens(end, _start(settings, None), tuple(added), (), _chat_format(folder, settings, CHATML))
    return byte_bpe(
        ids, known.merges, tokens, size=size, where=str(folder), pattern=pattern, normalization=normalization
    )


def _read_json_tokenizer(
    folder: Path, settings: Mapping[str, Any], config: Mapping[str, Any], size: int
) -> Tokenization:
    path = str(folder / TOKENIZER)
    known = _parse(path)
    model, added = known["model"], known["added_tokens"]
    special = {token["content"] for token in added if token.get("special")}
    ids = model["vocab"] | {token["content"]: token["id"] for token in added}
    end = _content(settings.get("eos_token")) or _config_end_token(config, ids)
    start = _start(settings, _template_start(known, path))
    is_bytes = any(step.get("type") == "ByteLevel" for step in _steps(known.get("pre_tokenizer")))
    end = end or (END_OF_TEXT if is_bytes else END_OF_SENTENCE)
    own = {*special, end, start}
    text_tokens = [token for token in added if token["content"] not in own]
    for token in text_tokens:
        for option in ("single_word", "lstrip", "rstrip"):
            if token.get(option):
                raise unsupported_tokenizer(f"{path}: {token['content']!r}", f"{option} to be false", "true")
    found = SpecialTokens(
        end,
        start,
        tuple(sorted(special, key=ids.__getitem__)),
        tuple(token["content"] for token in text_tokens),
        _chat_format(folder, settings, CHATML if is_bytes else None),
    )
    merges = _merges(model["merges"], path)
    normalizers = _steps(known.get("normalizer"))
    if is_bytes:
        if normalizers not in ([], [{"type": "NFC"}]):
            raise unsupported_tokenizer(path, "no normalizer, or NFC", [step.get("type") for step in normalizers])
        return byte_bpe(
            ids,
            merges,
            found,
            size=size,
            where=path,
            has_whole_pieces=model.get("ignore_merges", False),
            pattern=_pattern(known, path),
            normalization="nfc" if normalizers else None,
        )
    kinds = dict.fromkeys((*found.special, end, *([start] if start else [])), CONTROL)
    kinds |= dict.fromkeys(found.text_tokens, USER_DEFINED)
    if (unknown := model.get("unk_token")) is not None:
        kinds[unknown] = UNKNOWN
    names = tokens_by_id(model["vocab"], path)
    vocabulary = PieceVocabulary.of_merges(names, merges, kinds=kinds, prefix=_prefix(known, path))
    tokens = {token["content"]: token["id"] for token in added}
    return piece_bpe(vocabulary.with_kinds(kinds, tokens, size=size), found, where=path)


def _read_model(folder: Path, settings: Mapping[str, Any], size: int) -> Tokenization:
    """Read tokenizer.model, and the tokens that tokenizer_config.json adds."""
    path = folder / MODEL
    vocabulary = PieceVocabulary.read(files.read_bytes(path, remedy=_REMEDY), where=str(path))
    added = _decoder(settings)
    end = _content(settings.get("eos_token")) or END_OF_SENTENCE
    start = _start({"bos_token": START_OF_SENTENCE, "add_bos_token": True, **settings}, None)
    kinds = {name: CONTROL if is_special else USER_DEFINED for _, name, is_special in added}
    kinds |= {name: CONTROL for name in (end, start) if name}
    kinds |= {piece.text: piece.kind for piece in vocabulary.proto.pieces if piece.kind == UNKNOWN}
    vocabulary = vocabulary.with_kinds(kinds, {name: row for row, name, _ in added}, size=size)
    found = SpecialTokens(end, start, (), (), _chat_format(folder, settings, None))
    return piece_bpe(vocabulary, found, where=str(path))


def pre_tokenizer(pattern: str) -> dict[str, Any]:
    """Return the pre-tokenizer in tokenizer.json for a pattern of byte-level BPE.

    Example:
        >>> pre_tokenizer("gpt2")
        {'type': 'ByteLevel', 'add_prefix_space': False, 'use_regex': True, 'trim_offsets': True}
    """
    found = next(steps for name, steps in _PATTERNS if name == pattern)
    steps = [{**step, "trim_offsets": True} if step["type"] == "ByteLevel" else step for step in found]
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}


def prefix_steps(prefix: Prefix) -> dict[str, Any]:
    """Return the normalizer and the pre-tokenizer of BPE of whole texts, for the blank before a text."""
    _, normalizers, steps = next(known for known in _PREFIXES if known[0] == prefix)
    return {
        "normalizer": {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
        "pre_tokenizer": steps[0] if steps else None,
    }


def _parse(path: str) -> _Tokenizer:
    content = read_json(Path(path))
    kind = content["model"].get("type") if isinstance(content.get("model"), dict) else None
    if isinstance(kind, str) and kind != "BPE":
        raise unsupported_tokenizer(path, "BPE", kind)
    try:
        return TypeAdapter(_Tokenizer).validate_python(content)
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"]))
        raise DataError(
            "a damaged tokenizer", where=f"{path}: {where}", expected=detail["msg"], received="another value"
        ) from None


def _merges(values: list[Any], path: str) -> list[Merge]:
    """Return merges, which are strings with a blank, or lists of two tokens."""
    found = [tuple(value.split(" ") if isinstance(value, str) else value) for value in values]
    if wrong := [merge for merge in found if len(merge) != 2]:
        raise DataError("a damaged tokenizer", where=path, expected="merges of two tokens", received=str(wrong[0])[:60])
    return found


def _steps(part: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the steps of a normalizer or pre-tokenizer."""
    if not part:
        return []
    inner = part.get("pretokenizers", part.get("normalizers", part.get("processors")))
    return [step for one in inner for step in _steps(one)] if part.get("type") == "Sequence" else [dict(part)]


def _pattern(known: _Tokenizer, where: str) -> str:
    """Return the pattern of the pre-tokenizer of byte-level BPE."""
    steps = _steps(known.get("pre_tokenizer"))
    for pattern, expected in _PATTERNS:
        if _agree(steps, expected):
            return pattern
    names = ", ".join(pattern for pattern, _ in _PATTERNS)
    described = [step.get("pattern", step.get("type")) for step in steps]
    raise unsupported_tokenizer(where, f"byte-level BPE with the pre-tokenizer of {names}", described)


def _prefix(known: _Tokenizer, where: str) -> Prefix:
    """Return the blank before a text of BPE of whole texts."""
    normalizers, steps = _steps(known.get("normalizer")), _steps(known.get("pre_tokenizer"))
    for prefix, *expected in _PREFIXES:
        if _agree(normalizers, expected[0]) and _agree(steps, expected[1]):
            return prefix
    described = [step.get("type") for step in (*normalizers, *steps)]
    raise unsupported_tokenizer(where, "byte-level BPE, or BPE of texts with ▁ for blanks", described)


def _agree(steps: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Return whether steps have the expected settings."""
    return len(steps) == len(expected) and all(
        all(step.get(name) == value for name, value in settings.items())
        for step, settings in zip(steps, expected, strict=True)
    )


def _template_start(known: _Tokenizer, where: str) -> str | None:
    """Return the token that the post-processor puts before texts."""
    for step in _steps(known.get("post_processor")):
        if step.get("type") == "TemplateProcessing":
            parts = [next(iter(part)) for part in step.get("single", [])]
            names = [part["SpecialToken"]["id"] for part in step["single"] if "SpecialToken" in part]
            if parts == ["SpecialToken", "Sequence"]:
                return names[0]
            if parts != ["Sequence"]:
                raise unsupported_tokenizer(where, "at most one token before a text, and none after it", names)
    return None


def _start(settings: Mapping[str, Any], by_template: str | None) -> str | None:
    """Return the token before every document."""
    adds = settings.get("add_bos_token")
    if adds is None:
        return by_template
    return _content(settings.get("bos_token")) if adds else None


def _content(token: Any) -> str | None:
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None


def _decoder(settings: Mapping[str, Any]) -> list[tuple[int, str, bool]]:
    """Return the added tokens of tokenizer_config.json: the id, the name, and whether it is special."""
    added = settings.get("added_tokens_decoder")
    if not isinstance(added, dict):
        return []
    return [
        (int(row), token["content"], bool(token.get("special")))
        for row, token in added.items()
        if re.fullmatch(r"\d+", row) and isinstance(token, dict) and isinstance(token.get("content"), str)
    ]


def _chat_format(folder: Path, settings: Mapping[str, Any], default: str | None) -> str | None:
    """Return the format of chats; the default if there is no template, and None if it is unknown."""
    template = settings.get("chat_template")
    if isinstance(template, list):  # several templates by name
        named = {item.get("name"): item.get("template") for item in template if isinstance(item, dict)}
        template = named.get("default")
    if (folder / CHAT_TEMPLATE).is_file():
        template = files.read_bytes(folder / CHAT_TEMPLATE, remedy=_REMEDY).decode("utf-8", "replace")
    return recognize_format(template) if isinstance(template, str) else default


def _config_end_token(config: Mapping[str, Any], ids: Mapping[str, int]) -> str | None:
    number = config.get("eos_token_id")
    number = number[0] if isinstance(number, list) and number else number
    return next((name for name, row in ids.items() if row == number), None) if type(number) is int else None
