"""Tokenizers of GGUF files: byte-level BPE with merges, and SentencePiece with scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.formats.chat_template import CHATML, recognize_format
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.preprocessing.sentencepiece_proto import CONTROL, NORMAL, UNUSED, USER_DEFINED, Piece
from tfattn.pretrained.tokenization import SpecialTokens, Tokenization, byte_bpe, piece_bpe

_MODEL, _PRE = "tokenizer.ggml.model", "tokenizer.ggml.pre"
_TOKENS, _KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_MERGES, _SCORES = "tokenizer.ggml.merges", "tokenizer.ggml.scores"
_END, _START, _ADDS_START = (f"tokenizer.ggml.{name}" for name in ("eos_token_id", "bos_token_id", "add_bos_token"))
_ADDS_PREFIX, _CHAT_TEMPLATE = "tokenizer.ggml.add_space_prefix", "tokenizer.chat_template"

# Pattern, normalization, and whether pieces that are tokens are not merged, by llama.cpp's name of the pre-tokenizer.
PATTERNS: dict[str, tuple[str, str | None, bool]] = {
    "gpt-2": ("gpt2", None, False),
    "smollm": ("digits", None, False),
    "llama-bpe": ("llama3", None, True),
    "qwen2": ("qwen2", "nfc", False),
    "olmo": ("gpt2", "nfc", False),  # the tokenizer of GPT-NeoX
}
_STARTS_BY_DEFAULT = ("llama-bpe",)


def read_tokens(metadata: Mapping[str, Any], where: str, *, size: int) -> Tokenization:
    """Read the tokenizer from the metadata of a file.

    Args:
        metadata: the metadata of the header.
        where: the path of the file, for messages.
        size: the number of rows of the model's table of tokens.

    Raises:
        CheckpointError: the tokenizer is damaged, or has another algorithm.
        DataError: tokens and merges do not match.
    """
    reader = _TokenReader(metadata, where)
    model = reader.required(_MODEL, "gpt2", "llama")
    return reader.byte_bpe(size) if model == "gpt2" else reader.piece_bpe(size)


class _TokenReader:
    """A reader of typed values.

    Args:
        metadata: the metadata of the header.
        where: the path of the file, for messages.
    """

    def __init__(self, metadata: Mapping[str, Any], where: str):
        self._metadata, self._where = metadata, where
        self._tokens: list[str] = self.value(_TOKENS, list)
        count = len(self._tokens)
        self._kinds: list[int] = self.value(_KINDS, np.ndarray, np.full(count, NORMAL)).tolist()
        ends = [self.value(_END, int)]
        ends += [self.value(_START, int)] if _START in metadata else []
        if len(self._kinds) != count or not all(0 <= row < count for row in ends):
            raise CheckpointError(
                "the tokenizer is damaged",
                where=where,
                expected="a type of each token, and start and end tokens among them",
                received=f"{count:,} tokens, {len(self._kinds):,} types, and the start or end tokens {ends}",
            )

    def byte_bpe(self, size: int) -> Tokenization:
        pre = self.required(_PRE, *PATTERNS)
        pattern, normalization, has_whole_pieces = PATTERNS[pre]
        merges = [tuple(merge.split(" ")) for merge in self.value(_MERGES, list)]
        if any(len(merge) != 2 for merge in merges):
            raise CheckpointError("the tokenizer is damaged", where=self._where, expected="merges of two tokens")
        return byte_bpe(
            {token: row for row, token in enumerate(self._tokens)},
            merges,
            self._special_tokens(CHATML, starts=pre in _STARTS_BY_DEFAULT),
            size=size,
            where=self._where,
            has_whole_pieces=has_whole_pieces,
            pattern=pattern,
            normalization=normalization,
        )

    def piece_bpe(self, size: int) -> Tokenization:
        scores = self.value(_SCORES, np.ndarray).tolist()
        if len(scores) != len(self._tokens):
            raise CheckpointError(
                "the tokenizer is damaged",
                where=self._where,
                expected=f"a score of each of {len(self._tokens):,} tokens",
                received=f"{len(scores):,}",
            )
        prefix = "always" if self.value(_ADDS_PREFIX, bool, True) else "never"
        found = self._special_tokens(None, starts=True)
        pieces = map(Piece, self._tokens, scores, self._kinds)
        vocabulary = PieceVocabulary.of_pieces(list(pieces), prefix=prefix)
        kinds = dict.fromkeys([found.end, *([found.start] if found.start else [])], CONTROL)
        return piece_bpe(vocabulary.with_kinds(kinds, {}, size=size), found, where=self._where)

    def _special_tokens(self, chat_format: str | None, *, starts: bool) -> SpecialTokens:
        by_kind = list(zip(self._tokens, self._kinds, strict=True))
        adds_start = self.value(_ADDS_START, bool, starts and _START in self._metadata)
        if (template := self._metadata.get(_CHAT_TEMPLATE)) is not None:
            chat_format = recognize_format(str(template))
        return SpecialTokens(
            self._tokens[self.value(_END, int)],
            self._tokens[self.value(_START, int)] if adds_start else None,
            tuple(token for token, kind in by_kind if kind in (CONTROL, UNUSED)),
            tuple(token for token, kind in by_kind if kind == USER_DEFINED),
            chat_format,
        )

    def value(self, name: str, kind: type, default: Any = None) -> Any:
        """Return a value of the metadata."""
        value = self._metadata.get(name, default)
        if type(value) is not kind:
            received = f"{type(value).__name__}" if name in self._metadata else "none"
            raise CheckpointError(
                "another type", where=f"{self._where}: {name}", expected=kind.__name__, received=received
            )
        return value

    def required(self, name: str, *known: str) -> str:
        """Return a name, which must be known."""
        value = self.value(name, str)
        if value not in known:
            raise CheckpointError(
                "not supported", where=f"{self._where}: {name}", expected=" or ".join(known), received=value[:60]
            )
        return value
