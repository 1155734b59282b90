"""Byte-level BPE tokenization, as in GPT-2: lossless for any text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from pydantic import PositiveInt

from tfattn import files
from tfattn.errors import ConfigError, TfattnError
from tfattn.features import TEXT
from tfattn.preprocessing.byte_characters import bytes_to_unicode
from tfattn.preprocessing.byte_pairs import BytePairMerger
from tfattn.preprocessing.byte_vocabulary import MERGES, VOCABULARY, ByteVocabulary
from tfattn.preprocessing.language import Detokenizer, Language
from tfattn.preprocessing.passages import count_strings
from tfattn.preprocessing.pre_tokenizer import Pattern, PreTokenizer
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

    A text is split into words, numbers, punctuation and white space; the UTF-8 bytes of each piece are merged to
    tokens. Tokens join to exactly the same text; only bytes that are not UTF-8 are read as U+FFFD, as with
    Python's `errors="replace"`. Special tokens are not parsed in texts: `<|endoftext|>` there is seven tokens. Ids are
    equal to those of the reference, `tokenizers`, and so to GPT2TokenizerFast of transformers.

    Args:
        vocabulary: `train` to train it on the training rows, `pretrained` to use the vocabulary of the pretrained
            weights, or the path of a folder with vocab.json and merges.txt.
        vocabulary_size: the maximum number of tokens to learn, the 256 bytes and special tokens included.
        max_length: the maximum length of a text window and of a prompt, in tokens.
        pattern: how texts are split: `gpt2`, or `digits`, which also splits numbers into digits, as SmolLM2 does.
        end_token: the special token that ends a document.
        special_tokens: further special tokens, such as the start and end of chat messages.

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
        repeated = [name for name, count in Counter(self._special).items() if count > 1]
        if repeated:
            raise ConfigError("a special token is named twice", key="special_tokens", received=repeated[0])
        self._adopted: ByteVocabulary | None = None
        self._known: ByteVocabulary | None = None

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Read the vocabulary, or train it on the rows.

        Raises:
            ConfigError: the vocabulary is still `pretrained`, or there is no room for all bytes.
            DataError: the files of the vocabulary are missing, damaged or do not match, or there is no text.
        """
        self.check_adopted()
        if self._adopted is not None:
            known = self._adopted
        elif self.vocabulary == TRAIN:
            words = self._count_pieces(row[TEXT] for row in rows)
            known = ByteVocabulary.train(words, size=self.vocabulary_size, special=self._special)
        else:
            known = ByteVocabulary.read(self.vocabulary, special=self._special)
        self._use(known)

    @property
    def needs_pretrained(self) -> bool:
        return self.vocabulary == PRETRAINED and self._adopted is None

    def adopt(self, *, vocabulary: ByteVocabulary, pattern: Pattern, end_token: str) -> None:
        """Adopt the vocabulary and the pattern of published weights.

        Args:
            vocabulary: the vocabulary, special tokens included.
            pattern: as the argument of the constructor.
            end_token: the special token that ends a document.
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
            **reference_of(self._pre_tokenize.fingerprint),
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
                the one that was installed when the folder was saved.
        """
        path = Path(folder) / _SETTINGS
        settings = files.read_json(path, Settings, remedy="Prepare the data again.")
        self.max_length, self.pattern = settings["model_max_length"], settings["pattern"]
        self.end_token, self.special_tokens = settings["eos_token"], tuple(settings["additional_special_tokens"])
        self._use(ByteVocabulary.read(folder, special=self._special))
        check_reference(settings, self._pre_tokenize.fingerprint, where=str(path))

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
        pieces = self._pre_tokenize(texts)
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
        self._pre_tokenize, self._merge, self._join = (
            PreTokenizer(self.pattern),
            BytePairMerger(known),
            Detokenizer(known.token_bytes),
        )

    def _count_pieces(self, texts: Iterable[str]) -> Mapping[str, int]:
        """Count the pieces of texts, as printable characters."""
        return {
            bytes_to_unicode(piece): count for piece, count in count_strings(texts, PreTokenizer(self.pattern)).items()
        }
