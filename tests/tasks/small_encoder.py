"""Small models for the tests of tasks, and conversion of tensors to arrays."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from tfattn.models.bert import Bert
from tfattn.models.feature_map_transformer import FeatureMapTransformer


def small_encoder() -> Bert:
    """Makes a BERT of 50 tokens that drops nothing, with weights large enough to tell tokens apart."""
    return Bert(
        vocabulary_size=50,
        hidden_dim=16,
        num_layers=1,
        num_heads=2,
        intermediate_dim=32,
        initializer_range=0.5,
        dropout=0.0,
    )


def arrays(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Turns tensors into arrays, by name."""
    return {name: keras.ops.convert_to_numpy(value) for name, value in values.items()}


def small_table_model():
    """Makes a model of two numeric columns."""
    return FeatureMapTransformer(num_numeric=2, category_counts=[])
