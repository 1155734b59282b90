"""Attention before the step: the decoder of Bahdanau et al."""

from typing import Any

from keras import ops

from tfattn.layers.recurrent_decoder import RecurrentDecoder, by_source, flat
from tfattn.ops.attention_record import Record
from tfattn.ops.recurrence import scan_rows


class BahdanauDecoder(RecurrentDecoder):
    """The decoder of Bahdanau et al.: its last state attends to the source, then it takes a step with that context.

    The context c_i is the mean of the annotations, weighted by the scores of s_{i-1}. The state is
    s_i = f(s_{i-1}, y_{i-1}, c_i), the output tanh(W [s_i; c_i; y_{i-1}]). Only the bottom layer attends; the layers
    above it read its states.

    Masks: padded source positions never change the output. Arguments and results are as in `RecurrentDecoder`.

    Example:
        >>> decoder = BahdanauDecoder(hidden_dim=8, output_dim=6)
        >>> decoder.build((None, None, 4), (None, None, 10))
        >>> memory = decoder.memory_of(ops.ones((2, 5, 10)), ops.ones((2, 10)), ops.ones((2, 5), "bool"))
        >>> output, state, alignment = decoder.step(ops.ones((2, 4)), memory, decoder.first_state(memory))
        >>> output.shape, alignment.shape
        (TensorShape([2, 6]), TensorShape([2, 5]))

    Source: Bahdanau et al. 2015, "Neural machine translation by jointly learning to align and translate", appendix A.2.
    Unlike there, the output is made of the new state and not the last one, through tanh and not maxout, and the initial
    state is made of both directions of the encoder.
    """

    def build(self, input_shape: tuple, annotations_shape: tuple) -> None:
        width, annotations = input_shape[-1], annotations_shape[-1]
        self._build_parts(summary=annotations, read=width, readout=self.hidden_dim + annotations + width)
        self._build_alignment(annotations)
        self.context = self._projection("context", annotations, self.stack[0].input_projection.units)

    def call(self, x: Any, memory: dict[str, Any], record: Record | None = None, training: bool = False) -> Any:
        state = self.first_state(memory)
        nothing = ops.zeros_like(memory["annotations"][:, 0])
        step = lambda carried, inputs: self._advance(inputs, carried[0], memory)[:2]  # noqa: E731
        bottom, contexts = scan_rows(step, (state[0], nothing), self.stack[0].input_projection(x))
        if record is not None:  # each step attends with the state before it
            before = ops.concatenate([state[0][0][:, None], bottom[0][:, :-1]], axis=1)
            record(self._gather(before, memory)[1][:, None])
        return self._read_out(self._upwards(bottom[0], state, training), contexts, x)

    def step(self, x: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        bottom, context, weights = self._advance(self.stack[0].input_projection(x), state[0], memory)
        top, state = self._step_upwards(bottom, state)
        return self._read_out(top, context, x), state, weights

    def _advance(self, inputs: Any, state: tuple, memory: dict[str, Any]) -> tuple[tuple, Any, Any]:
        """Take a step of the bottom layer: its state, the context (B W, C) and the attention weights (B W, S)."""
        context, weights = self._gather(by_source(state[0], memory), memory)
        gates = ops.cast(inputs, "float32") + ops.cast(self.context(flat(context)), "float32")
        return self.stack[0].transition(gates, state), flat(context), flat(weights)
