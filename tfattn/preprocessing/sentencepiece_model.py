"""A SentencePiece model, trained on texts or read from a file, that splits and joins texts in the graph."""

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text

from tfattn.errors import ConfigError, DataError
from tfattn.files import similar_path
from tfattn.preprocessing.code_points import valid_utf8

PADDING_ID, UNKNOWN_ID, START_ID, END_ID = range(4)  # of models that are trained here

# Longer texts are cut. The time for a run of unknown characters is quadratic in its length: a million of them would
# block a server for a quarter of a minute.
MAX_TEXT_BYTES = 1 << 16
MAX_TRAINING_TEXTS = 4_000_000  # more texts hardly change the model


class SentencePieceModel(tf.Module):
    """A SentencePiece model that splits texts into pieces, and joins pieces to texts.

    Texts are normalized first (NFKC), and runs of blanks become a single blank. Invalid UTF-8 is read as U+FFFD, as
    with Python's `errors="replace"`, and so as a blank. A text is cut after 65,536 bytes.

    Args:
        content: the content of a .model file.
        where: the path of the file, for messages.

    Attributes:
        content: as given.
        tokens: the pieces, in the order of their ids.
        start_id, end_id: the ids of the tokens before and after a text.
        special_ids: the ids of start and end.
        suppressed_ids: the ids of tokens that are never generated: padding, unknown, start and others, but not end.

    Raises:
        DataError: the model is damaged, has no start or end, or its padding is not 0.

    Example:
        >>> model = SentencePieceModel.train(["a man", "a dog"], size=50)
        >>> model.join(model.split(["a  dog"])).numpy()
        array([b'a dog'], dtype=object)

    Source: Kudo and Richardson 2018, "SentencePiece"; Sennrich et al. 2016 (BPE); Kudo 2018 (unigram).
    """

    def __init__(self, content: bytes, *, where: str = ""):
        super().__init__()
        processor = _open(content, where)
        special = {"padding": processor.pad_id(), "start": processor.bos_id(), "end": processor.eos_id()}
        if special["padding"] != PADDING_ID or min(special.values()) < 0:
            raise DataError(
                "the SentencePiece model lacks special tokens",
                where=where,
                expected=f"padding {PADDING_ID}, and some start and end",
                received=", ".join(f"{name} {number}" for name, number in special.items()),
                remedy="Sequences are padded with 0: train it with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3.",
            )
        ids = range(processor.vocab_size())
        self._unknown_id = processor.unk_id()
        self.content = content
        self.tokens: tuple[str, ...] = tuple(map(processor.id_to_piece, ids))
        self.start_id, self.end_id = self.special_ids = special["start"], special["end"]
        self.suppressed_ids = tuple(
            number
            for number in ids
            if number != self.end_id
            and (processor.is_control(number) or processor.is_unknown(number) or processor.is_unused(number))
        )
        # In a SavedModel that TensorFlow 2 loads, tokenizers with the same name would share the first model.
        name = f"sentencepiece_{hashlib.sha256(content).hexdigest()}"
        self._tokenizer = tf_text.SentencepieceTokenizer(content, out_type=tf.int32, name=name)

    @staticmethod
    def read(path: str | Path) -> "SentencePieceModel":
        """Read a .model file.

        Raises:
            DataError: the file is missing or damaged, or lacks special tokens.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise DataError(
                f"cannot read the SentencePiece model ({error.strerror})",
                where=str(path),
                expected="a .model file",
                remedy=similar_path(path) or "Correct the path, or let `vocabulary: train` make one of your text.",
            ) from None
        return SentencePieceModel(content, where=str(path))

    @staticmethod
    def train(
        texts: Sequence[str],
        *,
        size: int,
        model_type: str = "bpe",
        character_coverage: float = 1.0,
        byte_fallback: bool = False,
        key: str = "vocabulary_size",
    ) -> "SentencePieceModel":
        """Train a model on texts; the order of the texts does not matter.

        Args:
            texts: the texts; texts after the first 4,000,000, and texts of more than 65,536 bytes, are ignored.
            size: the maximum number of tokens.
            model_type: "bpe", "unigram" or "word".
            character_coverage: the fraction of the texts' characters that get a token.
            byte_fallback: whether characters without a token become bytes.
            key: the setting that gave `size`, for messages.

        Raises:
            DataError: there are no words in the texts.
            ConfigError: there is no room for all characters.
        """
        buffer = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                # The unigram model sums floats in the order of the texts.
                sentence_iterator=iter(sorted(texts[:MAX_TRAINING_TEXTS]) if model_type == "unigram" else texts),
                model_writer=buffer,
                vocab_size=size,
                hard_vocab_limit=False,
                model_type=model_type,
                character_coverage=character_coverage,
                byte_fallback=byte_fallback,
                pad_id=PADDING_ID,
                unk_id=UNKNOWN_ID,
                bos_id=START_ID,
                eos_id=END_ID,
                max_sentence_length=MAX_TEXT_BYTES,
                input_sentence_size=MAX_TRAINING_TEXTS,
                shuffle_input_sentence=False,  # it has its own seed; training rows are shuffled already
                num_threads=1,  # the number of threads changes the model
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _training_error(texts, str(error), key) from None
        return SentencePieceModel(buffer.getvalue())

    @property
    def vocabulary(self) -> str:
        """The pieces as text, a piece and its score per line, as in the .vocab file of spm_train."""
        processor = _open(self.content, "")
        return "".join(f"{token}\t{processor.get_score(number):g}\n" for number, token in enumerate(self.tokens))

    def split(self, texts: Any) -> tf.RaggedTensor:
        """Return the ids of the pieces of texts (B,), UTF-8: ragged (B, (T)) int32."""
        return self._tokenizer.tokenize(valid_utf8(texts, max_bytes=MAX_TEXT_BYTES))

    def unknown(self, texts: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces of texts (B,), a scalar, and return the unknown words, (N,) strings.

        The model makes a single piece of a run of unknown words; here each word counts.
        """
        texts = valid_utf8(texts, max_bytes=MAX_TEXT_BYTES)
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(texts)
        is_unknown = ids.values == self._unknown_id
        starts, ends = starts.values[is_unknown], ends.values[is_unknown]
        runs = tf.strings.substr(tf.gather(texts, ids.value_rowids()[is_unknown]), starts, ends - starts)
        words = tf.strings.split(runs).values
        return tf.size(ids.values) - tf.size(runs) + tf.size(words), words

    def join(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to texts (B,). Ids without a piece are dropped; unknown becomes " ⁇ "."""
        return self._tokenizer.detokenize(self._known(token_ids))

    def names(self, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Return the names of tokens, given their ids: strings of the same shape; "" for padding."""
        token_ids = self._known(token_ids)
        named = self._tokenizer.id_to_string(token_ids)
        return tf.ragged.map_flat_values(lambda ids, names: tf.where(ids == PADDING_ID, "", names), token_ids, named)

    def _known(self, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Replace ids that are not in the vocabulary by padding: tf-text would refuse the whole batch."""

        def known(ids: Any) -> tf.Tensor:
            ids = tf.convert_to_tensor(ids)
            return tf.cast(tf.where((ids >= 0) & (ids < len(self.tokens)), ids, PADDING_ID), tf.int32)

        return tf.ragged.map_flat_values(known, token_ids)


def _open(content: bytes, where: str) -> sentencepiece.SentencePieceProcessor:
    try:
        if content:
            return sentencepiece.SentencePieceProcessor(model_proto=content)
    except RuntimeError:
        pass
    raise DataError(
        "not a SentencePiece model",
        where=where,
        expected="a .model file, as written by SentencePiece",
        received=f"{len(content)} bytes of another or an incomplete file",
    )


def _training_error(texts: Sequence[str], error: str, key: str) -> ConfigError | DataError:
    if room := re.search(r"required_chars\. (\d+) vs (\d+)", error):
        return ConfigError(
            "there is no room for all characters",
            key=key,
            expected=f"`{key}` of at least {room[2]}",
            received=room[1],
            remedy=f"Raise `{key}`, or lower `character_coverage`.",
        )
    if "sentences_.empty()" in error or "all_chars_count" in error:
        return DataError(
            "there are no words to learn a vocabulary from",
            expected="texts",
            received=f"{len(texts)} texts, all of them empty or longer than {MAX_TEXT_BYTES} bytes",
            remedy="Check the source's `fields`, or name a .model file as `vocabulary`.",
        )
    return ConfigError("the vocabulary cannot be learned", key=key, received=error)
