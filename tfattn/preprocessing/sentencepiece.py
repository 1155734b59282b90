"""SentencePiece tokenization of translation sources and targets."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import sentencepiece
import tensorflow as tf
from pydantic import Field, PositiveInt
from typing_extensions import TypedDict

from tfattn import files, hub
from tfattn.config.relations import AtMost, OnlyWith
from tfattn.errors import TfattnError
from tfattn.features import SOURCE, TARGET, TARGET_IDS, TOKEN_IDS
from tfattn.preprocessing.piece_sequences import Pieces, Side
from tfattn.preprocessing.preprocessor import PRETRAINED, TRAIN, Preprocessor
from tfattn.preprocessing.published_pieces import PublishedPieces
from tfattn.preprocessing.published_vocabulary import PublishedVocabulary
from tfattn.preprocessing.sentencepiece_model import SentencePieceModel
from tfattn.preprocessing.unknown import Unknown

Length = Annotated[int, Field(ge=3)]  # in tokens, start and end included
MAX_LENGTH_REMEDY = "Raise `max_length`, the maximum length of both sides."

_SETTINGS = "tokenizer_config.json"


class SentencePieceSettings(TypedDict):
    """The content of tokenizer_config.json."""

    tokenizer_class: str
    joint: bool
    model_max_length: int
    target_max_length: int | None
    max_ratio: float | None
    sentencepiece_version: str
    prefix: NotRequired[str]
    published: NotRequired[bool]


class SentencePiece(Preprocessor):
    """SentencePiece tokenizer of sources and targets, and detokenizer of targets, in the graph.

    A source has its pieces and the end token; a target has the start token, its pieces and the end token. Special
    tokens are not parsed in texts: `</s>` there is four characters. Ids are equal to those of the `sentencepiece`
    package.

    Args:
        vocabulary: `train` to train it on the training rows; `pretrained` for the tokens of the model's pretrained
            weights; or the path of a .model file whose padding id is 0. The file may be on a hub:
            hf://OWNER/NAME/tokenizer.model.
        vocabulary_size: the maximum number of tokens.
        model_type: `bpe` merges the most frequent pairs; `unigram` maximizes the likelihood of the text; `word` has
            only whole words, for small vocabularies. In English and German, BPE sequences are 3 % shorter than with
            unigram, and training is six times faster.
        joint: whether both sides share a vocabulary, which allows shared embeddings.
        target_vocabulary: as `vocabulary`, for the target, if not joint; by default `train`.
        target_vocabulary_size: as `vocabulary_size`, for the target, if not joint; by default the same.
        character_coverage: the fraction of the characters that get a token. Use 0.9995 for languages with many
            characters, such as Chinese.
        byte_fallback: whether characters without a token become bytes, with 256 reserved tokens; else they are
            unknown.
        max_length: the maximum sequence length in tokens, start and end included. Longer training rows are excluded;
            other rows are cut at the end.
        target_max_length: a lower maximum length of targets.
        max_ratio: the maximum ratio of the lengths of both sides, in pieces; other training rows are excluded. By
            default there is none.
        prefix: a text before each source that is not empty, such as the task of a T5, `"summarize: "`.

    Example:
        tokenizer = SentencePiece(vocabulary_size=100)
        tokenizer.fit([{"source": "a dog", "target": "ein Hund"}])
        tokenizer({"source": tf.constant(["a dog"])})["token_ids"]  # ragged (1, (S)) int32

    Source: Kudo and Richardson 2018; a shared vocabulary: Vaswani et al. 2017, section 5.1.
    """

    fields = (SOURCE,)
    target_fields = (TARGET,)

    def __init__(
        self,
        *,
        vocabulary: str = TRAIN,
        vocabulary_size: PositiveInt = 8000,
        model_type: Literal["bpe", "unigram", "word"] = "bpe",
        joint: bool = True,
        target_vocabulary: Annotated[str | None, OnlyWith("joint", values=(False,))] = None,
        target_vocabulary_size: Annotated[PositiveInt | None, OnlyWith("joint", values=(False,))] = None,
        character_coverage: Annotated[float, Field(ge=0.98, le=1.0)] = 1.0,
        byte_fallback: bool = False,
        max_length: Length = 128,
        target_max_length: Annotated[Length | None, AtMost("max_length", remedy=MAX_LENGTH_REMEDY)] = None,
        max_ratio: Annotated[float, Field(ge=1.0)] | None = None,
        prefix: str = "",
    ):
        super().__init__()
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.model_type = model_type
        self.joint = joint
        self.target_vocabulary = target_vocabulary
        self.target_vocabulary_size = target_vocabulary_size
        self.character_coverage = character_coverage
        self.byte_fallback = byte_fallback
        self.max_length = max_length
        self.target_max_length = target_max_length
        self.max_ratio = max_ratio
        self.prefix = prefix
        self._models: tuple[Pieces, ...] = ()
        self._adopted: tuple[PublishedVocabulary, ...] = ()

    @property
    def needs_pretrained(self) -> bool:
        return self.vocabulary == PRETRAINED and not self._adopted

    def adopt(self, *, vocabularies: Sequence[PublishedVocabulary]) -> None:
        """Adopt published vocabularies.

        Args:
            vocabularies: a joint vocabulary; or the vocabularies of sources and targets, which may have the same tokens
                but split texts by different SentencePiece models.
        """
        self._adopted = tuple(vocabularies)
        self.joint = len(self._adopted) == 1

    @property
    def adopted(self) -> dict[str, str]:
        return {f"vocabulary {n}": vocabulary.fingerprint for n, vocabulary in enumerate(self._adopted)}

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Read the vocabularies, or train them on the rows.

        Raises:
            ConfigError: the vocabulary is still `pretrained`, or there is no room for all characters.
            DataError: a .model file is missing or damaged, or there are no words to train on.
        """
        self.check_adopted()
        if self._adopted:
            self._models = tuple(PublishedPieces(vocabulary) for vocabulary in self._adopted)
            return
        pairs = [(row[SOURCE], row[TARGET]) for row in rows]
        if self.joint:
            self._models = (self._read_or_train("vocabulary", [text for pair in pairs for text in pair]),)
        else:
            sources = self._read_or_train("vocabulary", [source for source, _ in pairs])
            targets = self._read_or_train("target_vocabulary", [target for _, target in pairs])
            self._models = (sources, targets)

    def save(self, folder: Path) -> None:
        """Write tokenizer_config.json, and for each vocabulary a .model and a readable .vocab.

        A published vocabulary is written as a .model and a .json with its tokens.
        """
        is_published = isinstance(self._source, PublishedPieces)
        for name, model in zip(self._names, self._fitted, strict=True):
            if is_published:
                model.known.write(Path(folder), name)
                continue
            with files.atomic_file(Path(folder) / f"{name}.model") as path:
                path.write_bytes(model.content)
            files.write_text(Path(folder) / f"{name}.vocab", model.vocabulary)
        settings: SentencePieceSettings = {
            "tokenizer_class": type(self).__name__,
            "joint": self.joint,
            "model_max_length": self.max_length,
            "target_max_length": self.target_max_length,
            "max_ratio": self.max_ratio,
            "sentencepiece_version": sentencepiece.__version__,
            "prefix": self.prefix,
            "published": is_published,
        }
        files.write_json(Path(folder) / _SETTINGS, settings)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: a file is missing or damaged; names it.
        """
        settings = files.read_json(Path(folder) / _SETTINGS, SentencePieceSettings, remedy="Prepare the data again.")
        self.joint = settings["joint"]
        self.max_length, self.target_max_length = settings["model_max_length"], settings["target_max_length"]
        self.max_ratio, self.prefix = settings["max_ratio"], settings.get("prefix", "")
        if settings.get("published"):
            known = [PublishedVocabulary.read(Path(folder), name) for name in self._names]
            self._models = tuple(PublishedPieces(vocabulary, where=str(folder)) for vocabulary in known)
        else:
            self._models = tuple(SentencePieceModel.read(Path(folder) / f"{name}.model") for name in self._names)

    @property
    def files(self) -> list[Path]:
        vocabularies = (self.vocabulary, self.target_vocabulary or TRAIN)
        return [hub.local_path(vocabulary) for vocabulary in vocabularies if vocabulary not in (TRAIN, PRETRAINED)]

    @property
    def sizes(self) -> dict[str, int]:
        known = self._models or self._adopted
        if known:
            sizes = [len(known[0].tokens), len(known[-1].tokens)]
        else:
            sizes = [self.vocabulary_size, self.target_vocabulary_size or self.vocabulary_size]
        return {"vocabulary_size": sizes[0], "target_vocabulary_size": sizes[1]}

    @property
    def tokens(self) -> list[str]:
        """The tokens of sources, in the order of their ids."""
        return list(self._source.tokens)

    @property
    def target_tokens(self) -> list[str]:
        """The tokens of targets, in the order of their ids."""
        return list(self._target.tokens)

    @property
    def source_special_ids(self) -> tuple[int, ...]:
        """The ids of source tokens without text."""
        return self._source.special_ids

    @property
    def target_special_ids(self) -> tuple[int, ...]:
        """The ids of target tokens without text."""
        return self._target.special_ids

    @property
    def start_id(self) -> int:
        """The id of the start token of targets."""
        return self._target.start_id

    @property
    def end_id(self) -> int:
        """The id of the end token of targets."""
        return self._target.end_id

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """The ids of tokens that are never generated: padding, unknown and start, but not end."""
        return self._target.suppressed_ids

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        """Tokenize texts.

        Args:
            fields: `source`, and in training `target`, each (B,), UTF-8.

        Returns:
            `token_ids`, and `target_ids` if targets are given, each ragged (B, (T)) int32.
        """
        return {side.feature: side.sequences(texts) for side, texts in self._sides(fields)}

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows with a source or target that is too long: (B,) bool."""
        return tf.reduce_any([side.measure(texts)[1] for side, texts in self._sides(fields)], axis=0)

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """Count the pieces of each side, and the unknown words."""
        models = {SOURCE: self._source, TARGET: self._target}
        found = {name: models[name].unknown(texts) for name, texts in fields.items()}
        return {name: Unknown.of(pieces, words.numpy()) for name, (pieces, words) in found.items()}

    @property
    def unknown_remedy(self) -> str:
        if self.vocabulary != TRAIN:
            return "Use another `vocabulary`, or `vocabulary: train`."
        if self.model_type == "word":
            return "Raise `vocabulary_size`, or set `model_type: bpe`, which divides rare words."
        return "Raise `character_coverage`, or set `byte_fallback: true`."

    def excluded(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find rows that are excluded from training: (B,) bool.

        The rows have a side that is too long, a length ratio above `max_ratio`, or a side without pieces, such as a
        single U+200B.
        """
        measurements = [side.measure(texts) for side, texts in self._sides(fields)]
        lengths, too_long = (tf.stack(values) for values in zip(*measurements, strict=True))  # (sides, B)
        shorter, longer = tf.reduce_min(lengths, axis=0), tf.reduce_max(lengths, axis=0)
        is_excluded = tf.reduce_any(too_long, axis=0) | (shorter == 0)
        if self.max_ratio is not None:
            is_excluded |= tf.cast(longer, tf.float64) > self.max_ratio * tf.cast(shorter, tf.float64)
        return is_excluded

    def detokenize(self, token_ids: Any) -> tf.Tensor:
        """Join ids of target tokens, (B, L) or ragged, to texts (B,); special tokens and unknown ids are dropped."""
        return self._target.join(token_ids)

    def token_names(self, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Return the names of source tokens, given their ids: strings of the same shape; "" for padding."""
        return self._source.names(token_ids)

    def target_token_names(self, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Return the names of target tokens, given their ids: strings of the same shape; "" for padding."""
        return self._target.names(token_ids)

    def _sides(self, fields: dict[str, tf.Tensor]) -> list[tuple[Side, tf.Tensor]]:
        """Pair each given side with its texts."""
        limit = self.target_max_length or self.max_length
        sides = {
            SOURCE: Side(TOKEN_IDS, self._source, False, self.max_length),
            TARGET: Side(TARGET_IDS, self._target, True, limit),
        }
        texts = {name: tf.convert_to_tensor(fields[name], tf.string) for name in sides if name in fields}
        if self.prefix:
            is_empty = tf.strings.strip(texts[SOURCE]) == ""
            texts[SOURCE] = tf.where(is_empty, "", tf.strings.join([self.prefix, texts[SOURCE]]))
        return [(sides[name], text) for name, text in texts.items()]

    @property
    def _source(self) -> Pieces:
        return self._fitted[0]

    @property
    def _target(self) -> Pieces:
        return self._fitted[-1]

    @property
    def _fitted(self) -> tuple[Pieces, ...]:
        if not self._models:
            raise TfattnError("the tokenizer has no vocabulary yet", remedy="Call `fit` or `load` first.")
        return self._models

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the vocabularies' files, without suffixes."""
        return ("sentencepiece",) if self.joint else (SOURCE, TARGET)

    def _read_or_train(self, key: str, texts: Sequence[str]) -> SentencePieceModel:
        """Read or train the vocabulary of the setting `key`."""
        vocabulary, size_key = getattr(self, key) or TRAIN, f"{key}_size"
        if vocabulary != TRAIN:
            return SentencePieceModel.read(hub.local_path(vocabulary))
        return SentencePieceModel.train(
            texts,
            size=getattr(self, size_key) or self.vocabulary_size,
            key=size_key,
            model_type=self.model_type,
            character_coverage=self.character_coverage,
            byte_fallback=self.byte_fallback,
        )
