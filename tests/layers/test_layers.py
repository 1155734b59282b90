"""The contract of all layers."""

import numpy as np
import pytest
from keras import ops

from tests.contracts.layer import check_layer
from tfattn.layers.column_tokens import CategoryTokens, ClassToken, MissingTokens
from tfattn.layers.cross_attention import CrossAttention
from tfattn.layers.decoder_block import DecoderBlock
from tfattn.layers.disentangled_bias import DisentangledBias
from tfattn.layers.dropout import Dropout, StochasticDepth
from tfattn.layers.embeddings import Embeddings, EmbeddingTable
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.grid_positions import GridPositions
from tfattn.layers.image_tokens import ConvolutionalTokens, PatchTokens, RegisterTokens
from tfattn.layers.layer_scale import LayerScale
from tfattn.layers.member_dense import MemberDense, MemberHead
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import (
    BatchNormalization,
    LayerNormalization,
    NoNormalization,
    RmsNormalization,
)
from tfattn.layers.numeric_tokens import ColumnProjection, LinearTokens, PeriodicTokens, PiecewiseLinearTokens
from tfattn.layers.pooling import AttentionPooling, Pooler
from tfattn.layers.positions import Positions
from tfattn.layers.projection import Projection
from tfattn.layers.relative_bias import RelativeBias
from tfattn.layers.transformer_block import TransformerBlock

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(3, 5, 8)).astype("float32")
IMAGES = DRAW.normal(size=(3, 8, 12, 3)).astype("float32")
IDS = DRAW.integers(0, 11, size=(3, 5)).astype("int32")
SEGMENTS = DRAW.integers(0, 2, size=(3, 5)).astype("int32")
MISSING = np.array([[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1]], "float32")
BLOCK = {"num_heads": 2, "intermediate_dim": 16, "dropout": 0.0, "attention_dropout": 0.0}
GATED = {"norm": "pre", "activation": "geglu", "normalization": "rms_norm", "use_bias": False, "qk_norm": True}
DECODER = {**BLOCK, "initializer_range": None}


class CrossAttentionToSource(CrossAttention):
    """With the source in place of its keys and values."""

    def call(self, x, source):
        return super().call(x, self.memory_of(source))


class DecoderBlockOfSource(DecoderBlock):
    """With the source in place of its keys and values."""

    def call(self, x, source):
        return super().call(x, self.memory_of(source))


class DisentangledBiasOfVectors(DisentangledBias):
    """With the vectors as the queries and keys of a single head."""

    def call(self, x):
        bias = super().call(x)
        return bias(x[:, None], x[:, None], lambda vectors: (vectors[:, None], vectors[:, None]))[:, 0]


class RelativeBiasOfRows(RelativeBias):
    """With as many positions as the rows of a batch have, and the same bias for each row."""

    def build(self, x_shape):
        super().build()

    def call(self, x):
        positions = np.arange(x.shape[1])
        return ops.repeat(super().call(positions, positions), ops.shape(x)[0], axis=0)


