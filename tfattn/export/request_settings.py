"""The settings of a request to a language model: tensors of a signature that need not be given."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import MappingProxyType
from typing import Any, NamedTuple

import tensorflow as tf

from tfattn.decoding.generation import Penalties
from tfattn.decoding.sampling import Sampling
from tfattn.export.written_text import MOST_STOP_BYTES
from tfattn.features import TEXT
from tfattn.sampling_params import MAX_INT, RANGES, Range
from tfattn.tasks.generation import Generation

_RANGES = {
    "max_new_tokens": Range(int, 1, MAX_INT),
    **RANGES,
    "seed": Range(int, -MAX_INT - 1, MAX_INT),
}
TYPES = {int: tf.int32, float: tf.float32}
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

    names = (*_RANGES, STOP)

    def __init__(self, generation: Generation):
        self.defaults = {name: getattr(generation, name, 0) for name in _RANGES}

    def function(self, function: Callable) -> Any:
        """Make a signature of `function(text, **settings)`; defaults are of one row, for all rows of a request."""
        numbers = [tf.TensorSpec([None], _type_of(name), name=name) for name in _RANGES]
        texts = tf.TensorSpec([None], tf.string, name=TEXT), tf.TensorSpec([None, None], tf.string, name=STOP)
        defaults = {spec.name: tf.constant([self.defaults[spec.name]], spec.dtype) for spec in numbers}
        return signature(function, [texts[0], *numbers, texts[1]], defaults | {STOP: tf.zeros([1, 0], tf.string)})

    def of_rows(self, num_rows: int, **values: float) -> dict[str, Any]:
        """Write settings of a request of some rows, the same for all: defaults but for what is given."""
        numbers = {name: [values.get(name, default)] * num_rows for name, default in self.defaults.items()}
        typed = {name: tf.constant(row, _type_of(name)).numpy() for name, row in numbers.items()}
        return {name: array.tolist() for name, array in typed.items()} | {STOP: [[""]] * num_rows}

    def checked(self, settings: Mapping[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Broadcast settings to B rows, and refuse what makes no sense, with the row and what was received."""
        numbers = {name: tf.broadcast_to(settings[name], [rows]) for name in _RANGES}
        stop = tf.broadcast_to(settings[STOP], [rows, tf.shape(settings[STOP])[1]])
        length = tf.strings.length(stop)

        def longest() -> tf.Tensor:
            most = tf.reduce_max(tf.pad(length, [[0, 0], [0, 1]]), axis=1)
            return tf.strings.join([tf.strings.as_string(most), " bytes"])

        is_short = tf.reduce_all(length <= MOST_STOP_BYTES, axis=1)
        short = Check(is_short, f"{STOP}: expected strings of at most {MOST_STOP_BYTES} bytes", longest)
        with tf.control_dependencies([refuse([*within(numbers, _RANGES), short])]):
            return {name: tf.identity(values) for name, values in (numbers | {STOP: stop}).items()}


def signature(
    function: Callable, specs: Sequence[tf.TensorSpec], defaults: Mapping[str, tf.Tensor] = MappingProxyType({})
) -> Any:
    """Make a signature of a function that takes the tensors of `specs` by their names; some need not be given."""

    def named(*values: tf.Tensor) -> Any:
        return function(**{spec.name: value for spec, value in zip(specs, values, strict=True)})

    # TensorFlow names inputs by the parameters of a function.
    named.__signature__ = inspect.Signature(
        [
            Parameter(spec.name, Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(spec.name, Parameter.empty))
            for spec in specs
        ]
    )
    return tf.function(named, input_signature=specs, autograph=False)


def choice_of(settings: Mapping[str, tf.Tensor]) -> tuple[Sampling, Penalties]:
    """Return how each row draws its tokens, and which get less likely, of its settings (B,) by their names."""
    own = {name: settings[name] for name in Sampling._fields if name != "stream"}
    sampling = Sampling(stream=tf.zeros_like(settings["seed"]), **own)
    return sampling, Penalties(*(settings[f"{name}_penalty"] for name in Penalties._fields))


class Check(NamedTuple):
    """What each row of a request has to be.

    Attributes:
        is_right: (B,) bool.
        expected: of what, and what.
        received: returns what was received instead, (B,) string.
    """

    is_right: tf.Tensor
    expected: str
    received: Callable[[], tf.Tensor]


def within(numbers: Mapping[str, tf.Tensor], ranges: Mapping[str, Range]) -> list[Check]:
    """Return the checks that numbers (B,) are within their ranges; what is not a number is not."""
    return [
        Check(
            (numbers[name] >= low) & (numbers[name] <= high),
            f"{name}: expected {ranges[name]}",
            lambda name=name: tf.strings.as_string(numbers[name], shortest=numbers[name].dtype.is_floating),
        )
        for name, (_, low, high) in ranges.items()
    ]


def refuse(checks: Sequence[Check]) -> tf.Tensor:
    """Refuse a request that fails a check, with the row and what was received; nothing is worded of one that does not.

    Returns:
        a tensor to wait for.
    """

    def refused() -> tf.Tensor:
        with tf.control_dependencies([_assertion(check) for check in checks]):
            return tf.constant(False)

    is_right = tf.reduce_all(tf.stack([tf.reduce_all(check.is_right) for check in checks]))
    return tf.cond(is_right, lambda: tf.constant(True), refused)


def _assertion(check: Check) -> tf.Operation:
    row = tf.argmax(tf.cast(~check.is_right, tf.int32))
    # Joined, so that there is something to say of no rows.
    received = tf.strings.reduce_join(check.received()[row : row + 1])
    said = tf.strings.join([check.expected, ", received ", received, " in row ", tf.strings.as_string(row + 1)])
    return tf.debugging.Assert(tf.reduce_all(check.is_right), [said])


def _type_of(name: str) -> tf.DType:
    return TYPES[_RANGES[name].kind]
