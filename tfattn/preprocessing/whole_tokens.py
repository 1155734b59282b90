"""Character-level and word-level tokenization, with the tokens of the training texts and an unknown token."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tensorflow as tf
from pydantic import Field, PositiveInt
from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import DataError
from tfattn.features import TEXT
from tfattn.preprocessing.language import Detokenizer, Language
from tfattn.preprocessing.passages import count_strings
from tfattn.preprocessing.preprocessor import TRAIN
from tfattn.preprocessing.unknown import Unknown

UNKNOWN, END = "<unk>", "<eos>"
Source = Literal["train", "pretrained"]
Size = Annotated[int, Field(ge=3)]  # in tokens, `<unk>` and `<eos>` included

_VOCABULARY = "vocab.json"
_SETTINGS = "tokenizer_config.json"


class Settings(TypedDict):
    """The content of tokenizer_config.json."""

    tokenizer_class: str
    model_max_length: int


class WholeTokens(Language):
    """The base class of character-level and word-level tokenizers, with `<unk>` and `<eos>`.

    A subclass defines how a text is split, and the bytes of each token.

    Args:
        vocabulary: `train` or `pretrained`.
        vocabulary_size: the maximum number of tokens, `<unk>` and `<eos>` included; the most frequent are kept.
        max_length: the maximum length of a text window and of a prompt, in tokens.
    """

    def __init__(self, *, vocabulary: str, vocabulary_size: int | None, max_length: int):
        super().__init__()
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.max_length = max_length

    def split_strings(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Split texts (B,), UTF-8, into strings, ragged (B, (T))."""
        raise NotImplementedError

    def to_bytes(self, token: str) -> bytes:
        """Return the bytes that a token adds to a text."""
        raise NotImplementedError

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """List the tokens of the rows, the most frequent first, or use the adopted tokens.

        Raises:
            ConfigError: the vocabulary is still `pretrained`.
            DataError: there is no text.
        """
        self.check_adopted()
        if self._adopted is not None:
            self._use(list(self._adopted))
            return
        counts = count_strings((row[TEXT] for row in rows), self.split_strings)
        if not counts:
            raise DataError(
                "there is no text to list the tokens of",
                expected="texts",
                received="none, or only empty ones",
                remedy="Check the source's `fields`.",
            )
        special = (UNKNOWN, END)
        found = [token.decode() for token in sorted(counts, key=lambda token: (-counts[token], token))]
        room = None if self.vocabulary_size is None else max(self.vocabulary_size - len(special), 0)
        self._use([*special, *[token for token in found if token not in special][:room]])

    def adopt(self, *, tokens: Sequence[str]) -> None:
        """Adopt the tokens of published weights, in the order of their ids."""
        self._adopted = list(tokens)

    @property
    def adopted(self) -> dict[str, str]:
        return {} if self._adopted is None else {"vocabulary": files.digest(list(self._adopted))}

    def save(self, folder: Path) -> None:
        """Write vocab.json, with the id of each token, and tokenizer_config.json."""
        files.write_json(Path(folder) / _VOCABULARY, {token: number for number, token in enumerate(self._fitted)})
        settings: Settings = {"tokenizer_class": type(self).__name__, "model_max_length": self.max_length}
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            DataError: a file is missing or damaged; names it.
        """
        remedy = "Prepare the data again."
        self.max_length = files.read_json(Path(folder) / _SETTINGS, Settings, remedy=remedy)["model_max_length"]
        ids = files.read_json(Path(folder) / _VOCABULARY, dict[str, int], remedy=remedy)
        self._use(sorted(ids, key=ids.__getitem__))

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self._known) if self._known else self.vocabulary_size or 1}

    @property
    def tokens(self) -> list[str]:
        return list(self._fitted)

    @property
    def token_bytes(self) -> tuple[bytes, ...]:
        special = {self._unknown_id: self.to_bytes(UNKNOWN), self.end_id: b""}
        return tuple(special.get(number, self.to_bytes(token)) for number, token in enumerate(self._fitted))

    @property
    def end_id(self) -> int:
        return self._fitted.index(END)

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        return (self._unknown_id,)

    def special_token_id(self, special: str) -> int | None:
        return self._fitted.index(special) if special in (UNKNOWN, END) else None

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        _ = self._fitted
        strings = self.split_strings(texts)
        return strings.with_values(self._table.lookup(strings.values))

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        strings = self.split_strings(fields[TEXT]).values
        is_unknown = (self._table.lookup(strings) == self._unknown_id) & (strings != UNKNOWN)
        return {TEXT: Unknown.of(tf.size(strings), strings[is_unknown].numpy())}

    @property
    def unknown_remedy(self) -> str:
        return "Raise `vocabulary_size`, or use `byte_bpe`, for which no text is unknown."

    def _use(self, tokens: list[str]) -> None:
        self._known = tokens
        self._unknown_id = tokens.index(UNKNOWN)
        found = {token: number for number, token in enumerate(tokens) if token != END}  # <eos> is not parsed in texts
        entries = tf.lookup.KeyValueTensorInitializer(list(found), list(found.values()), tf.string, tf.int32)
        self._table = tf.lookup.StaticHashTable(entries, self._unknown_id)
        self._join = Detokenizer(self.token_bytes)


class CharacterTokens(WholeTokens):
    """Character-level tokenizer; characters that are not in the training texts are `<unk>`.

    Invalid UTF-8 is read as U+FFFD, and `<unk>` is decoded as U+FFFD.

    Args:
        vocabulary: `train` to list the tokens of the training rows, `pretrained` to use the tokens of the pretrained
            weights.
        vocabulary_size: the maximum number of tokens, `<unk>` and `<eos>` included; by default all characters.
        max_length: the maximum length of a text window and of a prompt, in tokens.

    Example:
        tokenizer = CharacterTokens()
        tokenizer.fit([{"text": "to be"}])
        tokenizer.split(tf.constant(["bet?"]))  # of "b", "e", "t" and <unk>, ragged (1, (T)) int32
    """

    def __init__(
        self, *, vocabulary: Source = TRAIN, vocabulary_size: Size | None = None, max_length: PositiveInt = 256
    ):
        super().__init__(vocabulary=vocabulary, vocabulary_size=vocabulary_size, max_length=max_length)

    def split_strings(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return tf.strings.unicode_split(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)

    def to_bytes(self, token: str) -> bytes:
        return ("\ufffd" if token == UNKNOWN else token).encode()


class WordTokens(WholeTokens):
    """Word-level tokenizer of texts that are tokenized by blanks already, such as the Penn Treebank.

    An unlisted word is `<unk>`, and so is the word `<unk>` itself. Decoding joins words with single blanks.

    Args:
        vocabulary: `train` to list the tokens of the training rows, `pretrained` to use the tokens of the pretrained
            weights.
        vocabulary_size: the maximum number of tokens, `<unk>` and `<eos>` included; by default all words.
        max_length: the maximum length of a text window and of a prompt, in tokens.

    Example:
        tokenizer = WordTokens()
        tokenizer.fit([{"text": "no it was n't"}])
        tokenizer.split(tf.constant(["it was <unk>"]))  # ragged (1, (T)) int32
    """

    def __init__(
        self, *, vocabulary: Source = TRAIN, vocabulary_size: Size | None = None, max_length: PositiveInt = 256
    ):
        super().__init__(vocabulary=vocabulary, vocabulary_size=vocabulary_size, max_length=max_length)

    def split_strings(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return tf.strings.split(texts)

    def to_bytes(self, token: str) -> bytes:
        return f" {token}".encode()

    def detokenize(self, token_ids: Any) -> tf.Tensor:
        return tf.strings.regex_replace(super().detokenize(token_ids), "^ ", "")
