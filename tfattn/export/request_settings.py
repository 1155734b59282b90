"""Generation settings of a request: optional inputs of a signature."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import MappingProxyType
from typing import Any, NamedTuple

import tensorflow as tf

from tfattn.decoding.generation import Penalties
from tfattn.decoding.sampling import Sampling
from tfattn.export.stop_strings import MAX_STOP_BYTES
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
    """Generation settings per row of a request.

        max_new_tokens, temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty
                  (B,), see `Generation`
        seed      (B,) int32: equal rows with equal seeds get equal texts in any batch; 0 by default
        stop      (B, n) string: the text ends before the first stop string; "" is ignored

    Args:
        generation: the defaults.
    """

    names = (*_RANGES, STOP)

    def __init__(self, generation: Generation):
        self.defaults = {name: getattr(generation, name, 0) for name in _RANGES}

    def function(self, function: Callable) -> Any:
        """Make a signature of `function(text, **settings)`; defaults are broadcast to all rows of a request."""
        numbers = [tf.TensorSpec([None], _type_of(name), name=name) for name in _RANGES]
        texts = tf.TensorSpec([None], tf.string, name=TEXT), tf.TensorSpec([None, None], tf.string, name=STOP)
        defaults = {spec.name: tf.constant([self.defaults[spec.name]], spec.dtype) for spec in numbers}
        return signature(function, [texts[0], *numbers, texts[1]], defaults | {STOP: tf.zeros([1, 0], tf.string)})

    def for_rows(self, num_rows: int, **values: float) -> dict[str, Any]:
        """Return the same settings for each of `num_rows` rows: `values` and defaults."""
        numbers = {name: [values.get(name, default)] * num_rows for name, default in self.defaults.items()}
        typed = {name: tf.constant(row, _type_of(name)).numpy() for name, row in numbers.items()}
        return {name: array.tolist() for name, array in typed.items()} | {STOP: [[""]] * num_rows}

    def validate(self, settings: Mapping[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Broadcast settings to B rows, and fail on a value out of range, with its row."""
        numbers = {name: tf.broadcast_to(settings[name], [rows]) for name in _RANGES}
        stop = tf.broadcast_to(settings[STOP], [rows, tf.shape(settings[STOP])[1]])
        length = tf.strings.length(stop)

        def longest() -> tf.Tensor:
            most = tf.reduce_max(tf.pad(length, [[0, 0], [0, 1]]), axis=1)
            return tf.strings.join([tf.strings.as_string(most), " bytes"])

        is_short = tf.reduce_all(length <= MAX_STOP_BYTES, axis=1)
        short = Check(is_short, f"{STOP}: expected strings of at most {MAX_STOP_BYTES} bytes", longest)
        with tf.control_dependencies([assert_checks([*range_checks(numbers, _RANGES), short])]):
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


def sampling_settings(settings: Mapping[str, tf.Tensor]) -> tuple[Sampling, Penalties]:
    """Return sampling parameters and penalties per row from settings (B,) by name."""
    own = {name: settings[name] for name in Sampling._fields if name != "stream"}
    sampling = Sampling(stream=tf.zeros_like(settings["seed"]), **own)
    return sampling, Penalties(*(settings[f"{name}_penalty"] for name in Penalties._fields))


class Check(NamedTuple):
    """A condition on each row of a request.

    Attributes:
        is_right: (B,) bool.
        expected: the name of the value and its expected range.
        received: returns the received values, (B,) string.
    """

    is_right: tf.Tensor
    expected: str
    received: Callable[[], tf.Tensor]


def range_checks(numbers: Mapping[str, tf.Tensor], ranges: Mapping[str, Range]) -> list[Check]:
    """Return checks that numbers (B,) are within their ranges; NaN fails."""
    return [
        Check(
            (numbers[name] >= low) & (numbers[name] <= high),
            f"{name}: expected {ranges[name]}",
            lambda name=name: tf.strings.as_string(numbers[name], shortest=numbers[name].dtype.is_floating),
        )
        for name, (_, low, high) in ranges.items()
    ]


def assert_checks(checks: Sequence[Check]) -> tf.Tensor:
    """Fail if a check fails, with the row and the received value; messages are only built on failure.

    Returns:
        a tensor to use as control dependency.
    """

    def refused() -> tf.Tensor:
        with tf.control_dependencies([_assertion(check) for check in checks]):
            return tf.constant(False)

    is_right = tf.reduce_all(tf.stack([tf.reduce_all(check.is_right) for check in checks]))
    return tf.cond(is_right, lambda: tf.constant(True), refused)


def _assertion(check: Check) -> tf.Operation:
    row = tf.argmax(tf.cast(~check.is_right, tf.int32))
    # reduce_join also handles a request of no rows.
    received = tf.strings.reduce_join(check.received()[row : row + 1])
    message = tf.strings.join([check.expected, ", received ", received, " in row ", tf.strings.as_string(row + 1)])
    return tf.debugging.Assert(tf.reduce_all(check.is_right), [message])


def _type_of(name: str) -> tf.DType:
    return TYPES[_RANGES[name].kind]
