"""File formats of word vectors: word2vec, gensim, GloVe, fastText, TensorBoard's projector."""

from tfattn.vectors.word_files.reading import is_readable, read, vector_width
from tfattn.vectors.word_files.writing import check, write

__all__ = ["check", "is_readable", "read", "vector_width", "write"]
