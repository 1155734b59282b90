"""Generation settings of a request: optional inputs of a signature."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.decoding.generation import Penalties
from tfattn.decoding.sampling import Sampling
from tfattn.features import TEXT
from tfattn.sampling_params import ANNOTATIONS, MAX_INT, MAX_STOP_LENGTH, RANGES, Range, SamplingParams

TYPES = {int: np.int32, float: np.float32}
STOP, SEED, MAX_TOKENS = "stop", "seed", "max_tokens"
FORMER_MAX_TOKENS = "max_new_tokens"  # the name of `max_tokens` in earlier exports; 0 if the request does not have it
# A row has one text, and its log probabilities are a signature of their own.
_NAMES = [name for name in ANNOTATIONS if name not in ("n", "logprobs")]
_RANGES = {name: RANGES[name] for name in _NAMES if name != STOP} | {SEED: Range(int, -MAX_INT - 1, MAX_INT)}


class Settings:
    """The sampling parameters of each row of a request, as inputs of a signature with defaults.

    The inputs are the fields of `SamplingParams` without `n` and `logprobs`: numbers (B,), and `stop` (B, n) string;
    "" is ignored. Equal rows with equal seeds (int32, 0 by default) get equal texts in any batch. The input
    `max_new_tokens` is the former name of `max_tokens`.

    Args:
        params: the defaults.
    """

    def __init__(self, params: SamplingParams):
        self._params = params
        values = {name: getattr(params, name) for name in _RANGES}
        if params.max_tokens is None:
            values[MAX_TOKENS] = MAX_INT
        values[SEED] = ((params.seed or 0) + MAX_INT + 1) % 2**32 - MAX_INT - 1  # the low 32 bits
        self._defaults = {name: np.array([value], TYPES[RANGES[name].kind]) for name, value in values.items()}
        self._defaults[STOP] = np.array(params.stop, object)[None]
        self._defaults[FORMER_MAX_TOKENS] = np.zeros(1, np.int32)

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults for servers, which choose a random seed if the default is None."""
        return {name: getattr(self._params, name) for name in _NAMES}

    def signature(self, function: Callable, names: Sequence[str] = _NAMES) -> Any:
        """Make a signature of `function(text, **settings)` with the named settings.

        Defaults are broadcast to all rows of a request.
        """
        found = {name: self._defaults[name] for name in (*names, FORMER_MAX_TOKENS)}
        defaults = {name: tf.constant(array, tf.as_dtype(array.dtype)) for name, array in found.items()}
        specs = [tf.TensorSpec([None] * value.ndim, value.dtype, name=name) for name, value in defaults.items()]
        return signature(function, [tf.TensorSpec([None], tf.string, name=TEXT), *specs], defaults)

    def for_rows(self, num_rows: int, **values: float) -> dict[str, Any]:
        """Return the same settings for each of `num_rows` rows: `values`, and defaults of the other numbers."""
        rows = {name: np.repeat(array, num_rows) for name, array in self._defaults.items() if name != STOP}
        rows |= {name: np.full(num_rows, value, rows[name].dtype) for name, value in values.items()}
        typed = {name: array.tolist() for name, array in rows.items()}
        return typed | {STOP: [[""]] * num_rows}

    def validate(self, settings: Mapping[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Broadcast settings to B rows, and fail on a value out of range, with its row."""
        former = settings[FORMER_MAX_TOKENS]
        settings = {**settings, MAX_TOKENS: tf.where(former == 0, settings[MAX_TOKENS], former)}
        valid = {name: tf.broadcast_to(settings[name], [rows]) for name in _RANGES if name in settings}
        checks = range_checks(valid, {name: _RANGES[name] for name in valid})
        if STOP in settings:
            valid[STOP] = tf.broadcast_to(settings[STOP], [rows, tf.shape(settings[STOP])[1]])
            checks.append(_stop_check(valid[STOP]))
        with tf.control_dependencies([assert_checks(checks)]):
            return {name: tf.identity(values) for name, values in valid.items()}


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


def _stop_check(stop: tf.Tensor) -> Check:
    longest = tf.reduce_max(tf.pad(tf.strings.length(stop, unit="UTF8_CHAR"), [[0, 0], [0, 1]]), axis=1)
    return Check(
        longest <= MAX_STOP_LENGTH,
        f"{STOP}: expected strings of at most {MAX_STOP_LENGTH} characters",
        lambda: tf.strings.join([tf.strings.as_string(longest), " characters"]),
    )