LAYERS = [
    pytest.param(LayerNormalization, {"epsilon": 1e-6}, [X], (3, 5, 8), id="norm"),
    pytest.param(RmsNormalization, {"epsilon": 1e-6}, [X], (3, 5, 8), id="norm by the root mean square"),
    pytest.param(BatchNormalization, {"epsilon": 1e-3}, [X], (3, 5, 8), id="norm over the batch"),
    pytest.param(CrossAttentionToSource, {"num_heads": 2}, [X, X[:, ::-1]], (3, 5, 8), id="cross attention"),
    pytest.param(DecoderBlockOfSource, DECODER, [X, X[:, ::-1]], (3, 5, 8), id="post-norm decoder"),
    pytest.param(Projection, {"units": 6}, [X], (3, 5, 6), id="projection"),
    pytest.param(Pooler, {}, [X], (3, 8), id="pooler"),
    pytest.param(FeedForward, {"intermediate_dim": 16}, [X], (3, 5, 8), id="feed-forward"),
    pytest.param(FeedForward, {"intermediate_dim": 16, "activation": "reglu"}, [X], (3, 5, 8), id="gated feed-forward"),
    pytest.param(MultiHeadAttention, {"num_heads": 2}, [X], (3, 5, 8), id="attention"),
    pytest.param(MultiHeadAttention, {"num_heads": 3, "head_dim": 4}, [X], (3, 5, 8), id="attention of wide heads"),
    pytest.param(MultiHeadAttention, {"num_heads": 2, "is_causal": True}, [X], (3, 5, 8), id="causal attention"),
    pytest.param(
        DisentangledBiasOfVectors,
        {"num_buckets": 2, "max_distance": 3, "initializer_range": 0.5},
        [X],
        (3, 5, 5),
        id="disentangled bias",
    ),
    pytest.param(
        RelativeBiasOfRows, {"num_heads": 2, "num_buckets": 4, "max_distance": 3}, [X], (3, 2, 5, 5), id="relative bias"
    ),
    pytest.param(LayerScale, {"initial_value": 0.5}, [X], (3, 5, 8), id="layer scale"),
    pytest.param(TransformerBlock, {**BLOCK, "norm": "post"}, [X], (3, 5, 8), id="post-norm block"),
    pytest.param(
        TransformerBlock,
        {**BLOCK, **GATED, "initializer_range": 0.5},
        [X],
        (3, 5, 8),
        id="gated pre-norm block",
    ),
    pytest.param(ColumnProjection, {"units": 6}, [X], (3, 5, 6), id="column projection"),
    pytest.param(LinearTokens, {"width": 6}, [X[:, 0]], (3, 8, 6), id="linear tokens"),
    pytest.param(PiecewiseLinearTokens, {"width": 6, "num_bins": 4}, [X[:, 0]], (3, 2, 6), id="piecewise linear"),
    pytest.param(PeriodicTokens, {"width": 6, "num_frequencies": 5}, [X[:, 0]], (3, 8, 6), id="periodic tokens"),
    pytest.param(CategoryTokens, {"width": 6, "category_counts": [11] * 5}, [IDS], (3, 5, 6), id="categories"),
    pytest.param(
        MemberDense,
        {"units": 6, "num_members": 5, "num_groups": 4, "input_scales": "normal"},
        [X],
        (3, 5, 6),
        id="dense layer of members",
    ),
    pytest.param(MemberHead, {"units": 6}, [X], (3, 5, 6), id="head of members"),
    pytest.param(MissingTokens, {}, [X[::-1], MISSING], (3, 5, 8), id="missing values"),
    pytest.param(ClassToken, {}, [X], (3, 6, 8), id="class token"),
    pytest.param(RegisterTokens, {"count": 2}, [X], (3, 7, 8), id="registers"),
    pytest.param(PatchTokens, {"width": 6, "patch_size": 4}, [IMAGES], (3, 6, 6), id="patches"),
    pytest.param(ConvolutionalTokens, {"width": 6, "num_convolutions": 2}, [IMAGES], (3, 6, 6), id="convolutions"),
    pytest.param(GridPositions, {"grid": (2, 2), "num_prefix_tokens": 1}, [X], (3, 5, 8), id="positions of a grid"),
    pytest.param(
        GridPositions,
        {"grid": (1, 2), "num_prefix_tokens": 1, "num_registers": 2},
        [X],
        (3, 5, 8),
        id="positions of a grid after registers",
    ),
    pytest.param(AttentionPooling, {}, [X], (3, 8), id="pooling by attention"),
    pytest.param(
        Embeddings,
        {"vocabulary_size": 11, "hidden_dim": 8, "max_sequence_length": 7, "dropout": 0.0},
        [IDS, SEGMENTS],
        (3, 5, 8),
        id="embeddings",
    ),
]
# The same operations otherwise wired: `make slow` holds them against the contract with JAX.
VARIANTS = [
    pytest.param(NoNormalization, {"epsilon": 1e-6}, [X], (3, 5, 8), id="no norm"),
    pytest.param(
        DecoderBlockOfSource,
        {**DECODER, "head_dim": 3, "use_bias": False},
        [X, X[:, ::-1]],
        (3, 5, 8),
        id="decoder of narrow heads without biases",
    ),
    pytest.param(DecoderBlockOfSource, {**DECODER, "norm": "pre"}, [X, X[:, ::-1]], (3, 5, 8), id="pre-norm decoder"),
    pytest.param(Projection, {"units": 6}, [X[:, 0]], (3, 6), id="projection of vectors"),
    pytest.param(Projection, {"units": 6, "initializer_range": None}, [X], (3, 5, 6), id="projection drawn by widths"),
    pytest.param(Projection, {"units": 6, "use_bias": False}, [X], (3, 5, 6), id="projection without bias"),
    pytest.param(Dropout, {"rate": 0.0}, [X], (3, 5, 8), id="dropout"),
    pytest.param(
        FeedForward,
        {"intermediate_dim": 16, "activation": "swiglu", "use_bias": False, "initializer_range": 0.5},
        [X],
        (3, 5, 8),
        id="gated feed-forward without biases",
    ),
    pytest.param(MultiHeadAttention, {"num_heads": 2, "use_bias": False}, [X], (3, 5, 8), id="attention, no biases"),
    pytest.param(
        MultiHeadAttention,
        {"num_heads": 2, "head_dim": 6, "soft_cap": 2.0, "output_bias": False},
        [X],
        (3, 5, 8),
        id="attention of wider heads, with a soft cap",
    ),
    pytest.param(TransformerBlock, {**BLOCK, "norm": "pre"}, [X], (3, 5, 8), id="pre-norm block"),
    pytest.param(TransformerBlock, {**BLOCK, "norm": "both"}, [X], (3, 5, 8), id="block with norms of results"),
    pytest.param(
        TransformerBlock,
        {**BLOCK, "norm": "parallel", "attention_bias": "qkv", "rotary_rates": [1.0]},
        [X],
        (3, 5, 8),
        id="parallel block",
    ),
    pytest.param(
        TransformerBlock,
        {**BLOCK, "norm": "pre", "normalization": "rms_norm", "activation": "glu"},
        [X],
        (3, 5, 8),
        id="pre-norm block of other parts",
    ),
    pytest.param(
        TransformerBlock, {**BLOCK, "norm": "pre_feed_forward"}, [X], (3, 5, 8), id="block that starts unnormed"
    ),
    pytest.param(StochasticDepth, {"rate": 0.0}, [X], (3, 5, 8), id="stochastic depth"),
    pytest.param(
        Embeddings,
        {
            "vocabulary_size": 11,
            "hidden_dim": 8,
            "max_sequence_length": 7,
            "positions": "rotary",
            "normalization": "rms_norm",
            "dropout": 0.0,
        },
        [IDS, SEGMENTS],
        (3, 5, 8),
        id="embeddings without positions",
    ),
]


