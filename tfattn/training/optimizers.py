"""Optimizers with TensorFlow's fused kernels: one pass over a weight and its slots instead of ten.

An optimizer runs inside each replica of `strategy.run`: all replicas get the same gradients, summed over all replicas,
and update their own copy of the weights, so the copies stay equal without communication.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import tensorflow as tf
from pydantic import NonNegativeFloat, PositiveFloat

from tfattn.config.relations import OnlyWith
from tfattn.config.types import Rate
from tfattn.errors import ConfigError
from tfattn.training.gradients import Gradient

kernels = tf.raw_ops


def decays(variable: Any) -> bool:
    """Return whether weight decay applies to a variable: its attribute `decays`, by default True except for vectors.

    Norms and biases are vectors. A layer whose biases are rows of a matrix sets `variable.decays = False`.
    """
    return getattr(variable, "decays", len(variable.shape) > 1)


@dataclass(kw_only=True, eq=False)
class Optimizer:
    """The base class of optimizers: decoupled weight decay (Loshchilov & Hutter 2019), then `update` of each weight.

    If a gradient contains only some rows of a table, only these rows and their slots change and decay.

    Args:
        learning_rate: the highest rate, which the schedule lowers.
        weight_decay: the fraction of a weight that is subtracted per step and unit of learning rate.

    Attributes:
        slot_names: the names of the slots, the state variables of every weight.
        slots: the slots by name, in the order of the weights.
        is_linear: whether two updates equal an update by the sum of their gradients; then rows may be duplicated.
        decay_rates: the weight decay of each weight; 0 for weights that do not decay.
        maps: for each weight, the widths of the linear maps that it concatenates; empty for other weights.
    """

    slot_names: ClassVar[tuple[str, ...]] = ()
    is_linear: ClassVar[bool] = False

    learning_rate: PositiveFloat
    weight_decay: NonNegativeFloat

    def build(
        self,
        weights: Sequence[tf.Variable],
        multipliers: Sequence[float],
        maps: Sequence[Sequence[int]] | None = None,
        decaying: Sequence[bool] | None = None,
    ) -> None:
        """Set the weights with the multipliers of their rates, and create the slots with zeros.

        Call it in the strategy scope of the weights.

        Args:
            weights: in the order of the gradients.
            multipliers: the multiplier of each weight's rate.
            maps: see the attribute; None for no linear maps.
            decaying: whether each weight decays; None for the result of `decays`.
        """
        self.weights = list(weights)
        self.multipliers = list(multipliers)
        self.maps = list(maps or [()] * len(self.weights))
        decaying = map(decays, self.weights) if decaying is None else decaying
        self.decay_rates = [self.weight_decay if decay else 0.0 for decay in decaying]
        self.slots = {
            name: [
                tf.Variable(tf.zeros(self.slot_shape(name, index)), trainable=False, name=name)
                for index in range(len(self.weights))
            ]
            for name in self.slot_names
        }

    def slot_shape(self, name: str, index: int) -> list[int]:
        """Return the shape of a slot of a weight, by default the shape of the weight."""
        return self.weights[index].shape.as_list()

    def apply(self, gradients: Sequence[Gradient], fraction: tf.Tensor, update: tf.Tensor) -> None:
        """Update every weight that has a gradient.

        Args:
            gradients: one per weight: dense, or some rows, or None if the loss does not depend on the weight.
            fraction: the schedule's fraction of the learning rate, () float32.
            update: the number of this update, counted from 1, () float32.
        """
        shared = self.prepare(update)
        rates = {factor: fraction * (self.learning_rate * factor) for factor in set(self.multipliers)}
        for index, gradient in enumerate(gradients):
            if gradient is None:
                continue
            weight, rate = self.weights[index], rates[self.multipliers[index]]
            slots = [self.slots[name][index].handle for name in self.slot_names]
            if isinstance(gradient, tf.IndexedSlices):
                rows = gradient.indices
                if self.decay_rates[index]:
                    kept = 1 - rate * self.decay_rates[index]
                    kernels.ResourceScatterMul(resource=weight.handle, indices=rows, updates=kept)
                self.update_rows(weight.handle, slots, rows, gradient.values, rate, *shared)
            else:
                self.update(self.decayed(index, rate), slots, gradient, rate, *shared)

    def decayed(self, index: int, rate: tf.Tensor) -> tf.Tensor:
        """Apply weight decay, and return the weight's resource handle."""
        weight = self.weights[index]
        if self.decay_rates[index]:
            # Assigning, instead of subtracting, reuses the memory of the product without another pass.
            kernels.AssignVariableOp(resource=weight.handle, value=weight * (1 - rate * self.decay_rates[index]))
        return weight.handle

    def prepare(self, update: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Compute values that all weights of an update share: the last arguments of `update`."""
        return ()

    def update(self, weight: tf.Tensor, slots: list[tf.Tensor], gradient: tf.Tensor, rate: tf.Tensor, *shared) -> None:
        """Update a weight and its slots, given as resource handles."""
        raise NotImplementedError

    def update_rows(
        self,
        weight: tf.Tensor,
        slots: list[tf.Tensor],
        rows: tf.Tensor,
        gradient: tf.Tensor,
        rate: tf.Tensor,
        *shared: tf.Tensor,
    ) -> None:
        """Update some rows of a weight and of its slots: row indices (n,) and their gradients (n, ...).

        Rows are unique, unless the optimizer is linear.
        """
        raise ConfigError(
            "this optimizer does not support sparse gradients",
            key="sparse_embeddings",
            expected=f"false with {type(self).__name__}",
            received="true",
        )


@dataclass(kw_only=True, eq=False)
class AdamW(Optimizer):
    """Adam with decoupled weight decay (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2).

    Args:
        learning_rate: the highest rate, which the schedule lowers.
        weight_decay: the fraction of a weight that is subtracted per step and unit of learning rate.
        beta_1: the fraction of the mean gradient that is kept per step.
        beta_2: the fraction of the mean squared gradient that is kept per step.
        epsilon: added to the root of the mean square. The default is BERT's 1e-6 instead of Adam's 1e-8, so that a
            gradient that is zero except for rounding, such as of an attention key's bias, hardly changes its weight.
    """

    slot_names = ("first_moment", "second_moment")

    learning_rate: PositiveFloat = 1e-4
    weight_decay: NonNegativeFloat = 0.01
    beta_1: Rate = 0.9
    beta_2: Rate = 0.999
    epsilon: PositiveFloat = 1e-6

    def prepare(self, update: tf.Tensor) -> tuple[tf.Tensor, ...]:
        # -expm1(n log b) is 1 - b^n without the loss of digits at small n.
        first = -tf.math.expm1(update * tf.math.log(self.beta_1)) if self.beta_1 else tf.ones(())
        second = -tf.math.expm1(update * tf.math.log(self.beta_2)) if self.beta_2 else tf.ones(())
        return first, tf.sqrt(second)

    def update(self, weight, slots, gradient, rate, first_correction, second_correction) -> None:
        # The kernel adds epsilon to the uncorrected root, the paper to the corrected root: hence the product.
        kernels.ResourceApplyAdam(
            var=weight,
            m=slots[0],
            v=slots[1],
            beta1_power=0.0,
            beta2_power=0.0,
            lr=rate * second_correction / first_correction,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon * second_correction,
            grad=gradient,
        )

    def update_rows(self, weight, slots, rows, gradient, rate, first_correction, second_correction) -> None:
        # The steps of `update` for some rows; there is no fused kernel.
        for slot, kept, new in zip(slots, (self.beta_1, self.beta_2), (gradient, tf.square(gradient)), strict=True):
            kernels.ResourceScatterMul(resource=slot, indices=rows, updates=tf.constant(kept))
            kernels.ResourceScatterAdd(resource=slot, indices=rows, updates=(1 - kept) * new)
        first, second = (kernels.ResourceGather(resource=slot, indices=rows, dtype=tf.float32) for slot in slots)
        change = first / first_correction / (tf.sqrt(second) / second_correction + self.epsilon)
        kernels.ResourceScatterSub(resource=weight, indices=rows, updates=rate * change)


@dataclass(kw_only=True, eq=False)
class Sgd(Optimizer):
    """Gradient descent with momentum (Sutskever et al. 2013, eqs. 1 to 4).

    Args:
        learning_rate: the highest rate, which the schedule lowers.
        weight_decay: the fraction of a weight that is subtracted per step and unit of learning rate.
        momentum: the fraction of the last update that is kept per step; 0 needs no memory.
        nesterov: whether to use Nesterov's momentum.
    """

    learning_rate: PositiveFloat = 0.01
    weight_decay: NonNegativeFloat = 0.0
    momentum: Rate = 0.9
    nesterov: Annotated[bool, OnlyWith("momentum")] = False

    @property
    def slot_names(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()

    @property
    def is_linear(self) -> bool:
        return not self.momentum and not self.weight_decay

    def update(self, weight, slots, gradient, rate) -> None:
        if not slots:
            kernels.ResourceApplyGradientDescent(var=weight, alpha=rate, delta=gradient)
            return
        kernels.ResourceApplyKerasMomentum(
            var=weight,
            accum=slots[0],
            lr=rate,
            grad=gradient,
            momentum=self.momentum,
            use_nesterov=self.nesterov,
        )

    def update_rows(self, weight, slots, rows, gradient, rate) -> None:
        if not slots:
            # A quarter faster than the equivalent ResourceScatterSub.
            kernels.ResourceScatterNdSub(ref=weight, indices=rows[:, None], updates=rate * gradient)
            return
        kernels.ResourceSparseApplyKerasMomentum(
            var=weight,
            accum=slots[0],
            lr=rate,
            grad=gradient,
            indices=rows,
            momentum=self.momentum,
            use_nesterov=self.nesterov,
        )
