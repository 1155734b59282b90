"""The training objectives of word vectors: negative sampling, hierarchical softmax and full softmax."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops

from tfattn.ops.backend import embedding_lookup
from tfattn.ops.cross_entropy import logistic_loss

FORK_LIMIT = 50.0  # decisions of a fork in a batch; at a learning rate of 0.025 more would overshoot


class Predictor(Protocol):
    """The required part of a model of word vectors; see `WordPredictor`."""

    def predicted(self, x: Any) -> Any: ...

    def scores(self, vectors: Any, outputs: Any) -> Any: ...


class WordObjective(keras.layers.Layer):
    """The contract of an objective: output vectors, initially 0, and the loss of predicting vectors.

    Args:
        num_outputs: the number of output vectors.
        width: D.
    """

    def __init__(self, *, num_outputs: int, width: int, name: str):
        super().__init__(autocast=False, name=name)
        self.outputs = self.add_weight(name="outputs", shape=(num_outputs, width), initializer="zeros")
        self.built = True

    def loss(self, predictor: Predictor, vectors: Any, token_ids: Any, pairs: Any, noise_ids: Any) -> Any:
        """Compute the loss at each position.

        Args:
            predictor: the model.
            vectors: (B, N, L, D); each predicts C words.
            token_ids: (B, N, L) int, the words of each block.
            pairs: (B, N, L, C) float32, 1 for target words.
            noise_ids: (B, N, K) int, negative samples.

        Returns:
            (B, N, L) float32, sums over the C words.
        """
        raise NotImplementedError

    def _scores(self, predictor: Predictor, vectors: Any, token_ids: Any) -> Any:
        """Multiply each vector with the output vector of each word that it predicts: (B, N, L, C)."""
        outputs = ops.expand_dims(embedding_lookup(self.outputs, token_ids), 3)
        return ops.squeeze(predictor.scores(vectors, outputs), -1)


class NegativeSampling(WordObjective):
    """Negative sampling: nearby words against random words.

    The K negative samples of a block are shared by all of its positions; each has the weight `negatives` / K.

    Args:
        vocabulary_size: V.
        width: D.
        negatives: the number of negative samples for each nearby word.

    Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 4.
    """

    def __init__(self, *, vocabulary_size: int, width: int, negatives: int):
        super().__init__(num_outputs=vocabulary_size, width=width, name="negative_sampling")
        self.negatives = negatives
        self.guess = (1 + negatives) * math.log(2)

    def loss(self, predictor: Predictor, vectors: Any, token_ids: Any, pairs: Any, noise_ids: Any) -> Any:
        scores = self._scores(predictor, vectors, token_ids)
        noise = ops.matmul(vectors, ops.swapaxes(embedding_lookup(self.outputs, noise_ids), 2, 3))  # (B, N, L, K)
        noise_loss = self.negatives * ops.mean(logistic_loss(-noise), axis=-1)
        return ops.sum(logistic_loss(scores) * pairs, axis=-1) + noise_loss * ops.sum(pairs, axis=-1)


class HierarchicalSoftmax(WordObjective):
    """Hierarchical softmax: a binary decision at each fork of the path to a word in a Huffman tree.

    Forks near the root are on the paths of most words. With more than `FORK_LIMIT` decisions in a batch, the gradient
    of a fork is their mean times the limit.

    Args:
        vocabulary_size: V.
        counts: returns the counts of the words, (V,), in descending order; called when first needed.
        width: D.

    Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 3.
    """

    def __init__(self, *, vocabulary_size: int, counts: Callable[[], Sequence[int]], width: int):
        super().__init__(num_outputs=max(vocabulary_size - 1, 1), width=width, name="hierarchical_softmax")
        self._counts = counts

    @functools.cached_property
    def tree(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the paths to all words, see `huffman`."""
        paths, turns = huffman(self._counts())
        return paths.astype("int32"), turns.astype("float32")

    @property
    def guess(self) -> float:
        return float(np.average(np.abs(self.tree[1]).sum(axis=1), weights=self._counts())) * math.log(2)

    def loss(self, predictor: Predictor, vectors: Any, token_ids: Any, pairs: Any, noise_ids: Any) -> Any:
        paths, turns = (ops.take(ops.convert_to_tensor(table), token_ids, axis=0) for table in self.tree)
        fraction = self._fractions(paths, turns, pairs)[..., None]
        forks = embedding_lookup(self.outputs, paths)
        forks = forks * fraction + ops.stop_gradient(forks * (1.0 - fraction))
        scores = predictor.scores(vectors, forks)  # (B, N, L, C, P)
        turns = predictor.predicted(turns)
        return ops.sum(ops.sum(logistic_loss(turns * scores) * ops.abs(turns), axis=-1) * pairs, axis=-1)

    def _fractions(self, paths: Any, turns: Any, pairs: Any) -> Any:
        """Compute the factor of the gradient of each fork: (B, N, L, P), from 0 to 1."""
        flat, passes = ops.reshape(paths, (-1,)), ops.reshape(ops.abs(turns), (-1,))
        passed = ops.segment_sum(passes, flat, num_segments=self.outputs.shape[0])
        predicted_by = ops.sum(pairs) / ops.cast(ops.prod(ops.shape(paths)[:-1]), "float32")  # mean over words
        decisions = ops.take(passed, paths, axis=0) * predicted_by
        return ops.minimum(1.0, FORK_LIMIT / ops.maximum(decisions, 1.0))


