"""Attention after the step: the decoders of Luong et al."""

from typing import Any

from keras import ops

from tfattn.layers.recurrent_decoder import RecurrentDecoder, by_source, flat
from tfattn.ops.attention_record import Record
from tfattn.ops.recurrence import scan_rows


class LuongDecoder(RecurrentDecoder):
    """The decoder of Luong et al.: it takes a step, then the new state of its top layer attends to the source.

    The state is s_i = f(s_{i-1}, y_{i-1}); the context c_i is the mean of the annotations, weighted by the scores of
    s_i; the output is tanh(W [s_i; c_i]). No step waits for a context, so all positions attend at once.

    Masks: padded source positions never change the output. Arguments and results are as in `RecurrentDecoder`.

    Example:
        >>> decoder = LuongDecoder(hidden_dim=8, output_dim=6, score="general")
        >>> decoder.build((None, None, 4), (None, None, 10))
        >>> memory = decoder.memory_of(ops.ones((2, 5, 10)), ops.ones((2, 10)), ops.ones((2, 5), "bool"))
        >>> decoder(ops.ones((2, 3, 4)), memory).shape
        TensorShape([2, 3, 6])

    Source: Luong et al. 2015, "Effective approaches to attention-based neural machine translation", section 3.1.
    """

    def build(self, input_shape: tuple, annotations_shape: tuple) -> None:
        width, annotations = input_shape[-1], annotations_shape[-1]
        self._build_parts(summary=annotations, read=width, readout=self.hidden_dim + annotations)
        self._build_alignment(annotations)

    def call(self, x: Any, memory: dict[str, Any], record: Record | None = None, training: bool = False) -> Any:
        state = self.first_state(memory)
        top = self._upwards(self.stack[0](x, initial_state=state[0]), state, training)
        output, weights = self._attend(top, memory)
        if record is not None:
            record(weights[:, None])
        return output

    def step(self, x: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        top, state = self._step_upwards(self.stack[0].step(x, state[0]), state)
        output, weights = self._attend(by_source(top, memory), memory)
        return flat(output), state, flat(weights)

    def _attend(self, top: Any, memory: dict[str, Any]) -> tuple[Any, Any]:
        """Compute the outputs (B, W, O) for states (B, W, D) of the top layer, and the attention weights (B, W, S)."""
        contexts, weights = self._gather(top, memory)
        return self._read_out(top, contexts), weights


class InputFeedingDecoder(LuongDecoder):
    """A `LuongDecoder` whose step also reads its last output: s_i = f(s_{i-1}, y_{i-1}, r_{i-1}), r_0 being 0.

    In training, dropout between layers drops the same elements at all positions (Gal and Ghahramani 2016), so that
    the loop over positions draws no random numbers.

    Example:
        >>> decoder = InputFeedingDecoder(hidden_dim=8, output_dim=6, score="general")
        >>> decoder.build((None, None, 4), (None, None, 10))
        >>> memory = decoder.memory_of(ops.ones((2, 5, 10)), ops.ones((2, 10)), ops.ones((2, 5), "bool"))
        >>> decoder(ops.ones((2, 3, 4)), memory).shape
        TensorShape([2, 3, 6])

    Source: Luong et al. 2015, section 3.3.
    """

    def build(self, input_shape: tuple, annotations_shape: tuple) -> None:
        super().build(input_shape, annotations_shape)
        self.fed = self._projection("fed", self.output_dim, self.stack[0].input_projection.units)

    def first_state(self, memory: dict[str, Any]) -> Any:
        """Return the initial states of all layers, and r_0 (B, O), zeros."""
        batch = ops.shape(memory["summary"])[0]
        return super().first_state(memory), ops.zeros((batch, self.output_dim), "float32")

    def call(self, x: Any, memory: dict[str, Any], record: Record | None = None, training: bool = False) -> Any:
        state = self.first_state(memory)
        keep = self._draw_dropout(ops.shape(x)[0]) if training else None
        nothing = ops.zeros_like(memory["annotations"][:, :, 0])
        step = lambda carried, inputs: self._advance(inputs, carried[0], memory, keep)  # noqa: E731
        (_, outputs), weights = scan_rows(step, (state, nothing), self.stack[0].input_projection(x))
        if record is not None:
            record(weights[:, None])
        return ops.cast(outputs, self.compute_dtype)

    def step(self, x: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        state, weights = self._advance(self.stack[0].input_projection(x), state, memory)
        return ops.cast(state[1], self.compute_dtype), state, weights

    def _draw_dropout(self, batch_size: Any) -> list:
        """Draw the factors (B, D) float32 of each layer's output, the top layer excluded."""
        ones = ops.ones((batch_size, self.hidden_dim))
        return [ops.cast(dropout(ones, training=True), "float32") for dropout in self.between]

    def _advance(self, inputs: Any, state: Any, memory: dict[str, Any], keep: Any = None) -> tuple[Any, Any]:
        """Take a step: the new state, whose last part is the output, and the attention weights (B W, S)."""
        states, output = state
        gates = ops.cast(inputs, "float32") + ops.cast(self.fed(output), "float32")
        top, states = self._step_upwards(self.stack[0].transition(gates, states[0]), states, keep)
        output, weights = self._attend(by_source(top, memory), memory)
        return (states, ops.cast(flat(output), "float32")), flat(weights)
