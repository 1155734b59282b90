"""Dense layers of an ensemble whose K members share most weights."""

from typing import Any, Literal

import keras
from keras import ops


class MemberDense(keras.layers.Layer):
    """A dense layer with one kernel for all K members, and scales and a bias of each: (B, K, D) -> (B, K, units).

    Member k computes s_k * (W (r_k * x)) + b_k. All scales are initially 1, except for the input scales r of a first
    layer, by which the members differ.

    Args:
        units: the width of the output.
        num_members: K.
        num_groups: the input consists of this many vectors of equal width, the tokens of columns; initially a member
            scales all numbers of a token equally. For "ones" it has no meaning.
        input_scales: "ones", or "normal" for the first layer of a model.

    Example:
        >>> layer = MemberDense(units=8, num_members=4)
        >>> layer(keras.ops.ones((2, 4, 6))).shape
        TensorShape([2, 4, 8])

    Source: Wen et al. 2020, "BatchEnsemble: an alternative approach to efficient ensemble and lifelong learning", eq.
    2; initial values: Gorishniy et al. 2025, "TabM", section 3.3.
    """

    def __init__(
        self,
        *,
        units: int,
        num_members: int,
        num_groups: int = 1,
        input_scales: Literal["ones", "normal"] = "ones",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.num_members = num_members
        self.num_groups = num_groups
        self.input_scales = input_scales

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        uniform = keras.initializers.RandomUniform(-(width**-0.5), width**-0.5)
        first = self._initial_scales if self.input_scales == "normal" else "ones"
        self.kernel = self.add_weight(name="kernel", shape=(width, self.units), initializer=uniform)
        self.scale_in = self.add_weight(name="scale_in", shape=(self.num_members, width), initializer=first)
        self.scale_out = self.add_weight(name="scale_out", shape=(self.num_members, self.units), initializer="ones")
        self.bias = self.add_weight(name="bias", shape=(self.num_members, self.units), initializer=uniform)
        for variable in (self.scale_in, self.scale_out, self.bias):
            variable.decays = False

    def call(self, x: Any) -> Any:
        return ops.matmul(x * self.scale_in, self.kernel) * self.scale_out + self.bias

    def _initial_scales(self, shape: tuple, dtype: Any = None) -> Any:
        members, width = shape
        scales = keras.initializers.RandomNormal(stddev=1.0)((members, self.num_groups), dtype)
        return ops.repeat(scales, width // self.num_groups, axis=1)


class MemberHead(keras.layers.Layer):
    """A separate dense layer for each of K members: (B, K, D) -> (B, K, units).

    Args:
        units: the width of the output.

    Example:
        >>> layer = MemberHead(units=3)
        >>> layer(keras.ops.ones((2, 4, 6))).shape
        TensorShape([2, 4, 3])

    Source: Gorishniy et al. 2025, "TabM", section 3.3.
    """

    def __init__(self, *, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape: tuple) -> None:
        _, members, width = input_shape
        uniform = keras.initializers.RandomUniform(-(width**-0.5), width**-0.5)
        self.kernel = self.add_weight(name="kernel", shape=(members, width, self.units), initializer=uniform)
        self.bias = self.add_weight(name="bias", shape=(members, self.units), initializer=uniform)

    def call(self, x: Any) -> Any:
        return ops.einsum("bkd,kdu->bku", x, self.kernel) + self.bias
