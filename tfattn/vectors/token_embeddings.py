"""Word vectors with which a model's table of tokens begins."""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn import console
from tfattn.errors import ConfigError
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.vectors.opening import open_vectors, width_of

KEY = "embeddings.from"
STARTS = ("▁", "Ġ")  # of tokens that begin words, of SentencePiece and of byte-level BPE
CONTINUES = "##"  # of tokens that continue them, of WordPiece


@dataclass(frozen=True)
class Begun:
    """How many of a table's tokens begin with the vector of a word."""

    place: str
    used: int
    tokens: int

    def show(self) -> None:
        """Print it in a line."""
        console.note(f"Embeddings from {self.place}: {self.used:,} of {self.tokens:,} tokens have the vector of a word")


def check_beginning(model: keras.Model, preprocessor: Preprocessor, source: str, *, is_pretrained: bool) -> None:
    """Refuse vectors that a model cannot begin with, before anything long begins.

    Args:
        model: the model, whose sizes are known.
        preprocessor: what it reads.
        source: a file of word vectors, or an export's folder.
        is_pretrained: whether published weights are to be loaded, too.

    Raises:
        ConfigError: it has no table of tokens, one of another width, or one that is published.
        DataError, CheckpointError: there are no such vectors, or they are damaged.
    """
    table = getattr(model, "token_embeddings", None)
    if not isinstance(table, EmbeddingTable) or not hasattr(type(preprocessor), "tokens"):
        raise ConfigError(
            "there is no table of tokens that could begin with vectors of words",
            key=KEY,
            expected="a model of texts with a table, and a preprocessing with tokens",
            received=f"{model.name} and {type(preprocessor).__name__}",
        )
    if is_pretrained:
        raise ConfigError(
            "the model has the embeddings of published weights",
            key=KEY,
            expected="either `pretrained` or `embeddings`",
            received="both",
        )
    try:
        width = width_of(source)
    except ConfigError as error:
        error.key = KEY
        raise
    _check_width(table, width, source)


def begin(model: keras.Model, preprocessor: Any, source: str) -> Begun:
    """Let tokens that are words begin with the vectors of these words; others stay as they are.

    A word is looked for as it is written, and else in other case. All vectors together are scaled to the size that the
    table is initialized with, which the model's other parts are made for.

    Args:
        model: its table of tokens is changed.
        preprocessor: fitted; its `tokens` are those of the table.
        source: as `check_beginning` takes it.

    Raises:
        ConfigError: they are of another width, or no token is a word of theirs.
        DataError, CheckpointError: they are damaged.
    """
    vectors, table = open_vectors(source), model.token_embeddings
    _check_width(table, vectors.width, source)
    words = words_of(preprocessor.tokens)
    found = {token: place for token, word in words.items() if (place := vectors.find(word)) is not None}
    if not found:
        raise ConfigError(
            "no token is a word that has a vector",
            key=KEY,
            where=source,
            expected=f"words such as {', '.join(list(words.values())[-3:])}",
            received=f"words such as {', '.join(vectors.words[:3])}",
        )
    rows = vectors.vectors[[*found.values()]]
    spread = np.sqrt(np.mean(np.square(rows, dtype="float64")))
    values = np.array(ops.convert_to_numpy(table.embeddings))
    values[[*found]] = rows * (table.initializer_range / max(spread, np.finfo("float32").tiny))
    table.embeddings.assign(values)
    return Begun(source, len(found), table.num_rows)


def words_of(tokens: list[str]) -> dict[int, str]:
    """Tell which tokens are whole words or begin them, by id, and which words.

    Example:
        >>> words_of(["[PAD]", "rain", "##s"])
        {0: '[PAD]', 1: 'rain'}
        >>> words_of(["<unk>", "▁rain", "s"])
        {1: 'rain'}
    """
    for start in STARTS:
        marked = {number: token[len(start) :] for number, token in enumerate(tokens) if token.startswith(start)}
        if marked:
            return {number: word for number, word in marked.items() if word}
    return {number: token for number, token in enumerate(tokens) if not token.startswith(CONTINUES)}


def _check_width(table: EmbeddingTable, width: int, source: str) -> None:
    if width != table.width:
        raise ConfigError(
            "the vectors are of another width than the model's table of tokens",
            key=KEY,
            expected=f"{table.width} numbers",
            received=f"{width} in {source}",
            remedy=f"Set the width of the table to {width}, which is mostly `hidden_dim`, or take other vectors.",
        )