class FullSoftmax(WordObjective):
    """Softmax over the whole vocabulary; its cost is linear in the number of words.

    Args:
        vocabulary_size: V.
        width: D.

    Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 2.
    """

    def __init__(self, *, vocabulary_size: int, width: int):
        super().__init__(num_outputs=vocabulary_size, width=width, name="softmax")
        self.guess = math.log(vocabulary_size)

    def loss(self, predictor: Predictor, vectors: Any, token_ids: Any, pairs: Any, noise_ids: Any) -> Any:
        scores = self._scores(predictor, vectors, token_ids)
        total = ops.logsumexp(ops.matmul(vectors, ops.transpose(self.outputs)), axis=-1, keepdims=True)
        return ops.sum((total - scores) * pairs, axis=-1)


def huffman(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Build the binary tree in which frequent words have short paths.

    Args:
        counts: the counts of V words, in descending order.

    Returns:
        paths, (V, P), the forks on the path to each word, the root last, padded with 0; and turns (V, P), 1 or -1 at
        each fork, 0 at padding.

    Source: the code of word2vec (Mikolov et al. 2013), CreateBinaryTree: with equal counts words are joined before
    forks.
    """
    size = len(counts)
    weights = np.concatenate([np.asarray(counts, np.int64), np.zeros(max(size - 1, 0), np.int64)])
    parents, is_second = np.zeros(len(weights), np.int64), np.zeros(len(weights), bool)
    word, fork = size - 1, size  # the rarest word and the oldest fork without a parent
    for new in range(size, len(weights)):
        for second in (False, True):
            takes_word = word >= 0 and (fork >= new or weights[word] < weights[fork])
            chosen, word, fork = (word, word - 1, fork) if takes_word else (fork, word, fork + 1)
            parents[chosen], is_second[chosen] = new, second
            weights[new] += weights[chosen]
    paths = []
    for node in range(size):
        path, root = [], len(weights) - 1
        while node != root:
            path.append((parents[node] - size, -1 if is_second[node] else 1))
            node = parents[node]
        paths.append(path[::-1])
    longest = max(map(len, paths), default=0)
    padded = np.array([path + [(0, 0)] * (longest - len(path)) for path in paths], np.int64).reshape(size, longest, 2)
    return padded[..., 0], padded[..., 1]
