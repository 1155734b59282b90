"""What all readers of published tokenizers share: the tokenizer as read, and the names of pre-tokenizer patterns."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tfattn.errors import CheckpointError, DataError
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.preprocessing.merges import Merge
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary


class Tokenization(NamedTuple):
    """A tokenizer of published weights.

    Attributes:
        preprocessor: the catalog name of the preprocessor.
        arguments: the arguments of its `adopt`.
    """

    preprocessor: str
    arguments: dict[str, Any]


class SpecialTokens(NamedTuple):
    """The tokens of a tokenizer with a meaning of their own.

    Attributes:
        end: the token that ends a document.
        start: the token before a document; None for no token.
        special: all tokens that are not found in texts.
        text_tokens: tokens that are found in texts before all others.
        chat_format: a name of CHAT_FORMATS; None for no chats, or an unknown format.
    """

    end: str
    start: str | None
    special: tuple[str, ...]
    text_tokens: tuple[str, ...]
    chat_format: str | None


def byte_bpe(
    ids: Mapping[str, int],
    merges: Sequence[Merge],
    tokens: SpecialTokens,
    *,
    size: int,
    where: str,
    has_whole_pieces: bool = False,
    **options: Any,
) -> Tokenization:
    """Return the arguments of `ByteBpe.adopt`.

    Args:
        ids: the id of each token.
        merges: the merges, by rank.
        tokens: the special tokens.
        size: the number of rows of the model's table. Rows without a token get an unused special token; tokens without
            a row are dropped.
        where: the file, for messages.
        has_whole_pieces: as for `ByteVocabulary`.
        options: `pattern` and `normalization`.

    Raises:
        DataError: tokens and merges do not match.
    """
    names, unused = _by_row(ids, size, where)
    own = tuple(dict.fromkeys([tokens.end, *([tokens.start] if tokens.start else []), *tokens.special, *unused]))
    known = set(names)
    special, text_tokens = (tuple(name for name in group if name in known) for group in (own, tokens.text_tokens))
    vocabulary = ByteVocabulary(names, tuple(merges), special, text_tokens, has_whole_pieces)
    vocabulary.check(where, lambda rank: f"{where}: merge {rank}")
    arguments = {"vocabulary": vocabulary, "end_token": tokens.end, "start_token": tokens.start}
    return Tokenization("byte_bpe", {**arguments, "chat_format": tokens.chat_format, **options})


def piece_bpe(vocabulary: PieceVocabulary, tokens: SpecialTokens, *, where: str) -> Tokenization:
    """Return the arguments of `PieceBpe.adopt`."""
    vocabulary.check_special([tokens.end, *([tokens.start] if tokens.start else [])], where)
    arguments = {"vocabulary": vocabulary, "end_token": tokens.end, "start_token": tokens.start}
    return Tokenization("piece_bpe", {**arguments, "chat_format": tokens.chat_format})


def unsupported_tokenizer(where: str, expected: str, received: Any) -> CheckpointError:
    """Return the error of a tokenizer that cannot be read."""
    return CheckpointError("the tokenizer is not supported", where=where, expected=expected, received=str(received))


def _by_row(ids: Mapping[str, int], size: int, where: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the name of each row, and the names that fill up."""
    names = {row: name for name, row in ids.items()}
    if len(names) < len(ids) or min(names, default=0) < 0:
        repeated = next((name for name, row in ids.items() if row < 0 or names[row] != name), "none")
        raise DataError(
            "several tokens have the same id", where=where, expected="an id of its own", received=repr(repeated)
        )
    unused = {row: f"<|unused_{row}|>" for row in range(size) if row not in names}
    names |= unused
    return tuple(names[row] for row in range(size)), list(unused.values())
