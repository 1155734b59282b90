"""Byte-level BPE, as GPT-2's: any text at all becomes tokens, and is the same text again."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from pydantic import PositiveInt

from tfattn import files
from tfattn.errors import ConfigError, TfattnError
from tfattn.features import TEXT
from tfattn.preprocessing.byte_characters import written
from tfattn.preprocessing.byte_pairs import BytePairs
from tfattn.preprocessing.byte_vocabulary import MERGES, VOCABULARY, ByteVocabulary
from tfattn.preprocessing.joined_tokens import JoinedTokens
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.passages import counted
from tfattn.preprocessing.pre_tokens import Pattern, PreTokens
from tfattn.preprocessing.preprocessor import PRETRAINED, TRAIN
from tfattn.preprocessing.reference import Reference, check_reference, reference_of

END_OF_TEXT = "<|endoftext|>"

_SETTINGS = "tokenizer_config.json"


class Settings(Reference):
    """The content of tokenizer_config.json."""

    tokenizer_class: str
    model_max_length: int
    pattern: Pattern
    eos_token: str
    additional_special_tokens: list[str]


class ByteBpe(Language):
    """Byte-level BPE tokens of a text, and back, in the graph.

    A text is cut into words, numbers, marks and white space; within each of these pieces the bytes of its UTF-8 are
    merged to tokens. Any text becomes tokens that join to it again, byte by byte; only bytes that are not UTF-8 count
    as U+FFFD, as with Python's `errors="replace"`. Special tokens are not parsed in texts: `<|endoftext|>` there is
    seven tokens. Ids are equal to those of the reference, `tokenizers`, and so to GPT2TokenizerFast of transformers.

    Args:
        vocabulary: `train` to learn it from the training rows, `pretrained` to take that of the model's pretrained
            weights, or the path of a folder with vocab.json and merges.txt.
        vocabulary_size: the most tokens to learn, the 256 bytes and special tokens included.
        max_length: the longest sequence in tokens: of a window of text, and of a prompt.
        pattern: how texts are cut: `gpt2`, or `digits`, which takes every digit alone, as SmolLM2 does.
        end_token: the special token that ends a document.
        special_tokens: others, such as those that begin and end the messages of a chat.

    Raises:
        ConfigError: a special token is named twice.

    Example:
        tokenizer = ByteBpe(vocabulary_size=300)
        tokenizer.fit([{"text": "the pump leaks, the pump is hot"}])
        ids = tokenizer({"text": tf.constant(["the pump"])})["token_ids"]  # ragged (1, (T)) int32
        tokenizer.detokenize(ids)  # ["the pump"]

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2.
    """

    def __init__(
        self,
        *,
        vocabulary: str = TRAIN,
        vocabulary_size: PositiveInt = 8000,
        max_length: PositiveInt = 256,
        pattern: Pattern = "gpt2",
        end_token: str = END_OF_TEXT,
        special_tokens: tuple[str, ...] = (),
    ):
        super().__init__()
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.max_length = max_length
        self.pattern = pattern
        self.end_token = end_token
        self.special_tokens = special_tokens
        twice = [name for name, count in Counter(self._special).items() if count > 1]
        if twice:
            raise ConfigError("a special token is named twice", key="special_tokens", received=twice[0])
        self._adopted: ByteVocabulary | None = None
        self._known: ByteVocabulary | None = None

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Read the vocabulary, or learn it from the rows.

        Raises:
            ConfigError: the vocabulary is still `pretrained`, or there is no room for all bytes.
            DataError: the vocabulary's files are missing, damaged or do not match, or there is no text to learn from.
        """
        self.check_adopted()
        if self._adopted is not None:
            known = self._adopted
        elif self.vocabulary == TRAIN:
            words = self._counted(row[TEXT] for row in rows)
            known = ByteVocabulary.train(words, size=self.vocabulary_size, special=self._special)
        else:
            known = ByteVocabulary.read(self.vocabulary, special=self._special)
        self._use(known)

    @property
    def needs_pretrained(self) -> bool:
        return self.vocabulary == PRETRAINED and self._adopted is None

    def adopt(self, *, vocabulary: ByteVocabulary, pattern: Pattern, end_token: str) -> None:
        """Adopt the vocabulary of published weights, and how texts are cut.

        Args:
            vocabulary: with its special tokens.
            pattern: as the argument of the constructor.
            end_token: that of its special tokens which ends a document.
        """
        self._adopted, self.pattern, self.end_token = vocabulary, pattern, end_token
        self.special_tokens = tuple(token for token in vocabulary.special if token != end_token)

    @property
    def adopted(self) -> dict[str, str]:
        if self._adopted is None:
            return {}
        known = self._adopted
        parts = [known.tokens, known.merges, known.special, self.pattern, self.end_token]
        return {"vocabulary": files.digest(parts)}

    @property
    def files(self) -> list[Path]:
        if self.vocabulary in (TRAIN, PRETRAINED):
            return []
        path = Path(self.vocabulary)
        return [path / name for name in (VOCABULARY, MERGES)] if path.is_dir() else [path, path.parent / MERGES]

    def save(self, folder: Path) -> None:
        """Write vocab.json, merges.txt and tokenizer_config.json, the file names of transformers."""
        self._fitted.write(Path(folder))
        settings: Settings = {
            "tokenizer_class": "GPT2Tokenizer",
            "model_max_length": self.max_length,
            "pattern": self.pattern,
            "eos_token": self.end_token,
            "additional_special_tokens": list(self.special_tokens),
            **reference_of(self._cut.fingerprint),
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace those of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
                the one that was installed when the folder was saved.
        """
        path = Path(folder) / _SETTINGS
        settings = files.read_json(path, Settings, remedy="Prepare the data again.")
        self.max_length, self.pattern = settings["model_max_length"], settings["pattern"]
        self.end_token, self.special_tokens = settings["eos_token"], tuple(settings["additional_special_tokens"])
        self._use(ByteVocabulary.read(folder, special=self._special))
        check_reference(settings, self._cut.fingerprint, where=str(path))

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self._known.tokens) if self._known else self.vocabulary_size}

    @property
    def tokens(self) -> list[str]:
        return list(self._fitted.tokens)

    @property
    def token_bytes(self) -> tuple[bytes, ...]:
        return self._fitted.token_bytes

    @property
    def end_id(self) -> int:
        return self._fitted.tokens.index(self.end_token)

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        return tuple(sorted(self._fitted.tokens.index(token) for token in self.special_tokens))

    def id_of(self, special: str) -> int | None:
        return self._fitted.tokens.index(special) if special in self._special else None

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        _ = self._fitted
        pieces = self._cut(texts)
        ids = self._merge(pieces.values)
        return tf.RaggedTensor.from_row_splits(ids.values, tf.gather(ids.row_splits, pieces.row_splits), validate=False)

    def detokenize(self, token_ids: Any) -> tf.Tensor:
        _ = self._fitted
        return self._join(token_ids)

    @property
    def _special(self) -> tuple[str, ...]:
        return (self.end_token, *self.special_tokens)

    @property
    def _fitted(self) -> ByteVocabulary:
        if self._known is None:
            raise TfattnError("the tokenizer has no vocabulary yet", remedy="Call `fit` or `load` first.")
        return self._known

    def _use(self, known: ByteVocabulary) -> None:
        self._known = known
        self._cut, self._merge, self._join = PreTokens(self.pattern), BytePairs(known), JoinedTokens(known.token_bytes)

    def _counted(self, texts: Iterable[str]) -> Mapping[str, int]:
        """Count the pieces of texts within which bytes are merged."""
        return {written(piece): count for piece, count in counted(texts, PreTokens(self.pattern)).items()}
