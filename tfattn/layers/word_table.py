"""The vectors of words, for models that learn nothing else."""

import keras

from tfattn.layers.embeddings import EmbeddingTable


class WordTable(EmbeddingTable):
    """A table of vectors, looked up by id, whose numbers begin evenly spread between -0.5 / D and 0.5 / D.

    Args:
        num_rows: V, the number of words.
        width: D.

    Source: the code of word2vec (Mikolov et al. 2013), whose vectors begin so.
    """

    def build(self, input_shape: tuple | None = None) -> None:
        half = 0.5 / self.width
        initializer = keras.initializers.RandomUniform(minval=-half, maxval=half)
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.num_rows, self.width), initializer=initializer, autocast=False
        )
