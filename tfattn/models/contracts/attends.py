"""The contract of models with attention."""

from abc import abstractmethod
from typing import Any

from tfattn.features import TOKEN_VECTORS
from tfattn.ops.attention_record import Attention, AttentionRecord


class Attends:
    """A model whose attention can be recorded, in addition to its other contract.

    `call` also takes `record`, an AttentionRecord of all layers, and the feature `token_vectors` (B, T, D), which
    replaces the model's own token embeddings.

    Attributes:
        has_vectors: whether attention is the softmax of products of queries and keys, which are then recorded too.
    """

    has_vectors: bool = True

    @abstractmethod
    def vectors_of(self, features: dict[str, Any]) -> Any:
        """Compute the token embeddings (B, T, D) that `call` reads, without positions or segments."""
        raise NotImplementedError

    def token_vectors(self, features: dict[str, Any]) -> Any:
        """Return the given `token_vectors`, or else the embeddings of `vectors_of`."""
        return features[TOKEN_VECTORS] if TOKEN_VECTORS in features else self.vectors_of(features)

    def attention(self, features: dict[str, Any]) -> dict[str, Attention]:
        """Compute the attention of each layer in inference.

        Returns:
            the attention by part: "encoder" or "decoder" for self-attention, "cross" from target to source.
        """
        record = AttentionRecord()
        self(features, record=record)  # type: ignore[operator]
        return record.stacked()
