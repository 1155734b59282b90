"""The WordPiece vocabulary, read from a vocab.txt or a tokenizer.json, or trained on texts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tfattn.errors import DataError
from tfattn.files import similar_path
from tfattn.preprocessing.characters import normalizer
from tfattn.preprocessing.word_counts import repeat_words
from tfattn.preprocessing.wordpiece_json import CONTINUES, WordPieceJson

PADDING, UNKNOWN, START, END, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

MAX_WORD_LENGTH = 100  # characters; longer words are unknown, as in the reference
MAX_TOKEN_BYTES = 256  # tf-text has no longer tokens
_MIN_FREQUENCY = 2  # of a piece in the texts


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a vocabulary, in the order of their ids.

    Example:
        vocabulary = Vocabulary.read("vocab.txt")
        vocabulary.tokens[vocabulary.id(START)]  # "[CLS]"
    """

    tokens: tuple[str, ...]

    def id(self, token: str) -> int:
        """Return the id of a token that the vocabulary has, such as a special token."""
        return self.tokens.index(token)

    @property
    def has_capitals(self) -> bool:
        """Whether any word has capitals, so that case must not be folded."""
        return any(token.isalpha() and token != token.lower() for token in self.tokens)

    @staticmethod
    def read(path: str | Path, *, special: Sequence[str] = (PADDING, UNKNOWN, START, END)) -> "Vocabulary":
        """Read a vocab.txt, UTF-8, one token per line, the first line is id 0; or the vocabulary of a tokenizer.json.

        Args:
            path: the file.
            special: the special tokens that the vocabulary must have.

        Raises:
            DataError: the file is missing, is not UTF-8, has an empty line, a repeated or too long token, or lacks
                special tokens.
        """
        path = Path(path)
        if path.suffix == ".json":
            tokens = WordPieceJson.read(path).tokens
            _check(tokens, path, special)
            return Vocabulary(tokens)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError(
                f"cannot read the vocabulary ({error.strerror})",
                where=str(path),
                expected="a vocab.txt with one token per line",
                remedy=similar_path(path) or "Correct the path, or use `vocabulary: train`.",
            ) from None
        try:
            lines = content.decode("utf-8").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(
                "the vocabulary is not UTF-8",
                where=f"{path}:{line}",
                received=f"byte 0x{content[error.start]:02x}",
                remedy="Save it as UTF-8, or check that it is a vocab.txt.",
            ) from None
        tokens = tuple(lines[:-1] if lines[-1] == "" else lines)
        _check(tokens, path, special)
        return Vocabulary(tokens)

    @staticmethod
    def train(texts: Iterable[str], *, size: int, lower_case: bool, strip_accents: bool) -> "Vocabulary":
        """Train the vocabulary: start from all characters, and join the most frequent pairs of pieces.

        The vocabulary is independent of the order of the texts, and starts with [PAD] [UNK] [CLS] [SEP] [MASK].

        Args:
            texts: the texts, read once.
            size: the maximum number of tokens, special tokens included. There are fewer if no further pair occurs
                twice. If all characters do not fit, the rarest become [UNK].
            lower_case: whether to fold case.
            strip_accents: whether to drop accents.

        Raises:
            DataError: there are no words in the texts.
        """
        clean = normalizer(lower_case=lower_case, strip_accents=strip_accents).normalize_str
        split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
        words: Counter[str] = Counter()
        for text in texts:
            words.update(word for word, _ in split(clean(text)) if len(word) <= MAX_WORD_LENGTH)
        if not words:
            raise DataError(
                "there are no words to learn a vocabulary from",
                expected="texts",
                received="none, or only empty ones",
                remedy="Check the source's `fields`, or name a vocab.txt as `vocabulary`.",
            )
        alphabet = _alphabet(words, room=size - len(SPECIAL_TOKENS))
        return Vocabulary(_learn(words, [*SPECIAL_TOKENS, *alphabet], size))


def _alphabet(words: Mapping[str, int], *, room: int) -> list[str]:
    """Return the most frequent characters that fit, and their forms that continue words."""
    counts: Counter[str] = Counter()
    inside: set[str] = set()
    for word, count in words.items():
        inside.update(word[1:])
        for character in word:
            counts[character] += count
    characters, continuing = [], []
    for character in sorted(counts, key=lambda item: (-counts[item], item)):
        room -= 2 if character in inside else 1
        if room < 0:
            break
        characters.append(character)
        continuing += [CONTINUES + character] if character in inside else []
    return sorted(characters) + sorted(continuing)


def _learn(words: Mapping[str, int], known: list[str], size: int) -> tuple[str, ...]:
    """Train pieces with `tokenizers`, and return the known tokens and the pieces."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=_MIN_FREQUENCY,
        # The trainer numbers characters in the order of a hash table, and these numbers decide between equally
        # frequent pairs. Listing all characters makes the result reproducible.
        special_tokens=known,
        show_progress=False,
    )
    characters = {token for token in known if len(token) == 1}
    legible = {word: count for word, count in words.items() if characters.issuperset(word)}
    tokenizer.train_from_iterator(repeat_words(legible), trainer)
    ids = tokenizer.get_vocab(with_added_tokens=False)
    return tuple(token for token in sorted(ids, key=ids.__getitem__) if _bytes(token) <= MAX_TOKEN_BYTES)


def _bytes(token: str) -> int:
    return len(token.removeprefix(CONTINUES).encode())


def _check(tokens: tuple[str, ...], path: Path, special: Sequence[str]) -> None:
    lines: dict[str, int] = {}
    for line, token in enumerate(tokens, start=1):
        if token in lines:
            raise DataError(
                "a token occurs twice in the vocabulary",
                where=f"{path}:{line}",
                expected="every token once",
                received=f"{token!r} again, first in line {lines[token]}",
                remedy="Rename one of them, for example to [unused1]; a removed line changes all later ids.",
            )
        if not 0 < _bytes(token) <= MAX_TOKEN_BYTES or "\0" in token:
            raise DataError(
                "a line of the vocabulary is not a token",
                where=f"{path}:{line}",
                expected=f"1 to {MAX_TOKEN_BYTES} bytes, none of them NUL",
                received=f"{_bytes(token)} bytes" if token else "an empty line",
                remedy="Write an unused name there, for example [unused1]; a removed line changes all later ids.",
            )
        lines[token] = line
    missing = [token for token in special if token not in lines]
    if missing:
        raise DataError(
            "the vocabulary lacks special tokens",
            where=str(path),
            expected=" ".join(special),
            received=f"{len(tokens)} tokens without {' '.join(missing)}",
            remedy="Check that it is the vocab.txt of a BERT model.",
        )
