"""Counter-based random numbers without state: Threefry-2x32."""

from typing import Any

from keras import ops

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
PARITY = 0x1BD11BDA
NUM_ROUNDS = 20


def threefry(key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Compute two pseudorandom words from a key and a counter, with 20 rounds.

    keras.random takes one seed for a whole tensor, this function a seed for each element, so that the samples of a row
    do not depend on the other rows of its batch.

    Args:
        key: two integer tensors of broadcastable shapes; the low 32 bits are used.
        counter: two more integer tensors.

    Returns:
        two uint32 tensors.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """
    keys = [ops.cast(word, "uint32") for word in key]
    keys.append(ops.bitwise_xor(ops.bitwise_xor(keys[0], keys[1]), _word(PARITY)))
    x, y = (ops.cast(word, "uint32") + extra for word, extra in zip(counter, keys, strict=False))
    for number in range(NUM_ROUNDS):
        x = x + y
        y = ops.bitwise_xor(_rotated(y, ROTATIONS[number % len(ROTATIONS)]), x)
        if number % 4 == 3:
            turn = number // 4 + 1
            x = x + keys[turn % 3]
            y = y + keys[(turn + 1) % 3] + _word(turn)
    return x, y


def uniform(key: tuple[Any, Any], counter: tuple[Any, Any]) -> Any:
    """Compute a float32 from 0 to below 1 for each key and counter, as `threefry` takes them."""
    word, _ = threefry(key, counter)
    # 23 bits are the resolution of float32 just below 1.
    return ops.cast(ops.right_shift(word, _word(9)), "float32") * 2.0**-23


def _rotated(word: Any, bits: int) -> Any:
    return ops.bitwise_or(ops.left_shift(word, _word(bits)), ops.right_shift(word, _word(32 - bits)))


def _word(number: int) -> Any:
    return ops.convert_to_tensor(number, dtype="uint32")
