"""Initialization of token embeddings from word vectors."""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn import console
from tfattn.errors import ConfigError
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.vectors.opening import open_vectors, vector_width

KEY = "embeddings.from"
WORD_PREFIXES = ("▁", "Ġ")  # of tokens that start words in SentencePiece and byte-level BPE
CONTINUES = "##"  # the prefix of tokens that continue words in WordPiece


@dataclass(frozen=True)
class InitializationReport:
    """The number of tokens that were initialized from word vectors."""

    source: str
    used: int
    tokens: int

    def show(self) -> None:
        """Print a one-line summary."""
        console.note(
            f"Embeddings from {self.source}: {self.used:,} of {self.tokens:,} tokens have the vector of a word"
        )


def check_embeddings(model: keras.Model, preprocessor: Preprocessor, source: str, *, is_pretrained: bool) -> None:
    """Check before training that a model can be initialized from word vectors.

    Args:
        model: the model, with its final sizes.
        preprocessor: the preprocessor of the model.
        source: a file of word vectors, or the folder of an export.
        is_pretrained: whether published weights are loaded, too.

    Raises:
        ConfigError: the model has no embedding table, a table of another width, or a published table.
        DataError, CheckpointError: the vectors are missing or damaged.
    """
    table = getattr(model, "token_embeddings", None)
    if not isinstance(table, EmbeddingTable) or not hasattr(type(preprocessor), "tokens"):
        raise ConfigError(
            "the model has no embedding table for word vectors",
            key=KEY,
            expected="a text model with an embedding table, and a preprocessor with tokens",
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
        width = vector_width(source)
    except ConfigError as error:
        error.key = KEY
        raise
    _check_width(table, width, source)


def initialize_embeddings(model: keras.Model, preprocessor: Any, source: str) -> InitializationReport:
    """Initialize the embeddings of tokens that are words from word vectors; other tokens are unchanged.

    A word is looked up in its case first, then in any case. The vectors are scaled to the initializer range of the
    table.

    Args:
        model: the model, whose embedding table is changed.
        preprocessor: the fitted preprocessor; its `tokens` are the rows of the table.
        source: as for `check_embeddings`.

    Raises:
        ConfigError: the vectors have another width, or no token is a word with a vector.
        DataError, CheckpointError: the vectors are damaged.
    """
    vectors, table = open_vectors(source), model.token_embeddings
    _check_width(table, vectors.width, source)
    words = token_words(preprocessor.tokens)
    found = {token: index for token, word in words.items() if (index := vectors.find(word)) is not None}
    if not found:
        raise ConfigError(
            "no token is a word that has a vector",
            key=KEY,
            where=source,
            expected=f"words such as {', '.join(list(words.values())[-3:])}",
            received=f"words such as {', '.join(vectors.words[:3])}",
        )
    rows = vectors.vectors[[*found.values()]]
    scale = np.sqrt(np.mean(np.square(rows, dtype="float64")))
    values = np.array(ops.convert_to_numpy(table.embeddings))
    values[[*found]] = rows * (table.initializer_range / max(scale, np.finfo("float32").tiny))
    table.embeddings.assign(values)
    return InitializationReport(source, len(found), table.num_rows)


def token_words(tokens: list[str]) -> dict[int, str]:
    """Return the words of tokens that are whole words or start words, by token id.

    Example:
        >>> token_words(["[PAD]", "rain", "##s"])
        {0: '[PAD]', 1: 'rain'}
        >>> token_words(["<unk>", "▁rain", "s"])
        {1: 'rain'}
    """
    for prefix in WORD_PREFIXES:
        starts = {number: token[len(prefix) :] for number, token in enumerate(tokens) if token.startswith(prefix)}
        if starts:
            return {number: word for number, word in starts.items() if word}
    return {number: token for number, token in enumerate(tokens) if not token.startswith(CONTINUES)}


def _check_width(table: EmbeddingTable, width: int, source: str) -> None:
    if width != table.width:
        raise ConfigError(
            "the vectors have another width than the embedding table",
            key=KEY,
            expected=f"{table.width} numbers",
            received=f"{width} in {source}",
            remedy=f"Set the width of the table to {width}, usually `hidden_dim`, or use other vectors.",
        )
