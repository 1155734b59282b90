"""What models can be asked that attend."""

from abc import abstractmethod
from typing import Any

from tfattn.features import TOKEN_VECTORS
from tfattn.ops.attention_record import Attention, AttentionRecord


class Attends:
    """What a model can be asked whose tokens attend to tokens, beside its other contract.

    `call` also takes `record`, an AttentionRecord that is told what each layer looks at, and among its features
    `token_vectors` (B, T, D), which it reads in place of its own vectors of the tokens.

    Attributes:
        has_vectors: whether what it looks at follows from products of queries and keys, which it then tells, too.
    """

    has_vectors: bool = True

    @abstractmethod
    def vectors_of(self, features: dict[str, Any]) -> Any:
        """Return the vectors (B, T, D) of the tokens alone, as `call` reads them: without positions or segments."""
        raise NotImplementedError

    def token_vectors(self, features: dict[str, Any]) -> Any:
        """Return those of `vectors_of`, or the ones that are given in their place."""
        return features[TOKEN_VECTORS] if TOKEN_VECTORS in features else self.vectors_of(features)

    def attention(self, features: dict[str, Any]) -> dict[str, Attention]:
        """Compute what each layer looks at as it reads, not training.

        Returns:
            of each part: "encoder" or "decoder", which attends to itself, "cross", which attends from target to source.
        """
        record = AttentionRecord()
        self(features, record=record)  # type: ignore[operator]
        return record.stacked()
