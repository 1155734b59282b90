"""Images overlaid with the attention of a model."""

import numpy as np
import tensorflow as tf
from keras import ops

from tfattn.features import IMAGES
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.ops.attention_record import ENCODER, AttentionRecord
from tfattn.ops.rollout import rollout

MIN_BRIGHTNESS = 0.15  # of patches without attention, as a fraction of their brightness


def attention_overlay(model: ImageEncoder, images: np.ndarray) -> np.ndarray:
    """Darken the patches of images with less attention.

    The brightness of a patch is its attention rollout over all layers, weighted by the pooling weights of the tokens.

    Args:
        model: an image encoder with attention.
        images: (N, Y, X, 3) float32, from 0 to 1.

    Returns:
        (N, Y, X, 3) float32; the patch with the most attention keeps its brightness.
    """
    record = AttentionRecord()
    outputs = model({IMAGES: ops.convert_to_tensor(images)}, record=record)
    counts = ops.convert_to_numpy(model.pooled_fractions(outputs))
    weights = ops.convert_to_numpy(record.stacked()[ENCODER].weights)
    seen = np.stack([pooling @ rollout(layers)[-1, 0] for pooling, layers in zip(counts, weights, strict=True)])
    patches = seen[:, model.num_prefix_tokens :].reshape(-1, *model.patch_grid, 1)
    brightness = patches / patches.max(axis=(1, 2), keepdims=True)
    return images * (MIN_BRIGHTNESS + (1 - MIN_BRIGHTNESS) * tf.image.resize(brightness, images.shape[1:3]).numpy())
