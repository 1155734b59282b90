"""Sampling of next tokens from logits in NumPy, as the signature `decode_step` of a SavedModel samples them.

The same seed and position give the same random numbers (Threefry, as tfattn/decoding/counter_rng.py), so that a text
does not depend on the engine, up to the rounding of the logits.
"""

from collections.abc import Mapping, Sequence

import numpy as np

NUM_TOP_TOKENS = 20
GREEDY_TEMPERATURE = 1e-4  # below it, float32 cannot represent the other probabilities
MAX_ATTEMPTS = 128
ROTATIONS, NUM_ROUNDS, PARITY = (13, 15, 26, 6, 17, 29, 16, 24), 20, 0x1BD11BDA
LOWEST = np.finfo(np.float32).min
_NEUTRAL = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}


def sample(
    logits: np.ndarray, inputs: Mapping[str, np.ndarray], *, suppressed_ids: Sequence[int], outputs: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Sample a token of each row.

    Args:
        logits: (B, V) float32; they are not changed.
        inputs: the sampling inputs of `decode_step`, see `DecodingSteps`.
        suppressed_ids: tokens that are never sampled.
        outputs: the names of the outputs; all if empty.

    Returns:
        the outputs of `decode_step` for steps of one token, without keys and values.
    """
    changed = _changed(logits, inputs, suppressed_ids)
    token_ids = np.array([_draw(row, inputs, number) for number, row in enumerate(changed)], np.int32)
    found = {"token_ids": token_ids[:, None]}
    if not outputs or set(outputs) - {"token_ids", "keys_values"}:
        found |= log_probabilities(logits, token_ids)
    return found


def _changed(logits: np.ndarray, inputs: Mapping[str, np.ndarray], suppressed_ids: Sequence[int]) -> np.ndarray:
    """Apply penalties, biases and masks."""
    changed = logits.copy()
    penalties = {name: np.asarray(inputs[name], np.float32)[:, None] for name in _NEUTRAL}
    if any((penalties[name] != neutral).any() for name, neutral in _NEUTRAL.items()):
        counts, repetition = inputs["counts"], penalties["repetition_penalty"]
        is_generated = counts > 0
        repeated = np.where(changed > 0, changed / repetition, changed * repetition)
        changed = np.where(is_generated | inputs["in_prompt"], repeated, changed)
        changed -= penalties["presence_penalty"] * is_generated + penalties["frequency_penalty"] * counts
    if "logit_bias" in inputs:
        changed += inputs["logit_bias"]
    changed[:, list(suppressed_ids)] = -np.inf
    if not inputs["allowed"].all():
        changed = np.where(inputs["allowed"], changed, LOWEST)
    return changed


def _draw(logits: np.ndarray, inputs: Mapping[str, np.ndarray], row: int) -> int:
    """Sample a token: rejection sampling from all tokens, as tfattn/decoding/sampling.py."""
    most_likely = int(logits.argmax())
    temperature, top_k = float(inputs["temperature"][row]), int(inputs["top_k"][row])
    if temperature < GREEDY_TEMPERATURE or top_k == 1:
        return most_likely
    exponents = np.exp((logits - logits[most_likely]) / np.float32(temperature))
    weights = exponents / exponents.sum()
    smallest = np.float32(inputs["min_p"][row]) * weights.max()
    key, index = int(inputs["seed"][row]), int(inputs["index"][row])
    for attempt in range(MAX_ATTEMPTS):
        sums = np.cumsum(weights, dtype=np.float64)
        drawn = int(np.searchsorted(sums, uniform((key, 0), (index, attempt)) * sums[-1], side="right"))
        drawn = drawn if drawn < len(weights) and weights[drawn] > 0 else most_likely
        is_above = (weights > weights[drawn]) | ((weights == weights[drawn]) & (np.arange(len(weights)) < drawn))
        above = np.where(is_above, weights, np.float32(0))
        count = int(is_above.sum())
        in_top_k = top_k <= 0 or count < top_k
        in_nucleus = float(inputs["top_p"][row]) >= 1 or above.sum() < inputs["top_p"][row]
        if not count or (in_top_k and in_nucleus and weights[drawn] >= smallest):
            return drawn
        weights = above  # all allowed tokens are among the more probable tokens
    return most_likely


def log_probabilities(logits: np.ndarray, token_ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return the log probabilities of a token (B,) of each row and of the top tokens, with the names of `decode_step`.

    Args:
        logits: (B, V) float32.
        token_ids: (B,).
    """
    rows = np.arange(len(logits))[:, None]
    largest = logits.max(axis=1, keepdims=True)
    total = largest + np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))
    top = np.argpartition(-logits, min(NUM_TOP_TOKENS, logits.shape[1]) - 1, axis=1)[:, :NUM_TOP_TOKENS]
    top = np.take_along_axis(top, np.lexsort((top, -logits[rows, top]), axis=1), axis=1).astype(np.int32)
    return {
        "log_probability": logits[rows, token_ids[:, None]] - total,
        "likeliest_ids": top[:, None],
        "likeliest_log_probabilities": (logits[rows, top] - total)[:, None],
    }


def uniform(key: tuple[int, int], counter: tuple[int, int]) -> float:
    """Compute a float32 from 0 to below 1 from a key and a counter; the low 32 bits of the integers are used.

    Example:
        >>> uniform((0, 0), (0, 0))
        0.4195079803466797

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """
    mask = 0xFFFFFFFF
    keys = [word & mask for word in key]
    keys.append(keys[0] ^ keys[1] ^ PARITY)
    x, y = (((word & mask) + extra) & mask for word, extra in zip(counter, keys, strict=False))
    for number in range(NUM_ROUNDS):
        x = (x + y) & mask
        bits = ROTATIONS[number % len(ROTATIONS)]
        y = ((y << bits | y >> 32 - bits) & mask) ^ x
        if number % 4 == 3:
            turn = number // 4 + 1
            x = (x + keys[turn % 3]) & mask
            y = (y + keys[(turn + 1) % 3] + turn) & mask
    return (x >> 9) * 2.0**-23
