"""The base class of recurrent decoders, and the decoder without attention."""

from typing import Any

import keras
from keras import ops

from tfattn.features import PADDING_MASK
from tfattn.layers.alignment import Alignment
from tfattn.layers.dropout import Dropout
from tfattn.layers.projection import Projection
from tfattn.layers.recurrent import Recurrent
from tfattn.ops.attention_record import Record


class RecurrentDecoder(keras.layers.Layer):
    """The base class of recurrent decoders, which read target and source and return a vector for each target position.

    Subclasses differ in how they read the source: `PlainDecoder`, `BahdanauDecoder`, `LuongDecoder`,
    `InputFeedingDecoder`. Common parts are a stack of GRUs or LSTMs, the projection of the source's summary c to their
    initial states, tanh(W c), and the projection to the output, tanh(W [...]).

    Args:
        hidden_dim: the width D of the states.
        output_dim: the width O of the output.
        num_layers: the number of GRUs or LSTMs.
        cell: gru or lstm.
        score: the score function of the decoder's `Alignment`, if it has one.
        dropout: the fraction of each layer's output that is dropped in training, except for the top layer.

    Call arguments:
        x: (B, T, E), the vectors of the target tokens.
        memory: of `memory_of`.
        record: called with the attention weights (B, 1, T, S), see `AttentionRecord`.

    Returns:
        (B, T, O).
    """

    def __init__(
        self,
        *,
        hidden_dim: int,
        output_dim: int,
        num_layers: int = 1,
        cell: str = "gru",
        score: str = "additive",
        dropout: float = 0.0,
        **kwargs: Any,
    ):
        # States, scores and weights are always float32.
        super().__init__(autocast=False, **kwargs)
        self.hidden_dim = hidden_dim
        self.output_dim = output_dim
        self.num_layers = num_layers
        self.cell = cell
        self.score = score
        self.dropout = dropout

    def memory_of(self, annotations: Any, summary: Any, padding_mask: Any) -> dict[str, Any]:
        """Compute the memory of a source, the inputs of all steps.

        Args:
            annotations: (B, S, C), a vector for each source token.
            summary: (B, C), a vector for the whole source.
            padding_mask: (B, S) bool, True at real tokens.

        Returns:
            a dictionary of tensors of B rows, the `memory` of `call` and `step`.
        """
        return {
            PADDING_MASK: padding_mask,
            "summary": summary,
            "annotations": ops.cast(annotations, "float32"),
            "keys": self.alignment.keys_of(annotations),
        }

    def first_state(self, memory: dict[str, Any]) -> Any:
        """Return the initial state: the cell states of all layers, tensors (B, D) float32."""
        num_states = self.stack[0].transition.num_states
        states = ops.tanh(ops.cast(self.initial_state(memory["summary"]), "float32"))
        parts = ops.split(states, self.num_layers * num_states, axis=-1)
        return tuple(tuple(parts[layer * num_states :][:num_states]) for layer in range(self.num_layers))

    def step(self, x: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        """Read the tokens of one position.

        Args:
            x: (B W, E), the vectors of the tokens, the W rows of a source next to each other.
            memory: the result of `memory_of`, B rows.
            state: the state of the last step, or of `first_state`; B W rows.

        Returns:
            the output (B W, O), the new state, and the attention weights (B W, S) float32 or None.
        """
        raise NotImplementedError

    def _build_parts(self, *, summary: int, read: int, readout: int) -> None:
        """Build the common parts, given the widths of the summary and of the inputs of bottom layer and readout."""
        common = {"units": self.hidden_dim, "cell": self.cell, "dtype": self.dtype_policy}
        self.stack = [Recurrent(name=f"layer_{index}", **common) for index in range(self.num_layers)]
        self.between = [
            Dropout(self.dropout, name=f"dropout_{index}", dtype=self.dtype_policy)
            for index in range(self.num_layers - 1)
        ]
        self.stack[0].build((None, None, read))
        for layer in (*self.stack[1:], *self.between):
            layer.build((None, None, self.hidden_dim))
        units = self.num_layers * self.stack[0].transition.num_states * self.hidden_dim
        self.initial_state = self._projection("initial_state", summary, units)
        self.readout = self._projection("readout", readout, self.output_dim)

    def _build_alignment(self, annotations: int) -> None:
        self.alignment = Alignment(score=self.score, name="alignment", dtype=self.dtype_policy)
        self.alignment.build((None, None, self.hidden_dim), (None, None, annotations))

    def _projection(self, name: str, width: int, units: int) -> Projection:
        layer = Projection(units=units, initializer_range=None, name=name, dtype=self.dtype_policy)
        layer.build((None, None, width))
        return layer

    def _upwards(self, x: Any, state: Any, training: bool) -> Any:
        """Run the upper layers over the outputs of the bottom layer (B, T, D), and return the top outputs."""
        for dropout, layer, first in zip(self.between, self.stack[1:], state[1:], strict=True):
            x = layer(dropout(x, training=training), initial_state=first)
        return x

    def _step_upwards(self, bottom: tuple, state: tuple, keep: Any = None) -> tuple[Any, tuple]:
        """Take a step of the upper layers: the output of the top layer, and the new states of all.

        Args:
            bottom: the new state of the bottom layer.
            state: the last states of all layers.
            keep: factors of each layer's output, except for the top layer; None for ones.
        """
        states = [bottom]
        for index, (layer, before) in enumerate(zip(self.stack[1:], state[1:], strict=True)):
            x = states[-1][0]
            states.append(layer.step(x if keep is None else x * keep[index], before))
        return states[-1][0], tuple(states)

    def _gather(self, query: Any, memory: dict[str, Any]) -> tuple[Any, Any]:
        """Return the contexts (B, W, C) of states (B, W, D), and the attention weights (B, W, S)."""
        return self.alignment(query, memory["keys"], memory["annotations"], memory[PADDING_MASK])

    def _read_out(self, *parts: Any) -> Any:
        x = ops.concatenate([ops.cast(part, self.compute_dtype) for part in parts], axis=-1)
        return ops.tanh(self.readout(x))


class PlainDecoder(RecurrentDecoder):
    """The decoder without attention, which reads the source as one vector c: s_i = f(s_{i-1}, y_{i-1}, c).

    The output is tanh(W [s_i; y_{i-1}; c]). Arguments and results are as in `RecurrentDecoder`.

    Example:
        >>> decoder = PlainDecoder(hidden_dim=8, output_dim=6)
        >>> decoder.build((None, None, 4), (None, None, 10))
        >>> memory = decoder.memory_of(ops.ones((2, 5, 10)), ops.ones((2, 10)), ops.ones((2, 5), "bool"))
        >>> decoder(ops.ones((2, 3, 4)), memory).shape
        TensorShape([2, 3, 6])

    Source: Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder", section 2.2.
    """

    def build(self, input_shape: tuple, annotations_shape: tuple) -> None:
        width = input_shape[-1] + annotations_shape[-1]
        self._build_parts(summary=annotations_shape[-1], read=width, readout=self.hidden_dim + width)

    def memory_of(self, annotations: Any, summary: Any, padding_mask: Any) -> dict[str, Any]:
        return {PADDING_MASK: padding_mask, "summary": summary}

    def call(self, x: Any, memory: dict[str, Any], record: Record | None = None, training: bool = False) -> Any:
        state = self.first_state(memory)
        x = _append_summary(x, memory["summary"])
        top = self._upwards(self.stack[0](x, initial_state=state[0]), state, training)
        return self._read_out(top, x)

    def step(self, x: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        x = flat(_append_summary(by_source(x, memory), memory["summary"]))
        top, state = self._step_upwards(self.stack[0].step(x, state[0]), state)
        return self._read_out(top, x), state, None


def by_source(x: Any, memory: dict[str, Any]) -> Any:
    """Group rows by their source: (B W, ...) -> (B, W, ...), given the memory of B rows."""
    return ops.reshape(x, (ops.shape(memory["summary"])[0], -1, *ops.shape(x)[1:]))


def flat(x: Any) -> Any:
    """Undo `by_source`: (B, W, ...) -> (B W, ...)."""
    return ops.reshape(x, (-1, *ops.shape(x)[2:]))


def _append_summary(x: Any, summary: Any) -> Any:
    """Append the summary (B, C) to each vector of x (B, T, E): (B, T, E + C)."""
    x = ops.cast(x, summary.dtype)
    batch, length, _ = ops.shape(x)
    return ops.concatenate([x, ops.broadcast_to(summary[:, None], (batch, length, summary.shape[-1]))], axis=-1)
