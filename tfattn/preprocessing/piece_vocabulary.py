"""The vocabulary of a SentencePiece tokenizer of whole texts: a SentencePiece model, and how texts start."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tfattn.errors import DataError, listed
from tfattn.files.protobuf import settings, with_number
from tfattn.preprocessing.merges import Merge, complete_merges, live_merges
from tfattn.preprocessing.sentencepiece_proto import (
    BPE,
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    Piece,
    Proto,
    normalizer_settings,
    trainer_settings,
)

BLANK = "\u2581"  # how pieces write " "
# Whether a blank is put before a document: never, always, or unless it starts with a blank.
Prefix = Literal["never", "always", "unless_blank"]

_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")
_DUMMY_PREFIX, _REMOVES_BLANKS, _ESCAPES_BLANKS = 3, 4, 5  # fields of the settings of normalization
_UNKNOWN_ID = 40  # a field of the settings of training
# A model needs an unknown piece. It comes after all tokens, so that their ids stay the same, and is a noncharacter.
_REQUIRED = Piece("\uffff", 0.0, UNKNOWN)


@dataclass(frozen=True)
class PieceVocabulary:
    """The pieces of a SentencePiece model.

    Args:
        proto: the model.
        prefix: whether a blank is put before a document.

    Example:
        vocabulary = PieceVocabulary.read(Path("tokenizer.model").read_bytes(), where="tokenizer.model")
        vocabulary.token_bytes[vocabulary.tokens.index("\u2581the")]  # b" the"
    """

    proto: Proto
    prefix: Prefix

    @staticmethod
    def read(content: bytes, *, where: str) -> "PieceVocabulary":
        """Parse a .model file.

        Raises:
            DataError: it is damaged, or the model changes texts so that they cannot be restored.
        """
        proto = Proto.decode(content, where)
        stated = {_DUMMY_PREFIX: 1, _REMOVES_BLANKS: 1, _ESCAPES_BLANKS: 1}
        stated |= settings(proto.normalizer, stated)
        if stated[_REMOVES_BLANKS] or not stated[_ESCAPES_BLANKS]:
            raise DataError(
                "the tokenizer drops blanks, so that texts cannot be restored",
                where=where,
                expected="a SentencePiece model with remove_extra_whitespaces false, as of Llama, Mistral and Gemma",
                received="one that removes or keeps them otherwise",
            )
        if proto.pieces[-1] == _REQUIRED:
            proto = proto._replace(pieces=proto.pieces[:-1])
        return PieceVocabulary(proto, "always" if stated[_DUMMY_PREFIX] else "never")

    @staticmethod
    def of_merges(
        tokens: Sequence[str], merges: Sequence[Merge], *, kinds: Mapping[str, int], prefix: Prefix
    ) -> "PieceVocabulary":
        """Convert the tokens and merges of byte-fallback BPE, as the package `tokenizers` has them.

        Args:
            tokens: the tokens, in the order of their ids.
            merges: pairs of tokens, in the order of their ranks.
            kinds: the kind of special tokens and of tokens that are found in texts as they are.
            prefix: whether a blank is put before a document.
        """
        characters = [token for token in tokens if len(token) == 1]
        made = complete_merges(tokens, merges) or live_merges(characters, merges)

        def piece(token: str) -> Piece:
            if token in kinds:
                return Piece(token, 0.0, kinds[token])
            if _BYTE_PIECE.fullmatch(token):
                return Piece(token, 0.0, BYTE)
            return Piece(token, float(-made.get(token, 0)), NORMAL if token in made or len(token) == 1 else CONTROL)

        return PieceVocabulary.of_pieces([piece(token) for token in tokens], prefix=prefix)

    @staticmethod
    def of_pieces(pieces: Sequence[Piece], *, prefix: Prefix) -> "PieceVocabulary":
        """Make a BPE model of pieces with scores."""
        trainer = trainer_settings(BPE, len(pieces), 0, has_bytes=any(piece.kind == BYTE for piece in pieces))
        return PieceVocabulary(Proto(tuple(pieces), trainer, normalizer_settings(escapes_spaces=True)), prefix)

    def with_kinds(self, kinds: Mapping[str, int], tokens: Mapping[str, int], *, size: int) -> "PieceVocabulary":
        """Change the kinds of pieces, add pieces, and fill up with unused special pieces.

        Args:
            kinds: the kind of each piece to change or to add.
            tokens: the id of each piece to add.
            size: the number of pieces of the result; further pieces are dropped.
        """
        known = {index: piece._replace(kind=kinds.get(piece.text, piece.kind)) for index, piece in self._by_id}
        added = {index: Piece(token, 0.0, kinds[token]) for token, index in tokens.items() if index not in known}
        found = {**known, **added}
        pieces = [found.get(index, Piece(f"<unused_{index}>", 0.0, CONTROL)) for index in range(size)]
        return PieceVocabulary(self.proto._replace(pieces=tuple(pieces)), self.prefix)

    def check_special(self, names: Sequence[str], where: str = "") -> None:
        """Refuse a vocabulary without special tokens that a model needs.

        Raises:
            DataError: names them.
        """
        if missing := [name for name in names if name not in self.special]:
            raise DataError(
                "the vocabulary lacks special tokens",
                where=where,
                expected=listed(names),
                received=f"{len(self.tokens):,} tokens without {listed(missing)}",
                remedy="Name the special tokens of the vocabulary as `end_token` and `start_token`.",
            )

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The names of the pieces, in the order of their ids."""
        return tuple(piece.text for piece in self.proto.pieces)

    @cached_property
    def special(self) -> tuple[str, ...]:
        """The pieces that are never found in texts."""
        return tuple(piece.text for piece in self.proto.pieces if piece.kind in (CONTROL, UNKNOWN))

    @cached_property
    def token_bytes(self) -> tuple[bytes, ...]:
        """The bytes of each token; empty for special tokens."""
        return tuple(map(_bytes_of, self.proto.pieces))

    @cached_property
    def content(self) -> bytes:
        """The .model file."""
        pieces, trainer, normalizer = self.proto
        unknown = next((index for index, piece in enumerate(pieces) if piece.kind == UNKNOWN), len(pieces))
        pieces += () if unknown < len(pieces) else (_REQUIRED,)
        trainer = with_number(trainer, _UNKNOWN_ID, unknown)
        normalizer = with_number(normalizer, _DUMMY_PREFIX, int(self.prefix != "never"))
        return Proto(pieces, trainer, normalizer).encode()

    @property
    def continuing_content(self) -> bytes:
        """The model without a prefix, for texts that continue a document."""
        return PieceVocabulary(self.proto, "never").content

    @property
    def _by_id(self) -> list[tuple[int, Piece]]:
        return list(enumerate(self.proto.pieces))


def _bytes_of(piece: Piece) -> bytes:
    if piece.kind == BYTE:
        return bytes([int(_BYTE_PIECE.fullmatch(piece.text)[1], 16)])
    return piece.text.replace(BLANK, " ").encode() if piece.kind in (NORMAL, USER_DEFINED) else b""
