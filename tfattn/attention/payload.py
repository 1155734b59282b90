"""Compressed encoding of attention data for a page: the largest weights of each row, and the sum of the rest."""

import base64
import json
import zlib
from typing import Any

import numpy as np

from tfattn.attention.attention_data import AttentionData, Attributions, Part, Tokens

KEPT = 16  # weights per row
MAX_VECTOR_BYTES = 4 * 2**20  # of queries and keys; larger ones are omitted
ROWS_AT_ONCE = 2**14


def encode(views: AttentionData) -> str:
    """Encode attention data as ASCII text: base64 of a zlib stream of a line of JSON, and the arrays.

    Arrays are in the JSON as `{"at", "shape", "type"}`, little-endian. Arrays of each part:

        columns   (L, H, T, N) uint16, gaps between the sorted column indices of the N largest weights of each row
        weights   (L, H, T, N) uint8, these weights as 255ths of the row's largest
        largest   (L, H, T) uint16, the row's largest weight as 65535ths
        rest      (L, H, T) uint8, the sum of all other weights of the row, as 255ths

    and `queries` and `keys` as float16, unless they are too large. Two-byte types are stored as all first bytes, then
    all second bytes, which compresses better.
    """
    blob = bytearray()

    def store(values: np.ndarray) -> dict[str, Any]:
        offset, width = len(blob), values.dtype.itemsize
        planes = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).view(np.uint8)
        blob.extend(planes.reshape(-1, width).T.tobytes())
        return {"at": offset, "shape": values.shape, "type": values.dtype.name}

    description = {
        "title": views.title,
        "sequences": [_sequence(tokens) for tokens in views.sequences],
        "parts": [{**_part(part), **{k: store(v) for k, v in _arrays(part).items()}} for part in views.parts],
        "attributions": views.attributions and _attributions(views.attributions),
    }
    line = json.dumps(description, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    return base64.b64encode(zlib.compress(line + bytes(blob), 6)).decode("ascii")


def largest(weights: np.ndarray, kept: int = KEPT) -> dict[str, np.ndarray]:
    """Return the largest weights of each row (..., S), in the format of `encode`."""
    width = weights.shape[-1]
    count = min(kept, width)
    rows = weights.reshape(-1, width)
    columns = np.empty((len(rows), count), np.uint16)
    shares = np.empty((len(rows), count), np.uint8)
    tops, rests = np.empty(len(rows), np.uint16), np.empty(len(rows), np.uint8)
    for start in range(0, len(rows), ROWS_AT_ONCE):  # bounds the memory of sorting
        part = slice(start, start + ROWS_AT_ONCE)
        batch = rows[part]
        chosen = np.sort(np.argpartition(batch, width - count, axis=-1)[:, width - count :], axis=-1)
        values = np.take_along_axis(batch, chosen, axis=-1)
        top = values.max(axis=-1, keepdims=True)
        columns[part] = np.diff(chosen, axis=-1, prepend=0)
        shares[part] = np.rint(255 * values / np.maximum(top, 1e-9))
        tops[part] = np.rint(65535 * np.clip(top[:, 0], 0, 1))
        rests[part] = np.rint(255 * np.clip(batch.sum(axis=-1) - values.sum(axis=-1), 0, 1))
    shape = weights.shape[:-1]
    return {
        "columns": columns.reshape(*shape, count),
        "weights": shares.reshape(*shape, count),
        "largest": tops.reshape(shape),
        "rest": rests.reshape(shape),
    }


def _arrays(part: Part) -> dict[str, np.ndarray]:
    arrays = largest(part.weights)
    if part.queries is None or part.keys is None:
        return arrays
    vectors = {"queries": part.queries.astype(np.float16), "keys": part.keys.astype(np.float16)}
    fits = sum(values.nbytes for values in vectors.values()) <= MAX_VECTOR_BYTES
    return arrays | vectors if fits else arrays


def _part(part: Part) -> dict[str, Any]:
    return {"name": part.name, "from": part.rows, "to": part.columns, "hasVectors": part.queries is not None}


def _sequence(tokens: Tokens) -> dict[str, Any]:
    return {
        "tokens": list(tokens.names),
        "words": list(tokens.words),
        "wordTexts": list(tokens.word_texts),
        "segments": list(tokens.segments),
        "special": [bool(special) for special in tokens.special],
        "grid": tokens.grid,
        "image": tokens.image and base64.b64encode(tokens.image).decode("ascii"),
    }


def _attributions(found: Attributions) -> dict[str, Any]:
    values = [round(float(value), 6) for value in found.values]
    return {
        "values": values,
        "score": found.score,
        "baseline": found.baseline,
        "scored": found.scored,
        "missing": found.missing,
    }
