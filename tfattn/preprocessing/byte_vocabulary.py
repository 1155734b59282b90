"""The vocabulary and merges of byte-level BPE, and the printable characters that represent bytes in GPT-2's files."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tfattn import files
from tfattn.errors import ConfigError, DataError, listed
from tfattn.preprocessing.merges import Merge, complete_merges, live_merges
from tfattn.preprocessing.word_counts import repeat_words

# Printable bytes of Latin-1 map to themselves, the other bytes in order to characters from U+0100 on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(256) if byte not in _PRINTABLE)
_CODE_POINTS = {byte: byte for byte in _PRINTABLE} | {byte: 0x100 + index for index, byte in enumerate(_OTHERS)}

CHARACTERS = tuple(chr(_CODE_POINTS[byte]) for byte in range(256))
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def bytes_to_unicode(data: bytes) -> str:
    """Convert bytes to printable characters.

    Example:
        >>> bytes_to_unicode(b"a b")
        'aĠb'
    """
    return "".join(CHARACTERS[byte] for byte in data)


def unicode_to_bytes(token: str) -> bytes | None:
    """Convert printable characters back to bytes; None if any character is not in the mapping.

    Example:
        >>> unicode_to_bytes("Ġb")
        b' b'
    """
    values = [_BYTES.get(character) for character in token]
    return None if None in values else bytes(values)


def code_points() -> np.ndarray:
    """Return the code point of each byte: (256,) int32."""
    return np.array([ord(character) for character in CHARACTERS], np.int32)


VOCABULARY, MERGES = "vocab.json", "merges.txt"
_VERSION = "#version: 0.2"
_MIN_FREQUENCY = 2  # of a pair in the texts
_REMEDY = "Take both files from the same folder of published weights, or use `vocabulary: train`."


@dataclass(frozen=True)
class ByteVocabulary:
    """The tokens of a vocabulary in the order of their ids, and the merges in the order of their ranks.

    Args:
        tokens: bytes as printable characters (see `bytes_to_unicode`), and special tokens.
        merges: the pairs of tokens to join, by rank.
        special: the special tokens, such as <|endoftext|>, which are not found in texts.
        text_tokens: tokens that are found in texts as they are, before merging, such as <think> or runs of blanks.
        has_whole_pieces: whether a piece of a text that is a token is this token, even if the merges do not make it.

    Example:
        vocabulary = ByteVocabulary.read("gpt2", special=["<|endoftext|>"])
        vocabulary.token_bytes[vocabulary.tokens.index("Ġthe")]  # b" the"
    """

    tokens: tuple[str, ...]
    merges: tuple[Merge, ...]
    special: tuple[str, ...]
    text_tokens: tuple[str, ...] = ()
    has_whole_pieces: bool = False

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def merge_ranks(self) -> dict[str, int]:
        """The rank of the merge that makes each token, for tokens that can be made."""
        return complete_merges(self.tokens, self.merges) or live_merges(CHARACTERS, self.merges)

    @cached_property
    def token_bytes(self) -> tuple[bytes, ...]:
        """The bytes of each token; empty for special tokens."""
        as_they_are = dict.fromkeys(self.special, b"") | {token: token.encode() for token in self.text_tokens}
        return tuple(as_they_are.get(token, unicode_to_bytes(token) or b"") for token in self.tokens)

    @staticmethod
    def read(
        path: str | Path,
        *,
        special: Sequence[str] | None,
        text_tokens: Sequence[str] = (),
        has_whole_pieces: bool = False,
    ) -> "ByteVocabulary":
        """Read vocab.json, and merges.txt in the same folder.

        Args:
            path: the folder, or the vocab.json.
            special: as for the class; None for all tokens that no merge makes.
            text_tokens, has_whole_pieces: as for the class.

        Raises:
            DataError: a file is missing or damaged, or the two do not match; names file and line.
        """
        path = Path(path)
        path = path / VOCABULARY if path.is_dir() else path
        tokens = tokens_by_id(files.read_json(path, dict[str, int], remedy=_REMEDY), str(path))
        merges_path = path.parent / MERGES
        first, merges = _read_merges(merges_path)
        special = unmerged_tokens(tokens, merges) if special is None else special
        vocabulary = ByteVocabulary(tokens, merges, tuple(special), tuple(text_tokens), has_whole_pieces)
        vocabulary.check(str(path), lambda rank: f"{merges_path}:{first + rank}")
        return vocabulary

    @staticmethod
    def train(words: Mapping[str, int], *, size: int, special: Sequence[str]) -> "ByteVocabulary":
        """Train merges: start from all bytes, and join the most frequent pairs.

        The vocabulary is independent of the order of the words.

        Args:
            words: the count of each text piece, as printable characters.
            size: the maximum number of tokens; there are fewer if no further pair occurs twice.
            special: the special tokens, which come last.

        Raises:
            ConfigError: there is no room for all bytes.
            DataError: there are no words.
        """
        min_size = len(CHARACTERS) + len(special)
        if size < min_size:
            raise ConfigError(
                "there is no room for all bytes",
                key="vocabulary_size",
                expected=f"at least {min_size}, special tokens included",
                received=str(size),
            )
        if not words:
            raise DataError(
                "there is no text to train a vocabulary on",
                expected="texts",
                received="none, or only empty ones",
                remedy=f"Check the source's `fields`, or name a folder with {VOCABULARY} as `vocabulary`.",
            )
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.BpeTrainer(
            vocab_size=size - len(special),
            min_frequency=_MIN_FREQUENCY,
            initial_alphabet=list(CHARACTERS),
            show_progress=False,
        )
        tokenizer.train_from_iterator(repeat_words(words), trainer)
        ids = tokenizer.get_vocab(with_added_tokens=False)
        tokens = sorted(ids, key=ids.__getitem__)
        merges = map(tuple, json.loads(tokenizer.to_str())["model"]["merges"])
        return ByteVocabulary((*tokens, *special), tuple(merges), tuple(special))

    def write(self, folder: Path) -> None:
        """Write vocab.json and merges.txt into an existing folder, in the format of GPT-2."""
        ids = {token: number for number, token in enumerate(self.tokens)}
        files.write_text(folder / VOCABULARY, json.dumps(ids, ensure_ascii=False))
        lines = (_VERSION, *(f"{left} {right}" for left, right in self.merges))
        files.write_text(folder / MERGES, "".join(f"{line}\n" for line in lines))

    def check(self, where: str, merge_location: Callable[[int], str]) -> None:
        """Refuse tokens and merges that do not match.

        Args:
            where: the tokens' file, for messages.
            merge_location: maps the rank of a merge to its file and line.

        Raises:
            DataError: names the first mismatch.
        """
        known = set(self.tokens)
        for rank, (left, right) in enumerate(self.merges):
            for verb, token in (("joins", left), ("joins", right), ("makes", left + right)):
                if token not in known:
                    raise DataError(
                        f"a merge {verb} an unknown token",
                        where=merge_location(rank),
                        expected=f"tokens of {where}",
                        received=repr(token),
                        remedy=_REMEDY,
                    )
        is_complete = complete_merges(self.tokens, self.merges) is not None
        made = dict.fromkeys(CHARACTERS, -1) | self.merge_ranks
        for rank, (left, right) in enumerate(self.merges):
            late = [token for token in (left, right) if made.get(token, -1) >= rank]
            if late and left + right not in made and not is_complete:
                raise DataError(
                    "a merge joins a token that only a later line makes",
                    where=merge_location(rank),
                    expected="merges in the order in which they were learned",
                    received=repr(late[0]),
                    remedy=_REMEDY,
                )
        self._check_tokens(where)

    def _check_tokens(self, where: str) -> None:
        others = unmerged_tokens(self.tokens, self.merges)
        unnamed = [token for token in others if token not in self.special and token not in self.text_tokens]
        if unnamed and not self.has_whole_pieces:
            raise DataError(
                f"{len(unnamed):,} tokens are made by no merge" if len(unnamed) > 1 else "a token is made by no merge",
                where=where,
                expected=f"a merge, or a name among the special tokens {listed(self.special)}",
                received=listed(map(repr, unnamed), 5),
                remedy=f"If it is a special token, add it to `special_tokens`. Otherwise: {_REMEDY}",
            )
        if missing := [token for token in self.special if token not in self.tokens]:
            raise DataError(
                "the vocabulary lacks special tokens",
                where=where,
                expected=listed(self.special),
                received=f"{len(self.tokens):,} tokens without {listed(missing)}",
                remedy="List the special tokens of the vocabulary as `end_token` and `special_tokens`.",
            )
        if letters := [token for token in self.special if token not in others]:
            raise DataError("a special token is made by a merge, too", where=where, received=listed(letters))


def unmerged_tokens(tokens: Iterable[str], merges: Iterable[Merge]) -> list[str]:
    """List the tokens that are neither a byte nor made by a merge, which no text has."""
    made = {left + right for left, right in merges}.union(CHARACTERS)
    return [token for token in tokens if token not in made]


def tokens_by_id(ids: Mapping[str, int], where: str) -> tuple[str, ...]:
    """Sort tokens by their ids.

    Args:
        ids: the id of each token.
        where: the file of the tokens, for messages.

    Raises:
        DataError: the ids are not consecutive from 0.
    """
    tokens = tuple(sorted(ids, key=ids.__getitem__))
    if [ids[token] for token in tokens] != list(range(len(tokens))):
        missing = sorted(set(range(len(tokens))) - set(ids.values()))
        raise DataError(
            "the ids of the vocabulary leave gaps",
            where=where,
            expected=f"each id from 0 to {len(tokens) - 1} once",
            received=f"{len(tokens):,} tokens, none of them with id {listed(map(str, missing), 5)}",
            remedy=_REMEDY,
        )
    return tokens


def _read_merges(path: Path) -> tuple[int, tuple[Merge, ...]]:
    """Read a merges.txt, and return the line number of the first merge and all merges."""
    content = files.read_bytes(path, remedy=_REMEDY)
    try:
        lines = content.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError("the merges are not UTF-8", where=f"{path}:{line}", remedy=_REMEDY) from None
    first = 1 if lines[0].startswith("#version") else 0
    merges: list[Merge] = []
    for number, line in enumerate(lines[first : len(lines) - (lines[-1] == "")], start=first + 1):
        match line.split(" "):
            case [left, right] if left and right:
                merges.append((left, right))
            case _:
                raise DataError(
                    "a line is not a merge",
                    where=f"{path}:{number}",
                    expected="two tokens and a blank between them",
                    received=repr(line[:60]),
                    remedy=_REMEDY,
                )
    return first + 1, tuple(merges)
