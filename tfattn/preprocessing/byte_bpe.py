"""Byte-level BPE tokenization, as in GPT-2: lossless for any text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NotRequired

import tensorflow as tf
import tensorflow_text as tf_text
from pydantic import PositiveInt

from tfattn import files, hub
from tfattn.errors import ConfigError
from tfattn.features import TEXT
from tfattn.formats.chat_template import CHATML
from tfattn.preprocessing.byte_pairs import BytePairMerger
from tfattn.preprocessing.byte_vocabulary import MERGES, VOCABULARY, ByteVocabulary, bytes_to_unicode
from tfattn.preprocessing.code_points import Reference, check_reference, describe_reference, valid_utf8
from tfattn.preprocessing.language import Detokenizer, Language
from tfattn.preprocessing.passages import count_strings
from tfattn.preprocessing.pre_tokenizer import Pattern, PreTokenizer
from tfattn.preprocessing.preprocessor import PRETRAINED, TRAIN
from tfattn.preprocessing.text_tokens import TextTokens

Normalization = Literal["nfc"]

END_OF_TEXT = "<|endoftext|>"

_SETTINGS = "tokenizer_config.json"


class Settings(Reference):
    """The content of tokenizer_config.json; folders of earlier versions have fewer keys."""

    tokenizer_class: str
    model_max_length: int
    pattern: Pattern
    eos_token: str
    additional_special_tokens: list[str]
    bos_token: NotRequired[str | None]
    normalization: NotRequired[Normalization | None]
    text_tokens: NotRequired[list[str]]
    has_whole_pieces: NotRequired[bool]
    chat_format: NotRequired[str | None]


class ByteBpe(Language):
    """Byte-level BPE tokens of a text, and back, in the graph.

    A text is split into words, numbers, punctuation and white space; the UTF-8 bytes of each piece are merged to
    tokens. Tokens join to exactly the same text, normalized; only bytes that are not UTF-8 are read as U+FFFD, as
    with Python's `errors="replace"`. Special tokens are not parsed in texts: `<|endoftext|>` there is seven tokens. Ids
    are equal to those of the reference, `tokenizers`, and so to GPT2TokenizerFast of transformers.

    Args:
        vocabulary: `train` to train it on the training rows, `pretrained` to use the vocabulary of the pretrained
            weights, or the path of a folder with vocab.json and merges.txt, which may be on a hub:
            hf://openai-community/gpt2.
        vocabulary_size: the maximum number of tokens to learn, the 256 bytes and special tokens included.
        max_length: the maximum length of a text window and of a prompt, in tokens.
        pattern: how texts are split: `gpt2`; `digits`, which also splits numbers into digits, as SmolLM2 does; or
            `llama3` or `qwen2`, as these models do.
        normalization: `nfc` to compose characters first, such as e and an accent; null for no change.
        end_token: the special token that ends a document.
        start_token: the special token before every document; null for no token.
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

    _adopted: ByteVocabulary | None = None
    _known: ByteVocabulary | None = None

    def __init__(
        self,
        *,
        vocabulary: str = TRAIN,
        vocabulary_size: PositiveInt = 8000,
        max_length: PositiveInt = 256,
        pattern: Pattern = "gpt2",
        normalization: Normalization | None = None,
        end_token: str = END_OF_TEXT,
        start_token: str | None = None,
        special_tokens: tuple[str, ...] = (),
    ):
        super().__init__()
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.max_length = max_length
        self.pattern = pattern
        self.normalization = normalization
        self.end_token = end_token
        self.start_token = start_token
        self.special_tokens = special_tokens
        repeated = [name for name, count in Counter(self._special).items() if count > 1]
        if repeated:
            raise ConfigError("a special token is named twice", key="special_tokens", received=repeated[0])

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
            known = ByteVocabulary.read(hub.local_path(self.vocabulary), special=self._special)
        self._use(known)

    def adopt(
        self,
        *,
        vocabulary: ByteVocabulary,
        pattern: Pattern,
        end_token: str,
        start_token: str | None = None,
        normalization: Normalization | None = None,
        chat_format: str | None = CHATML,
    ) -> None:
        """Adopt the vocabulary and the pattern of published weights.

        Args:
            vocabulary: the vocabulary, special tokens included.
            pattern, end_token, start_token, normalization: as the arguments of the constructor.
            chat_format: a name of CHAT_FORMATS; None for no chats.
        """
        self._adopted, self.pattern, self.normalization = vocabulary, pattern, normalization
        self.end_token, self.start_token, self.chat_format = end_token, start_token, chat_format
        self.special_tokens = tuple(token for token in vocabulary.special if token not in (end_token, start_token))

    @property
    def adopted(self) -> dict[str, str]:
        if self._adopted is None:
            return {}
        known = self._adopted
        parts = [known.tokens, known.merges, known.special, self.pattern, self.end_token]
        others = [self.start_token, self.normalization, self.chat_format, known.text_tokens, known.has_whole_pieces]
        is_plain = others == [None, None, CHATML, (), False]  # as in earlier versions, whose digests stay
        return {"vocabulary": files.digest(parts if is_plain else [*parts, *others])}

    @property
    def files(self) -> list[Path]:
        if self.vocabulary in (TRAIN, PRETRAINED):
            return []
        path = hub.local_path(self.vocabulary)
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
            "bos_token": self.start_token,
            "normalization": self.normalization,
            "text_tokens": list(self._fitted.text_tokens),
            "has_whole_pieces": self._fitted.has_whole_pieces,
            "chat_format": self.chat_format,
            **describe_reference(self._pre_tokenize.fingerprint),
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
                the version that saved the folder.
        """
        path = Path(folder) / _SETTINGS
        settings = files.read_json(path, Settings, remedy="Prepare the data again.")
        self.max_length, self.pattern = settings["model_max_length"], settings["pattern"]
        self.end_token, self.special_tokens = settings["eos_token"], tuple(settings["additional_special_tokens"])
        self.start_token, self.normalization = settings.get("bos_token"), settings.get("normalization")
        self.chat_format = settings.get("chat_format", CHATML)
        text_tokens, has_whole_pieces = settings.get("text_tokens", []), settings.get("has_whole_pieces", False)
        options = {"text_tokens": text_tokens, "has_whole_pieces": has_whole_pieces}
        self._use(ByteVocabulary.read(folder, special=self._special, **options))
        check_reference(settings, self._pre_tokenize.fingerprint, where=str(path))

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self._known.tokens) if self._known else self.vocabulary_size}

    @property
    def end_id(self) -> int:
        return self._fitted.ids[self.end_token]

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        return tuple(sorted({self._fitted.ids[token] for token in self._special}.difference(self.end_ids)))

    def special_token_id(self, special: str) -> int | None:
        return self._fitted.ids[special] if special in self._special else None

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        _ = self._fitted
        return self._split_text(texts) if self._find is None else self._find(valid_utf8(texts), self._split_text)

    def _split_text(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of texts (B,) without text tokens: ragged (B, (T)) int32."""
        pieces = self._pre_tokenize(normalize(texts, self.normalization))
        ids = self._merge(pieces.values)
        return tf.RaggedTensor.from_row_splits(ids.values, tf.gather(ids.row_splits, pieces.row_splits), validate=False)

    @property
    def fitted_vocabulary(self) -> ByteVocabulary:
        """The tokens and merges."""
        return self._fitted

    @property
    def _special(self) -> tuple[str, ...]:
        start = () if self.start_token in (None, self.end_token) else (self.start_token,)
        return (self.end_token, *start, *self.special_tokens)

    def _use(self, known: ByteVocabulary) -> None:
        self._known = known
        self._pre_tokenize, self._merge, self._join = (
            PreTokenizer(self.pattern),
            BytePairMerger(known),
            Detokenizer(known.token_bytes),
        )
        ids = {token: known.ids[token] for token in known.text_tokens}
        self._find = TextTokens(ids) if ids else None

    def _count_pieces(self, texts: Iterable[str]) -> Mapping[str, int]:
        """Count the pieces of texts, as printable characters."""
        pre_tokenize = PreTokenizer(self.pattern)
        found = count_strings(texts, lambda passages: pre_tokenize(normalize(passages, self.normalization)))
        return {bytes_to_unicode(piece): count for piece, count in found.items()}


def normalize(texts: tf.Tensor, normalization: Normalization | None) -> tf.Tensor:
    """Normalize texts (B,); bytes that are not UTF-8 become U+FFFD."""
    return texts if normalization is None else tf_text.normalize_utf8(valid_utf8(texts), normalization.upper())
