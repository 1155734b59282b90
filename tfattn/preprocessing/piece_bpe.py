"""SentencePiece tokenization of whole texts, as in Llama 2, Mistral and Gemma."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text
from pydantic import PositiveInt
from typing_extensions import TypedDict

from tfattn import files
from tfattn.preprocessing.code_points import valid_utf8
from tfattn.preprocessing.language import Detokenizer, Language
from tfattn.preprocessing.piece_vocabulary import BLANK, PieceVocabulary, Prefix
from tfattn.preprocessing.preprocessor import PRETRAINED

_MODEL, _SETTINGS = "tokenizer.model", "tokenizer_config.json"
_REMEDY = "Prepare the data again."


class Settings(TypedDict):
    """The content of tokenizer_config.json."""

    tokenizer_class: str
    model_max_length: int
    eos_token: str
    bos_token: str | None
    prefix: Prefix
    chat_format: str | None


class PieceBpe(Language):
    """SentencePiece tokens of a text, and back, in the graph.

    A text is not divided into words: its blanks are characters of the pieces. Characters without a piece become their
    bytes. Tokens join to exactly the same text, after the blank that some models put before it. Special tokens are not
    parsed in texts. Ids are equal to those of the packages `sentencepiece` and `tokenizers`.

    Args:
        vocabulary: `pretrained` to use the vocabulary of the pretrained weights, or the path of a tokenizer.model.
        max_length: the maximum length of a text window and of a prompt, in tokens.
        end_token: the special token that ends a document.
        start_token: the special token before every document; null for no token.

    Example:
        tokenizer = PieceBpe(vocabulary="tokenizer.model")
        tokenizer.fit([])
        ids = tokenizer({"text": tf.constant(["the pump"])})["token_ids"]  # ragged (1, (T)) int32
        tokenizer.detokenize(ids)  # [" the pump"]

    Source: Kudo and Richardson 2018, "SentencePiece"; Touvron et al. 2023, "LLaMA", section 2.1.
    """

    chat_format = None
    _adopted: PieceVocabulary | None = None
    _known: PieceVocabulary | None = None

    def __init__(
        self,
        *,
        vocabulary: str = PRETRAINED,
        max_length: PositiveInt = 256,
        end_token: str = "</s>",
        start_token: str | None = "<s>",
    ):
        super().__init__()
        self.vocabulary = vocabulary
        self.max_length = max_length
        self.end_token = end_token
        self.start_token = start_token

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Read the vocabulary.

        Raises:
            ConfigError: the vocabulary is still `pretrained`.
            DataError: the file is missing or damaged, or the start or end token is not in it.
        """
        self.check_adopted()
        if self._adopted is not None:
            self._use(self._adopted)
        else:
            content = files.read_bytes(self.vocabulary, remedy="Correct the path of the tokenizer.model.")
            self._use(PieceVocabulary.read(content, where=self.vocabulary))

    def adopt(
        self, *, vocabulary: PieceVocabulary, end_token: str, start_token: str | None, chat_format: str | None
    ) -> None:
        """Adopt the vocabulary of published weights.

        Args:
            vocabulary: the vocabulary.
            end_token, start_token: as the arguments of the constructor.
            chat_format: a name of CHAT_FORMATS; None for no chats.
        """
        self._adopted, self.chat_format = vocabulary, chat_format
        self.end_token, self.start_token = end_token, start_token

    @property
    def adopted(self) -> dict[str, str]:
        if self._adopted is None:
            return {}
        parts = [self._adopted.content.hex(), self._adopted.prefix, self.end_token, self.start_token, self.chat_format]
        return {"vocabulary": files.digest(parts)}

    @property
    def files(self) -> list[Path]:
        return [] if self.vocabulary == PRETRAINED else [Path(self.vocabulary)]

    def save(self, folder: Path) -> None:
        """Write tokenizer.model and tokenizer_config.json, the file names of transformers."""
        with files.atomic_file(Path(folder) / _MODEL) as path:
            path.write_bytes(self._fitted.content)
        content: Settings = {
            "tokenizer_class": "LlamaTokenizer",
            "model_max_length": self.max_length,
            "eos_token": self.end_token,
            "bos_token": self.start_token,
            "prefix": self._fitted.prefix,
            "chat_format": self.chat_format,
        }
        files.write_json(Path(folder) / _SETTINGS, content)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged.
        """
        content = files.read_json(Path(folder) / _SETTINGS, Settings, remedy=_REMEDY)
        self.max_length, self.chat_format = content["model_max_length"], content["chat_format"]
        self.end_token, self.start_token = content["eos_token"], content["bos_token"]
        path = Path(folder) / _MODEL
        read = PieceVocabulary.read(files.read_bytes(path, remedy=_REMEDY), where=str(path))
        self._use(PieceVocabulary(read.proto, content["prefix"]))

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self._known.tokens) if self._known else 1}

    @property
    def end_id(self) -> int:
        return self._fitted.tokens.index(self.end_token)

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        return tuple(sorted(set(self._special_ids.values()).difference(self.end_ids)))

    def special_token_id(self, special: str) -> int | None:
        return self._special_ids.get(special)

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        _ = self._fitted
        return self._tokenizer.tokenize(valid_utf8(texts))

    def _use(self, known: PieceVocabulary) -> None:
        known.check_special([self.end_token, *([] if self.start_token is None else [self.start_token])])
        self._known = known
        special = set(known.special)
        self._special_ids = {name: number for number, name in enumerate(known.tokens) if name in special}
        self.prefix = "" if known.prefix == "never" else " "
        self.prefix_unless = (" ", BLANK) if known.prefix == "unless_blank" else ()
        content = known.continuing_content
        # In a SavedModel that TensorFlow 2 loads, tokenizers with the same name would share the first model.
        name = f"pieces_{hashlib.sha256(content).hexdigest()}"
        self._tokenizer = tf_text.SentencepieceTokenizer(content, out_type=tf.int32, name=name)
        self._join = Detokenizer(known.token_bytes)
