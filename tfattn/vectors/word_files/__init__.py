"""Files of word vectors as others read and write them: word2vec, gensim, GloVe, fastText, TensorBoard's projector."""

from tfattn.vectors.word_files.reading import read, width_of
from tfattn.vectors.word_files.writing import check, write

__all__ = ["check", "read", "width_of", "write"]