@pytest.mark.every_backend
@pytest.mark.parametrize(("layer_class", "arguments", "inputs", "output_shape"), LAYERS)
def test_contract(layer_class, arguments, inputs, output_shape, tmp_path):
    check_layer(layer_class, arguments, *inputs, output_shape=output_shape, folder=tmp_path)


@pytest.mark.parametrize(("layer_class", "arguments", "inputs", "output_shape"), VARIANTS)
def test_contract_of_variants(layer_class, arguments, inputs, output_shape, tmp_path):
    check_layer(layer_class, arguments, *inputs, output_shape=output_shape, folder=tmp_path)


@pytest.mark.every_backend
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_contract_of_positions(positions, tmp_path):
    arguments = {"positions": positions, "max_sequence_length": 5, "dropout": 0.0}
    check_layer(Positions, arguments, X, output_shape=(3, 5, 8), folder=tmp_path, indices=np.arange(5))


def test_a_table_returns_float32():
    table = EmbeddingTable(num_rows=11, width=8, dtype="mixed_bfloat16")
    rows = table(IDS)
    assert rows.dtype.name == "float32" if hasattr(rows.dtype, "name") else str(rows.dtype) == "float32"
    np.testing.assert_array_equal(np.asarray(rows), np.asarray(table.embeddings)[IDS])
