"""Every layer keeps the contract of all layers."""

import numpy as np
import pytest

from tests.contracts.layer import check_layer
from tfattn.layers.attention_pooling import AttentionPooling
from tfattn.layers.column_tokens import CategoryTokens, ClassToken, MissingTokens
from tfattn.layers.cross_attention import CrossAttention
from tfattn.layers.decoder_block import DecoderBlock
from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import Embeddings, EmbeddingTable
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.grid_positions import GridPositions
from tfattn.layers.image_tokens import ConvolutionalTokens, PatchTokens
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import LayerNormalization, NoNormalization, RmsNormalization
from tfattn.layers.numeric_tokens import ColumnProjection, LinearTokens, PeriodicTokens, PiecewiseLinearTokens
from tfattn.layers.pooler import Pooler
from tfattn.layers.positions import Positions
from tfattn.layers.projection import Projection
from tfattn.layers.stochastic_depth import StochasticDepth
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


LAYERS = [
    pytest.param(LayerNormalization, {"epsilon": 1e-6}, [X], (3, 5, 8), id="norm"),
    pytest.param(RmsNormalization, {"epsilon": 1e-6}, [X], (3, 5, 8), id="norm by the root mean square"),
    pytest.param(NoNormalization, {"epsilon": 1e-6}, [X], (3, 5, 8), id="no norm"),
    pytest.param(CrossAttentionToSource, {"num_heads": 2}, [X, X[:, ::-1]], (3, 5, 8), id="cross attention"),
    pytest.param(DecoderBlockOfSource, DECODER, [X, X[:, ::-1]], (3, 5, 8), id="post-norm decoder"),
    pytest.param(DecoderBlockOfSource, {**DECODER, "norm": "pre"}, [X, X[:, ::-1]], (3, 5, 8), id="pre-norm decoder"),
    pytest.param(Projection, {"units": 6}, [X], (3, 5, 6), id="projection"),
    pytest.param(Projection, {"units": 6}, [X[:, 0]], (3, 6), id="projection of vectors"),
    pytest.param(Projection, {"units": 6, "initializer_range": None}, [X], (3, 5, 6), id="projection drawn by widths"),
    pytest.param(Projection, {"units": 6, "use_bias": False}, [X], (3, 5, 6), id="projection without bias"),
    pytest.param(Dropout, {"rate": 0.0}, [X], (3, 5, 8), id="dropout"),
    pytest.param(Pooler, {}, [X], (3, 8), id="pooler"),
    pytest.param(FeedForward, {"intermediate_dim": 16}, [X], (3, 5, 8), id="feed-forward"),
    pytest.param(FeedForward, {"intermediate_dim": 16, "activation": "reglu"}, [X], (3, 5, 8), id="gated feed-forward"),
    pytest.param(
        FeedForward,
        {"intermediate_dim": 16, "activation": "swiglu", "use_bias": False, "initializer_range": 0.5},
        [X],
        (3, 5, 8),
        id="gated feed-forward without biases",
    ),
    pytest.param(MultiHeadAttention, {"num_heads": 2, "use_bias": False}, [X], (3, 5, 8), id="attention, no biases"),
    pytest.param(MultiHeadAttention, {"num_heads": 2}, [X], (3, 5, 8), id="attention"),
    pytest.param(MultiHeadAttention, {"num_heads": 2, "is_causal": True}, [X], (3, 5, 8), id="causal attention"),
    pytest.param(TransformerBlock, {**BLOCK, "norm": "post"}, [X], (3, 5, 8), id="post-norm block"),
    pytest.param(TransformerBlock, {**BLOCK, "norm": "pre"}, [X], (3, 5, 8), id="pre-norm block"),
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
    pytest.param(MissingTokens, {}, [X[::-1], MISSING], (3, 5, 8), id="missing values"),
    pytest.param(ClassToken, {}, [X], (3, 6, 8), id="class token"),
    pytest.param(PatchTokens, {"width": 6, "patch_size": 4}, [IMAGES], (3, 6, 6), id="patches"),
    pytest.param(ConvolutionalTokens, {"width": 6, "num_convolutions": 2}, [IMAGES], (3, 6, 6), id="convolutions"),
    pytest.param(GridPositions, {"grid": (2, 2), "num_prefix_tokens": 1}, [X], (3, 5, 8), id="positions of a grid"),
    pytest.param(AttentionPooling, {}, [X], (3, 8), id="pooling by attention"),
    pytest.param(StochasticDepth, {"rate": 0.0}, [X], (3, 5, 8), id="stochastic depth"),
    pytest.param(
        Embeddings,
        {"vocabulary_size": 11, "hidden_dim": 8, "max_sequence_length": 7, "dropout": 0.0},
        [IDS, SEGMENTS],
        (3, 5, 8),
        id="embeddings",
    ),
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


@pytest.mark.every_backend
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_contract_of_positions(positions, tmp_path):
    arguments = {"positions": positions, "max_sequence_length": 5, "dropout": 0.0}
    check_layer(Positions, arguments, X, output_shape=(3, 5, 8), folder=tmp_path, indices=np.arange(5))


def test_a_table_answers_in_its_own_float32():
    table = EmbeddingTable(num_rows=11, width=8, dtype="mixed_bfloat16")
    rows = table(IDS)
    assert rows.dtype.name == "float32" if hasattr(rows.dtype, "name") else str(rows.dtype) == "float32"
    np.testing.assert_array_equal(np.asarray(rows), np.asarray(table.embeddings)[IDS])
