"""Layers with weights: each one idea, built on the functions of tfattn.ops and wired together in tfattn.models.

This package registers all of them with Keras under the package name `tfattn`, so that `keras.saving.load_model` finds
them after `import tfattn.layers`. A new class needs a line here.
"""

import keras

from tfattn.layers.alignment import Alignment
from tfattn.layers.bahdanau_decoder import BahdanauDecoder
from tfattn.layers.bidirectional import BidirectionalLstm
from tfattn.layers.character_words import CharacterWords, Highway
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
from tfattn.layers.lora import LowRankUpdate
from tfattn.layers.luong_decoder import InputFeedingDecoder, LuongDecoder
from tfattn.layers.member_dense import MemberDense, MemberHead
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import BatchNormalization, LayerNormalization, NoNormalization, RmsNormalization
from tfattn.layers.numeric_tokens import ColumnProjection, LinearTokens, PeriodicTokens, PiecewiseLinearTokens
from tfattn.layers.pooling import AttentionPooling, Pooler, SegmentPooler
from tfattn.layers.positions import Positions
from tfattn.layers.projection import Projection
from tfattn.layers.recurrent import Bidirectional, Cell, Recurrent
from tfattn.layers.recurrent_decoder import PlainDecoder, RecurrentDecoder
from tfattn.layers.relative_bias import RelativeBias
from tfattn.layers.scalar_mix import ScalarMix
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.layers.word_objectives import FullSoftmax, HierarchicalSoftmax, NegativeSampling, WordObjective
from tfattn.layers.word_softmax import WordSoftmax

__all__ = [
    "Alignment",
    "AttentionPooling",
    "BahdanauDecoder",
    "BatchNormalization",
    "Bidirectional",
    "BidirectionalLstm",
    "CategoryTokens",
    "Cell",
    "CharacterWords",
    "ClassToken",
    "ColumnProjection",
    "ConvolutionalTokens",
    "CrossAttention",
    "DecoderBlock",
    "DisentangledBias",
    "Dropout",
    "EmbeddingTable",
    "Embeddings",
    "FeedForward",
    "FullSoftmax",
    "GridPositions",
    "HierarchicalSoftmax",
    "Highway",
    "InputFeedingDecoder",
    "LayerNormalization",
    "LayerScale",
    "LinearTokens",
    "LowRankUpdate",
    "LuongDecoder",
    "MemberDense",
    "MemberHead",
    "MissingTokens",
    "MultiHeadAttention",
    "NegativeSampling",
    "NoNormalization",
    "PatchTokens",
    "PeriodicTokens",
    "PiecewiseLinearTokens",
    "PlainDecoder",
    "Pooler",
    "Positions",
    "Projection",
    "Recurrent",
    "RecurrentDecoder",
    "RegisterTokens",
    "RelativeBias",
    "RmsNormalization",
    "ScalarMix",
    "SegmentPooler",
    "StochasticDepth",
    "TransformerBlock",
    "WordObjective",
    "WordSoftmax",
]

for _name in __all__:
    keras.saving.register_keras_serializable(package="tfattn")(globals()[_name])
