"""Low-rank adapters (LoRA)."""

from collections.abc import Sequence
from typing import Annotated, Any

import keras
from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.types import Rate
from tfattn.layers.adapters import Adapter
from tfattn.layers.dropout import Dropout
from tfattn.layers.projection import Projection
from tfattn.ops.low_rank import Factors, low_rank_kernel, low_rank_maps


class Lora(Adapter):
    """Low-rank adapters: the change of a kernel W is the product A B of two narrow matrices, times alpha / rank.

    A starts with random values and B with zeros, so that training starts from the model without the adapter.

    Args:
        rank: the number of columns of A.
        alpha: the scale of the change is alpha / rank.
        targets: the maps to change: query, key, value, attention_output, gate, intermediate, feed_forward_output; or
            "attention" and "feed_forward", all maps of a layer.
        dropout: the fraction of the adapter's input that is dropped in training.

    Example:
        >>> from tfattn.models.bert import Bert
        >>> bert = Bert(vocabulary_size=30, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=16)
        >>> [layer] = Lora(rank=2, targets=["query", "value"]).attach(bert)
        >>> [weight.name for weight in bert.trainable_weights]
        ['query_a', 'query_b', 'value_a', 'value_b']

    Source: Hu et al. 2021, "LoRA: low-rank adaptation of large language models". The maps of a projection share the
    dropout of their input.
    """

    def __init__(
        self,
        *,
        rank: PositiveInt = 8,
        alpha: PositiveFloat = 16.0,
        targets: Annotated[list[str], Field(min_length=1)] = ("query", "value"),
        dropout: Rate = 0.0,
    ):
        super().__init__(targets=targets)
        self.rank = rank
        self.alpha = alpha
        self.dropout = dropout

    def layer(self, projection: Projection, maps: Sequence[int]) -> "LowRankUpdate":
        return LowRankUpdate(
            rank=self.rank,
            alpha=self.alpha,
            dropout=self.dropout,
            widths=projection.maps,
            names={str(index): projection.targets[index] for index in maps},
            dtype=projection.dtype_policy,
            name="lora",
        )


class LowRankUpdate(keras.layers.Layer):
    """The change of the output of a projection by low-rank changes of its maps: (N, D) -> (N, F).

    Args:
        rank, alpha, dropout: as Lora.
        widths: the width of each map of the projection.
        names: the names of the maps that change, by index.

    Example:
        >>> layer = LowRankUpdate(rank=2, alpha=4.0, widths=(3, 5), names={"1": "value"})
        >>> layer(keras.ops.ones((2, 4))).shape
        TensorShape([2, 8])

    Source: as Lora.
    """

    def __init__(
        self,
        *,
        rank: int,
        alpha: float,
        widths: Sequence[int],
        names: dict[str, str],
        dropout: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.rank = rank
        self.alpha = alpha
        self.widths = tuple(widths)
        self.names = dict(names)
        self.dropout = dropout

    def build(self, input_shape: tuple) -> None:
        self.rows = input_shape[-1]
        # Uniform within 1 / sqrt(D), as in the released code of the paper.
        first = keras.initializers.VarianceScaling(scale=1 / 3, mode="fan_in", distribution="uniform")
        self.factors = {
            int(index): (
                self.add_weight(name=f"{name}_a", shape=(self.rows, self.rank), initializer=first),
                self.add_weight(name=f"{name}_b", shape=(self.rank, self.widths[int(index)]), initializer="zeros"),
            )
            for index, name in self.names.items()
        }
        self.input_dropout = Dropout(self.dropout, name="dropout", dtype=self.dtype_policy)
        self.input_dropout.build(input_shape)

    @property
    def scale(self) -> float:
        """The scale of the change: alpha / rank."""
        return self.alpha / self.rank

    def call(self, x: Any, training: bool = False) -> Any:
        x = self.input_dropout(x, training=training)
        return low_rank_maps(x * self.scale, self._by_map())

    def kernel(self) -> Any:
        """Compute the change of the kernel of the projection: (D, F)."""
        return low_rank_kernel(self._by_map(), self.rows) * self.scale

    def _by_map(self) -> list[Factors]:
        return [self.factors.get(index, width) for index, width in enumerate(self.widths)]
