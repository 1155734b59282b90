"""WordPiece, as BERT reads text."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import tensorflow as tf
import tokenizers
from pydantic import PositiveInt

from tfattn import files
from tfattn.errors import ConfigError, DataError, TfattnError
from tfattn.features import SEGMENT_IDS, TEXT, TOKEN_IDS
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.segments import Layout
from tfattn.preprocessing.vocabulary import END, START, Vocabulary

TRAIN = "train"
PRETRAINED = "pretrained"

_VOCABULARY = "vocab.txt"
_SETTINGS = "tokenizer_config.json"


class WordPiece(Preprocessor):
    """Turns one or two text fields into the token ids of BERT's word pieces, in the graph.
    """

    def __init__(
        self,
        *,
        vocabulary: str = TRAIN,
        vocabulary_size: PositiveInt = 8000,
        lower_case: bool | None = None,
        strip_accents: bool | None = None,
        max_length: PositiveInt = 128,
        fields: tuple[str, ...] = (TEXT,),
    ):
        super().__init__()
        if not 1 <= len(fields) <= 2:
            raise ConfigError(
                "a sequence is made of one text or two",
                key="fields",
                expected="1 or 2 names",
                received=f"{len(fields)}",
            )
        if max_length < 2 * len(fields) + 1:
            raise ConfigError(
                "there is no room for any text",
                key="max_length",
                expected=f"at least {2 * len(fields) + 1}, [CLS] and [SEP]s included",
                received=f"{max_length}",
            )
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.lower_case = lower_case
        self.strip_accents = strip_accents
        self.max_length = max_length
        self.fields = fields
        self._known: Vocabulary | None = None
        self._pieces: Pieces | None = None

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Reads the vocabulary, or learns it from the rows."""
        if self.vocabulary == PRETRAINED:
            raise ConfigError(
                "there is no pretrained model whose vocabulary to take",
                key="vocabulary",
                expected=f"`pretrained` in the model's section, or `vocabulary: {TRAIN}`, or the path of a vocab.txt",
                received=repr(PRETRAINED),
            )
        if self.vocabulary == TRAIN:
            lower_case = self.lower_case is not False
            strip_accents = lower_case if self.strip_accents is None else self.strip_accents
            known = Vocabulary.train(
                self._texts(rows), size=self.vocabulary_size, lower_case=lower_case, strip_accents=strip_accents
            )
        else:
            known = Vocabulary.read(self.vocabulary)
        self._use(known)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the vocabulary, in the order of their ids."""
        return list(self._known.tokens)

    @property
    def num_tokens(self) -> int:
        """How many tokens the vocabulary has."""
        return len(self._known.tokens)

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        ids = self._ids(fields)
        layout = Layout(ids, max_length=self.max_length)
        segments = [tf.fill(tf.shape(text.values), number) for number, text in enumerate(ids)]
        return {
            TOKEN_IDS: layout.fill([text.values for text in ids], [self._start_id, self._end_id, self._end_id]),
            SEGMENT_IDS: layout.fill(segments, [0, 0, 1]),
        }

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Whether a row is longer than `max_length` and is cut, (B,) bool."""
        return Layout(self._ids(fields), max_length=self.max_length).is_cut

    def offsets(self, fields: dict[str, tf.Tensor]) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        spans = [self._pieces.spans(fields[name]) for name in self.fields]
        layout = Layout([starts for starts, _ in spans], max_length=self.max_length)
        starts, ends = (layout.fill([side.values for side in sides], [0, 0, 0]) for sides in zip(*spans, strict=True))
        return starts, ends

    def _ids(self, fields: dict[str, tf.Tensor]) -> list[tf.RaggedTensor]:
        return [self._pieces.ids(fields[name]) for name in self.fields]

    def _texts(self, rows: Iterable[dict[str, str]]) -> Iterator[str]:
        for row in rows:
            for name in self.fields:
                yield row[name]

    def _use(self, vocabulary: Vocabulary) -> None:
        lower_case = self.lower_case is not False
        strip_accents = lower_case if self.strip_accents is None else self.strip_accents
        self._known = vocabulary
        self._pieces = Pieces(vocabulary, lower_case=lower_case, strip_accents=strip_accents)
        self._start_id, self._end_id = vocabulary.id(START), vocabulary.id(END)
