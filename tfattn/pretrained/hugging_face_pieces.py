"""SentencePiece tokens in Hugging Face folders of encoder-decoders: those of Marian and of T5."""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import CheckpointError
from tfattn.preprocessing import sentencepiece_proto as proto
from tfattn.preprocessing.byte_vocabulary import tokens_by_id
from tfattn.preprocessing.published_vocabulary import PublishedVocabulary
from tfattn.pretrained.contract import read_json

SETTINGS, TOKENIZER = "tokenizer_config.json", "tokenizer.json"
SOURCE_MODEL, TARGET_MODEL, VOCABULARY, TARGET_VOCABULARY = (
    "source.spm",
    "target.spm",
    "vocab.json",
    "target_vocab.json",
)
T5_MODEL = "spiece.model"
PADDING, UNKNOWN = "<pad>", "<unk>"
NUM_SENTINELS = 100  # of T5: <extra_id_99> to <extra_id_0>, after all pieces


class _Model(TypedDict):
    type: str
    unk_id: int
    vocab: list[tuple[str, float]]


class _Added(TypedDict):
    id: int
    content: str


class _Tokenizer(TypedDict):
    """The content of tokenizer.json, restricted to the fields that are read."""

    model: _Model
    added_tokens: list[_Added]
    normalizer: dict[str, Any] | None


def read_marian(
    folder: Path, config: Mapping[str, Any], *, start_id: int, end_id: int, suppressed_ids: tuple[int, ...]
) -> dict[str, Any]:
    """Read the arguments of `SentencePiece.adopt` from the files of a MarianTokenizer.

    Args:
        folder: the folder of the published model.
        config: the content of its config.json.
        start_id, end_id, suppressed_ids: as PublishedVocabulary.

    Raises:
        CheckpointError: the vocabularies are not of the sizes of the model.
        DataError: a file is missing or damaged.
    """
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    target = TARGET_VOCABULARY if settings.get("separate_vocabs") else VOCABULARY
    sizes = config["vocab_size"], config.get("decoder_vocab_size") or config["vocab_size"]
    sides = []
    for model, vocabulary, size in zip((SOURCE_MODEL, TARGET_MODEL), (VOCABULARY, target), sizes, strict=True):
        path = folder / vocabulary
        tokens = tokens_by_id(files.read_json(path, dict[str, int]), str(path))
        if len(tokens) != size or not {PADDING, UNKNOWN} <= set(tokens):
            raise CheckpointError(
                "the vocabulary is not of the model",
                where=str(path),
                expected=f"{size} tokens, {PADDING} and {UNKNOWN} among them",
                received=f"{len(tokens)} tokens" + f" without {UNKNOWN} or {PADDING}" * (len(tokens) == size),
            )
        padding_id, unknown_id = tokens.index(PADDING), tokens.index(UNKNOWN)
        sides.append(
            PublishedVocabulary(
                content=files.read_bytes(folder / model, remedy=""),
                tokens=tokens,
                start_id=start_id,
                end_id=end_id,
                padding_id=padding_id,
                unknown_id=unknown_id,
                special_ids=tuple(sorted({end_id, padding_id, unknown_id})),
                suppressed_ids=suppressed_ids,
                has_codes=True,
            )
        )
        sides[-1].check(str(path))
    return {"vocabularies": sides}


def read_t5(
    folder: Path, config: Mapping[str, Any], *, start_id: int, end_id: int, suppressed_ids: tuple[int, ...]
) -> dict[str, Any]:
    """Read the arguments of `SentencePiece.adopt` from spiece.model, or from the tokenizer.json of a T5Tokenizer.

    The tokens are those of the file, then sentinels, then unused tokens up to the size of the model.

    Args:
        folder: the folder of the published model.
        config: the content of its config.json.
        start_id, end_id, suppressed_ids: as PublishedVocabulary.

    Raises:
        CheckpointError: the tokenizer has another algorithm, or more tokens than the model.
        DataError: a file is missing or damaged.
    """
    size, padding_id = config["vocab_size"], config.get("pad_token_id", 0)
    if (folder / T5_MODEL).is_file() or not (folder / TOKENIZER).is_file():
        path = folder / T5_MODEL
        content = files.read_bytes(path, remedy="")
        known, unknown_id = _pieces_of(content, str(path))
        added = {f"<extra_id_{n}>": len(known) + NUM_SENTINELS - 1 - n for n in range(NUM_SENTINELS)}
    else:
        path = folder / TOKENIZER
        content, known, unknown_id, added = _read_unigram(path)
    found = dict(enumerate(known)) | {number: token for token, number in added.items()}
    if max(found) >= size:
        # Small models may have no sentinels.
        found = {number: token for number, token in found.items() if number < max(size, len(known))}
    if max(found) >= size:
        raise CheckpointError(
            "the vocabulary is not of the model",
            where=str(path),
            expected=f"at most {size} tokens",
            received=f"{max(found) + 1} tokens",
        )
    unused = [number for number in range(size) if number not in found]
    tokens = tuple(found.get(number, f"<unused_{number}>") for number in range(size))
    sentinels = [number for number in added.values() if number < size]
    vocabulary = PublishedVocabulary(
        content=content,
        tokens=tokens,
        start_id=start_id,
        end_id=end_id,
        padding_id=padding_id,
        unknown_id=unknown_id,
        special_ids=tuple(sorted({end_id, padding_id, unknown_id, *sentinels, *unused})),
        suppressed_ids=suppressed_ids,
    )
    vocabulary.check(str(path))
    return {"vocabularies": [vocabulary]}


def _pieces_of(content: bytes, where: str) -> tuple[list[str], int]:
    """Return the pieces of a SentencePiece model, and the id of the unknown piece."""
    pieces = proto.Proto.decode(content, where).pieces
    kinds = [piece.kind for piece in pieces]
    return [piece.text for piece in pieces], kinds.index(proto.UNKNOWN)


def _read_unigram(path: Path) -> tuple[bytes, list[str], int, dict[str, int]]:
    """Convert the unigram model of a tokenizer.json to a SentencePiece model.

    Returns:
        the model, its pieces, the id of the unknown piece, and the added tokens with their ids.
    """
    tokenizer = files.read_json(path, _Tokenizer)
    model, added = tokenizer["model"], {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    if model["type"] != "Unigram":
        raise CheckpointError("not supported", where=str(path), expected="type to be Unigram", received=model["type"])
    known = [token for token, _ in model["vocab"]]
    unknown_id = model["unk_id"]
    kinds = dict.fromkeys(added.values(), proto.CONTROL)
    rules = _rules(tokenizer["normalizer"], str(path))
    content = proto.unigram_model(model["vocab"], kinds, unknown_id=unknown_id, rules=rules, adds_prefix=True)
    return content, known, unknown_id, added


def _rules(normalizer: Mapping[str, Any] | None, where: str) -> bytes:
    """Return the compiled replacements of characters; none without a normalizer."""
    if normalizer is None:
        return proto.NO_RULES
    steps = normalizer.get("normalizers", []) if normalizer.get("type") == "Sequence" else [normalizer]
    compiled = [step for step in steps if step.get("type") == "Precompiled"]
    if len(compiled) != 1 or len(steps) != 1:
        received = ", ".join(str(step.get("type")) for step in steps)
        raise CheckpointError("not supported", where=where, expected="a Precompiled normalizer", received=received)
    try:
        return base64.b64decode(compiled[0]["precompiled_charsmap"] or b"") or proto.NO_RULES
    except (KeyError, TypeError, binascii.Error) as error:
        raise CheckpointError(f"cannot be read ({error})", where=f"{where}: normalizer") from None
