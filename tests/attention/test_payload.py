"""The data of a page: weights to the precision of a byte, and a small size."""

import base64
import json
import zlib

import numpy as np
import pytest

from tfattn.attention import payload

BYTE = 1 / 255


def unpacked(text):
    """Read what `encode` wrote, as its docstring says."""
    line, _, blob = zlib.decompress(base64.b64decode(text)).partition(b"\n")
    known = json.loads(line)

    def array(told):
        kind, count = np.dtype(told["type"]), int(np.prod(told["shape"]))
        planes = np.frombuffer(blob, np.uint8, count * kind.itemsize, told["at"])
        values = np.ascontiguousarray(planes.reshape(kind.itemsize, count).T).view(kind.newbyteorder("<"))
        return values.reshape(told["shape"])

    arrays = [{name: array(told) for name, told in part.items() if isinstance(told, dict)} for part in known["parts"]]
    return known, arrays


def dense(arrays, width):
    columns = np.cumsum(arrays["columns"], axis=-1, dtype=int)
    weights = np.zeros((*columns.shape[:-1], width))
    values = arrays["weights"] / 255 * arrays["largest"][..., None] / 65535
    np.put_along_axis(weights, columns, values, axis=-1)
    return weights


@pytest.mark.parametrize("num_tokens", [1, 7, 16, 40, 300])
def test_weights_are_those_of_the_model_to_8_bits(make_views, num_tokens):
    views = make_views(num_tokens)
    known, arrays = unpacked(payload.encode(views))
    assert [part["name"] for part in known["parts"]] == ["encoder", "encoder rollout"]
    for part, own in zip(views.parts, arrays, strict=True):
        found = dense(own, num_tokens)
        kept = found > 0
        assert kept.sum(axis=-1).max() <= min(num_tokens, payload.KEPT)
        assert np.abs(found - part.weights)[kept].max() <= BYTE
        left = np.where(kept, 0.0, part.weights).sum(axis=-1)
        np.testing.assert_allclose(own["rest"] / 255, left, atol=2 * BYTE)


def test_omitted_weights_are_smaller_than_kept_weights(make_views):
    weights = make_views(60).parts[0].weights
    found = payload.largest(weights)
    columns = np.cumsum(found["columns"], axis=-1, dtype=int)
    smallest = np.take_along_axis(weights, columns, axis=-1).min(axis=-1)
    others = weights.copy()
    np.put_along_axis(others, columns, 0.0, axis=-1)
    assert (others.max(axis=-1) <= smallest).all()


def test_queries_and_keys_make_the_weights(make_views):
    views = make_views(12)
    _, (own, _) = unpacked(payload.encode(views))
    scores = own["queries"].astype("float32") @ np.swapaxes(own["keys"].astype("float32"), -1, -2) / 2.0
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    np.testing.assert_allclose(exponents / exponents.sum(-1, keepdims=True), views.parts[0].weights, atol=BYTE)


def test_too_many_queries_and_keys_are_omitted(make_views, monkeypatch):
    monkeypatch.setattr(payload, "MAX_VECTOR_BYTES", 100)
    known, (own, _) = unpacked(payload.encode(make_views(12)))
    assert "queries" not in own and known["parts"][0]["hasVectors"]
