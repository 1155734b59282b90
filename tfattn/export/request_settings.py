"""The settings of a request to a language model: tensors of a signature that need not be given."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tfattn.export.written_text import MOST_STOP_BYTES
from tfattn.features import TEXT
from tfattn.tasks.generation import Generation

# Of each setting the type, and what is allowed: from, to, and in words.
_NUMBERS = {
    "max_new_tokens": (tf.int32, 1, 2**31 - 1, "at least 1"),
    "temperature": (tf.float32, 0.0, 1e30, "at least 0"),
    "top_k": (tf.int32, 0, 2**31 - 1, "at least 0"),
    "top_p": (tf.float32, 1e-30, 1.0, "above 0 and at most 1"),
    "min_p": (tf.float32, 0.0, 1.0, "from 0 to 1"),
    "repetition_penalty": (tf.float32, 1e-30, 1e30, "above 0"),
    "presence_penalty": (tf.float32, -2.0, 2.0, "from -2 to 2"),
    "frequency_penalty": (tf.float32, -2.0, 2.0, "from -2 to 2"),
    "seed": (tf.int32, -(2**31), 2**31 - 1, "any"),
}
STOP = "stop"


class Settings:
    """What a request may say of each of its rows.

        max_new_tokens, temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty
                  (B,) as `Generation` has them
        seed      (B,) int32: equal rows with equal seeds get equal texts, whatever batch they are in; 0 by default
        stop      (B, n) string: a text ends before the first of them; "" stops nothing

    Args:
        generation: what they are where a request does not say.
    """

    names = (*_NUMBERS, STOP)

    def __init__(self, generation: Generation):
        self.defaults = {name: getattr(generation, name, 0) for name in _NUMBERS}

    def function(self, function: Callable) -> Any:
        """Make a signature of `function(text, **settings)`; defaults are of one row, for all rows of a request."""
        given = {name: tf.constant([value], _NUMBERS[name][0]) for name, value in self.defaults.items()}
        no_stop = tf.zeros([1, 0], tf.string)

        def with_defaults(
            text,
            max_new_tokens=given["max_new_tokens"],
            temperature=given["temperature"],
            top_k=given["top_k"],
            top_p=given["top_p"],
            min_p=given["min_p"],
            repetition_penalty=given["repetition_penalty"],
            presence_penalty=given["presence_penalty"],
            frequency_penalty=given["frequency_penalty"],
            seed=given["seed"],
            stop=no_stop,
        ):
            settings = locals()
            return function(**{name: settings[name] for name in (TEXT, *self.names)})

        specs = [
            tf.TensorSpec([None], tf.string, name=TEXT),
            *(tf.TensorSpec([None], kind, name=name) for name, (kind, *_) in _NUMBERS.items()),
            tf.TensorSpec([None, None], tf.string, name=STOP),
        ]
        return tf.function(with_defaults, input_signature=specs, autograph=False)

    def of_rows(self, num_rows: int, **values: float) -> dict[str, Any]:
        """Write settings of a request of some rows, the same for all: defaults but for what is given."""
        numbers = {name: [values.get(name, default)] * num_rows for name, default in self.defaults.items()}
        typed = {name: tf.constant(row, _NUMBERS[name][0]).numpy() for name, row in numbers.items()}
        return {name: array.tolist() for name, array in typed.items()} | {STOP: [[""]] * num_rows}

    def checked(self, settings: Mapping[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Broadcast settings to B rows, and refuse what makes no sense, with the row and what was received."""
        checks, whole = [], {}
        for name, (_, low, high, words) in _NUMBERS.items():
            values = whole[name] = tf.broadcast_to(settings[name], [rows])
            is_right = (values >= low) & (values <= high)
            checks.append(_check(is_right, f"{name}: expected {words}", tf.strings.as_string(values)))
        stop = tf.broadcast_to(settings[STOP], [rows, tf.shape(settings[STOP])[1]])
        length = tf.strings.length(stop)
        is_short = tf.reduce_all(length <= MOST_STOP_BYTES, axis=1)
        longest = tf.reduce_max(tf.pad(length, [[0, 0], [0, 1]]), axis=1)
        told = tf.strings.join([tf.strings.as_string(longest), " bytes"])
        checks.append(_check(is_short, f"{STOP}: expected strings of at most {MOST_STOP_BYTES} bytes", told))
        with tf.control_dependencies(checks):
            return {name: tf.identity(values) for name, values in (whole | {STOP: stop}).items()}


def _check(is_right: tf.Tensor, expected: str, received: tf.Tensor) -> tf.Operation:
    row = tf.argmax(tf.cast(~is_right, tf.int32))
    # Joined, so that there is something to say of no rows.
    received = tf.strings.reduce_join(received[row : row + 1])
    said = tf.strings.join([expected, ", received ", received, " in row ", tf.strings.as_string(row + 1)])
    return tf.debugging.Assert(tf.reduce_all(is_right), [said])
