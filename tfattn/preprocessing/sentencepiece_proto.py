"""The format of SentencePiece models, a Protocol Buffer (sentencepiece_model.proto): pieces, and settings as bytes.

The generated module of the package `sentencepiece` needs a newer protobuf than TensorFlow.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tfattn.errors import DataError
from tfattn.files.protobuf import FIXED32, fields, number_field, text_field, varint

# Types of pieces. A control piece is never found in a text; a user-defined piece is always found.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2  # types of models
# An empty trie of replacements. Without a trie, SentencePiece prints a line to standard error.
NO_RULES = struct.pack("<I", 1024) + bytes(1024) + b"\0"

_PIECES, _TRAINER, NORMALIZER = 1, 2, 3  # fields of a model


class Piece(NamedTuple):
    """A token of a model.

    Attributes:
        text: the text; blanks are written as U+2581.
        score: in BPE, the pair that makes the highest score is merged first; in a unigram model, a log probability.
        kind: the type of the piece.
    """

    text: str
    score: float
    kind: int = NORMAL


class Proto(NamedTuple):
    """A SentencePiece model.

    Attributes:
        pieces: the tokens, in the order of their ids.
        trainer: the encoded settings of training; see `trainer_settings`.
        normalizer: the encoded settings of normalization; see `normalizer_settings`.
    """

    pieces: tuple[Piece, ...]
    trainer: bytes
    normalizer: bytes

    def encode(self) -> bytes:
        """Return the content of a .model file."""
        pieces = (text_field(_PIECES, _encode_piece(piece)) for piece in self.pieces)
        return b"".join([*pieces, text_field(_TRAINER, self.trainer), text_field(NORMALIZER, self.normalizer)])

    @staticmethod
    def decode(content: bytes, where: str) -> "Proto":
        """Parse the content of a .model file.

        Args:
            content: the content.
            where: the path of the file, for messages.

        Raises:
            DataError: it is no SentencePiece model, or is truncated.
        """
        pieces, trainer, normalizer = [], b"", b""
        try:
            for field, value in fields(content):
                if field == _PIECES:
                    pieces.append(_decode_piece(value))
                elif field == _TRAINER:
                    trainer += value
                elif field == NORMALIZER:
                    normalizer += value
        except (ValueError, IndexError, TypeError, struct.error):
            pieces = []
        if not pieces:
            raise DataError(
                "not a SentencePiece model",
                where=where,
                expected="a .model file, as written by SentencePiece",
                received=f"{len(content):,} bytes of another or an incomplete file",
            )
        return Proto(tuple(pieces), trainer, normalizer)


def trainer_settings(algorithm: int, size: int, unknown_id: int, *, has_bytes: bool = False) -> bytes:
    """Return the trainer settings of a model without start, end and padding.

    Args:
        algorithm: UNIGRAM or BPE.
        size: the number of pieces.
        unknown_id: the id of the unknown piece.
        has_bytes: whether characters without a piece become the pieces of their bytes.
    """
    settings = number_field(3, algorithm) + number_field(4, size) + number_field(40, unknown_id)
    settings += b"".join(number_field(field, -1) for field in (41, 42, 43))
    return settings + number_field(35, int(has_bytes))


def normalizer_settings(
    *, rules: bytes = NO_RULES, adds_prefix: bool = False, strips_spaces: bool = False, escapes_spaces: bool = False
) -> bytes:
    """Return the settings of a normalizer.

    Args:
        rules: the compiled replacements of characters (`precompiled_charsmap`).
        adds_prefix: whether a blank is put before a text.
        strips_spaces: whether blanks at both ends are removed, and runs of blanks become a single blank.
        escapes_spaces: whether blanks are written as U+2581.
    """
    flags = ((3, adds_prefix), (4, strips_spaces), (5, escapes_spaces))
    settings = text_field(1, b"identity") + text_field(2, rules)
    return settings + b"".join(number_field(field, int(flag)) for field, flag in flags)


def unigram_model(
    pieces: Iterable[tuple[str, float]], kinds: Mapping[int, int], *, unknown_id: int, rules: bytes, adds_prefix: bool
) -> bytes:
    """Return a unigram model, which joins blanks.

    Args:
        pieces: the pieces and their scores, in the order of their ids.
        kinds: the kind of pieces that are not normal, by id; the unknown piece need not be among them.
        unknown_id: the id of the unknown piece.
        rules, adds_prefix: as for `normalizer_settings`.
    """
    kinds = {**kinds, unknown_id: UNKNOWN}
    encoded = tuple(Piece(*piece, kinds.get(number, NORMAL)) for number, piece in enumerate(pieces))
    normalizer = normalizer_settings(rules=rules, adds_prefix=adds_prefix, strips_spaces=True, escapes_spaces=True)
    return Proto(encoded, trainer_settings(UNIGRAM, len(encoded), unknown_id), normalizer).encode()


def normalizer_rules(content: bytes) -> bytes:
    """Return the compiled replacements of characters in the settings of a normalizer; empty if there are none."""
    return dict(fields(content)).get(2, b"")


def _encode_piece(piece: Piece) -> bytes:
    score = varint(2 << 3 | FIXED32) + struct.pack("<f", piece.score)
    return text_field(1, piece.text.encode()) + score + number_field(3, piece.kind)


def _decode_piece(content: bytes) -> Piece:
    found = {1: b"", 2: bytes(4), 3: NORMAL, **dict(fields(content))}
    return Piece(found[1].decode("utf-8"), struct.unpack("<f", found[2])[0], int(found[3]))
