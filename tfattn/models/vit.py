"""The Vision Transformer, with patches or with a convolutional tokenizer."""

from typing import Annotated, Any, Literal

import keras
from keras import ops
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from tfattn import features as feature_names
from tfattn.config.relations import Divides, InsteadOf, OnlyWith
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.errors import ConfigError
from tfattn.layers.column_tokens import ClassToken
from tfattn.layers.grid_positions import GridPositions
from tfattn.layers.image_tokens import ConvolutionalTokens, PatchTokens, RegisterTokens
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.pooling import AttentionPooling
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.ops.attention_record import ENCODER, AttentionRecord, recorded
from tfattn.ops.pooling import pooled

CHANNELS = 3


class Vit(Attends, ImageEncoder):
    """A stack of pre-norm encoder blocks over the patches of an image, by default with a class token before them.

    With `num_convolutions` instead of `patch_size` and pooling by attention it is a Compact Convolutional Transformer,
    with a `distillation_token` a DeiT, with `layer_scale` and `num_registers` a DINOv2. The constructor creates its
    weights, with names such as `vit/tokens/projection/kernel`, `vit/positions/position/embeddings` and
    `vit/block_0/attention/qkv/kernel`.

    Masks: none; an image has all its patches.

    Args:
        image_size: the side of the images in pixels, or [Y, X] where these differ; known from the preprocessing.
        patch_size: the side of a patch in pixels, which divides that of the images.
        num_convolutions: the number of convolutions of the convolutional tokenizer; each halves the sides of the grid.
        kernel_size: the side of its convolutions' windows.
        inner_width: the number of channels between its convolutions.
        hidden_dim: the width D of every token's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks, usually 4 * hidden_dim.
        pooling: how an image is pooled into a vector: the "class_token", the "mean" of its tokens, or their mean
            weighted by "attention".
        distillation_token: whether a second learned vector is after the class token, with its own position.
        num_registers: the number of learned vectors without position after the class token.
        positions: "learned" adds a vector for each token, "sinusoidal" sines and cosines of its row and column, "none"
            has no positions.
        activation: gelu (exact), gelu_approximate (by tanh), relu, relu_squared, silu (Swish), sigmoid, tanh; or the
            gated glu, reglu, geglu, swiglu.
        normalization: "layer_norm", "layer_norm_no_bias", "rms_norm" or "batch_norm"; or "none".
        use_bias: whether the linear maps of the blocks add a learned vector.
        dropout: the fraction of tokens' components and block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training.
        stochastic_depth: the fraction of images that skip the last block in training; it increases linearly from 0 at
            the first block.
        layer_scale: the initial value of learned scales of the components of both results of a block; by default there
            are none.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized.
        pixel_mean: the means of red, green and blue, subtracted from pixels between 0 and 1.
        pixel_deviation: the standard deviations of red, green and blue, by which pixels are divided.

    Call arguments:
        features: `images` (B, Y, X, 3) float32, from 0 to 1.
        record: records the attention of each layer, see `AttentionRecord`.
        only_pooled: whether to return `pooled_output` alone; the last block then computes only the class token, if
            there is one.

    Returns:
        a dictionary of `sequence_output` (B, T, D), normalized; `pooled_output` (B, D) float32; and `hidden_states`, a
        list of the tokens with positions and the outputs of each block, (B, T, D) each; the last is `sequence_output`.

    Raises:
        ConfigError: the patch size does not divide the sides of the images, or images have another size.

    Example:
        >>> vit = Vit(image_size=8, patch_size=4, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> vit({"images": ops.ones((1, 8, 8, 3))})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Dosovitskiy et al. 2021, "An image is worth 16 x 16 words: Transformers for image recognition at scale";
    convolutional tokens and pooling by attention: Hassani et al. 2021, "Escaping the big data paradigm with compact
    Transformers"; Touvron et al. 2021, "Training data-efficient image Transformers"; Oquab et al. 2024, "DINOv2".
    """

    def __init__(
        self,
        *,
        image_size: Size[PositiveInt | Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]],
        patch_size: Annotated[PositiveInt | None, InsteadOf("num_convolutions")] = None,
        num_convolutions: Annotated[int, Field(ge=1, le=8)] | None = None,
        kernel_size: PositiveInt = 3,
        inner_width: PositiveInt = 64,
        hidden_dim: PositiveInt,
        num_layers: Depth,
        num_heads: Annotated[PositiveInt, Divides("hidden_dim")],
        intermediate_dim: PositiveInt,
        pooling: Literal["class_token", "mean", "attention"] = "class_token",
        distillation_token: Annotated[bool, OnlyWith("pooling", values=("class_token",))] = False,
        num_registers: Annotated[NonNegativeInt, OnlyWith("pooling", values=("class_token",))] = 0,
        positions: Literal["learned", "sinusoidal", "none"] = "learned",
        activation: Activation = "gelu",
        normalization: Normalization = "layer_norm",
        use_bias: bool = True,
        dropout: Rate = 0.0,
        attention_dropout: Rate = 0.0,
        stochastic_depth: Rate = 0.0,
        layer_scale: PositiveFloat | None = None,
        layer_norm_epsilon: PositiveFloat = 1e-6,
        initializer_range: PositiveFloat = 0.02,
        pixel_mean: Annotated[list[float], Field(min_length=3, max_length=3)] = (0.5, 0.5, 0.5),
        pixel_deviation: Annotated[list[PositiveFloat], Field(min_length=3, max_length=3)] = (0.5, 0.5, 0.5),
    ):
        # Inputs are not cast to the compute type: pixels are scaled in float32.
        super().__init__(name="vit", autocast=False)
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.pooling = pooling
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.pixel_mean = pixel_mean
        self.pixel_deviation = pixel_deviation
        self.num_positioned_prefix_tokens = (1 + distillation_token) if pooling == "class_token" else 0
        self.num_prefix_tokens = self.num_positioned_prefix_tokens + num_registers
        self._check()
        with self.name_scope():
            height, width = self.sides
            ranged = {"initializer_range": initializer_range}
            self.tokens = (
                PatchTokens(width=hidden_dim, patch_size=patch_size, name="tokens", **ranged)
                if patch_size is not None
                else ConvolutionalTokens(
                    width=hidden_dim,
                    num_convolutions=num_convolutions,
                    kernel_size=kernel_size,
                    inner_width=inner_width,
                    name="tokens",
                )
            )
            self.patch_grid = self.tokens.grid(height, width)
            self.registers = RegisterTokens(count=num_registers, name="registers", **ranged) if num_registers else None
            self.distillation_token = ClassToken(name="distillation_token") if distillation_token else None
            self.class_token = ClassToken(name="class_token") if self.num_prefix_tokens else None
            self.grid_positions = GridPositions(
                grid=self.patch_grid,
                num_prefix_tokens=self.num_positioned_prefix_tokens,
                num_registers=num_registers,
                positions=positions,
                dropout=dropout,
                name="positions",
                **ranged,
            )
            self.blocks = [
                TransformerBlock(
                    num_heads=num_heads,
                    intermediate_dim=intermediate_dim,
                    norm="pre",
                    activation=activation,
                    normalization=normalization,
                    use_bias=use_bias,
                    dropout=dropout,
                    attention_dropout=attention_dropout,
                    stochastic_depth=stochastic_depth * index / max(num_layers - 1, 1),
                    layer_scale=layer_scale,
                    epsilon=layer_norm_epsilon,
                    name=f"block_{index}",
                    **ranged,
                )
                for index in range(num_layers)
            ]
            self.final_norm = normalization_layer(normalization, epsilon=layer_norm_epsilon, name="norm")
            self.attention_pooling = (
                AttentionPooling(name="pooling", dtype="float32", **ranged) if pooling == "attention" else None
            )
            self.tokens.build((None, height, width, CHANNELS))
            layers = (self.grid_positions, *self.blocks, self.final_norm, self.attention_pooling)
            for layer in (*self._prefixes, *layers):
                if layer is not None:
                    layer.build((None, None, hidden_dim))
        self.built = True

    @property
    def _prefixes(self) -> list[keras.layers.Layer]:
        """Return the layers that prepend tokens, the last token first."""
        prefixes = (self.registers, self.distillation_token, self.class_token)
        return [layer for layer in prefixes if layer is not None]

    @property
    def sides(self) -> tuple[int, int]:
        """Return Y and X of the images."""
        return (self.image_size, self.image_size) if isinstance(self.image_size, int) else tuple(self.image_size)

    def call(
        self,
        features: dict[str, Any],
        training: bool = False,
        only_pooled: bool = False,
        record: AttentionRecord | None = None,
    ) -> dict[str, Any]:
        hidden_states = [self.grid_positions(self.token_vectors(features), training=training)]
        layer_record = recorded(record, ENCODER)
        for block in self.blocks:
            is_class_only = only_pooled and self.class_token is not None and block is self.blocks[-1]
            num_queries = 1 if is_class_only else None
            x = block(hidden_states[-1], num_queries=num_queries, record=layer_record, training=training)
            hidden_states.append(x)
        hidden_states[-1] = self.final_norm(hidden_states[-1], training=training)
        pooled_output = {feature_names.POOLED_OUTPUT: self._pooled(hidden_states[-1])}
        if only_pooled:
            return pooled_output
        return {
            feature_names.SEQUENCE_OUTPUT: hidden_states[-1],
            **pooled_output,
            feature_names.HIDDEN_STATES: hidden_states,
        }

    def vectors_of(self, features: dict[str, Any]) -> Any:
        x = self.tokens(self._scaled(features[feature_names.IMAGES]))
        for prefix in self._prefixes:
            x = prefix(x)
        return x

    def _scaled(self, images: Any) -> Any:
        """Scale the pixels in float32, and check the size of the images."""
        found, expected = tuple(images.shape[1:]), (*self.sides, CHANNELS)
        if any(side not in (None, wanted) for side, wanted in zip(found, expected, strict=True)):
            # The message is a single sentence, since Keras shortens errors in calls.
            raise ConfigError(
                f"images of {' x '.join(map(str, found))}, where the model takes {' x '.join(map(str, expected))}: let "
                "the preprocessing make them of this size, or give the model another `image_size`",
                key="image_size",
            )
        images = ops.reshape(ops.cast(images, "float32"), (-1, *self.sides, CHANNELS))
        mean, deviation = (ops.convert_to_tensor(list(x), "float32") for x in (self.pixel_mean, self.pixel_deviation))
        return ops.cast((images - mean) / deviation, self.compute_dtype)

    def _pooled(self, x: Any) -> Any:
        if self.attention_pooling is not None:
            return self.attention_pooling(x)
        return pooled(x, by="mean" if self.class_token is None else "cls")

    def pooled_fractions(self, outputs: dict[str, Any]) -> Any:
        x = outputs[feature_names.SEQUENCE_OUTPUT]
        if self.attention_pooling is not None:
            return self.attention_pooling.fractions(x)
        size = x.shape[1]
        weights = ops.ones(size) / size if self.class_token is None else ops.eye(size)[0]
        return ops.broadcast_to(weights, (ops.shape(x)[0], size))

    def depth_groups(self) -> list[list[keras.Variable]]:
        below = [self.tokens, *self._prefixes, self.grid_positions]
        above = [layer for layer in (self.final_norm, self.attention_pooling) if layer is not None]
        tokens, top = ([v for layer in layers for v in layer.trainable_variables] for layers in (below, above))
        return [tokens, *(block.trainable_variables for block in self.blocks), top]

    def _check(self) -> None:
        if self.patch_size is not None and any(side % self.patch_size for side in self.sides):
            raise ConfigError(
                "patches do not fill the images",
                key="patch_size",
                expected=f"a divisor of {' and '.join(map(str, dict.fromkeys(self.sides)))}, the sides of the images",
                received=str(self.patch_size),
            )
