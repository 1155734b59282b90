"""Adapters: small trained changes of the projections of a model, whose other weights are not trained."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack

import keras

from tfattn.errors import ConfigError, nearest
from tfattn.layers.projection import Projection

# Names that stand for several maps in `targets`.
GROUPS = {
    "attention": ("query", "key", "value", "attention_output"),
    "feed_forward": ("gate", "intermediate", "feed_forward_output"),
}


class Adapter(ABC):
    """A kind of adapter, with its settings.

    A subclass adds a layer to each projection that has one of the targets. The layer computes what is added to the
    output of the projection, and has a method `kernel()`, which returns what is added to the kernel.

    Args:
        targets: the maps to change, by name: query, key, value, attention_output, gate, intermediate or
            feed_forward_output; "attention" and "feed_forward" are all maps of a layer.
    """

    def __init__(self, *, targets: Sequence[str]):
        self.targets = tuple(targets)

    @abstractmethod
    def layer(self, projection: Projection, maps: Sequence[int]) -> keras.layers.Layer:
        """Create the layer of a projection; its constructor takes `name`.

        Args:
            projection: the projection.
            maps: the indices of the maps to change.
        """

    def attach(self, model: keras.Model, head: Sequence[keras.layers.Layer] = ()) -> list[keras.layers.Layer]:
        """Add the adapter to a built model, and stop the training of all other weights of the model.

        Args:
            model: the model.
            head: layers of the model that belong to the head of a task, and stay trained.

        Returns:
            the layers of the adapter.

        Raises:
            ConfigError: the model has no map of a target's name.
        """
        found = projections(model)
        known = list(dict.fromkeys(name for projection in found for name in projection.targets))
        chosen = [name for target in self.targets for name in GROUPS.get(target, (target,)) if name in known]
        for target in self.targets:
            if not any(name in known for name in GROUPS.get(target, (target,))):
                options = [*known, *(group for group, names in GROUPS.items() if set(names) & set(known))]
                raise ConfigError(
                    "the target of the adapter matches nothing",
                    key="targets",
                    expected=f"maps of the model: {', '.join(options)}" if known else "a model with attention",
                    received=target,
                    remedy=nearest(target, options),
                )
        trained = {id(variable) for layer in head for variable in layer.variables}
        for variable in model.variables:
            variable.trainable = id(variable) in trained
        layers = []
        for projection in found:
            maps = [index for index, name in enumerate(projection.targets) if name in chosen]
            if maps:
                layer = self.layer(projection, maps)
                with ExitStack() as scopes:  # the names of weights begin with the name of the projection
                    for name in projection.path.split("/"):
                        scopes.enter_context(keras.name_scope(name))
                    layer.build((None, projection.kernel.shape[0]))
                projection.set_adapter(layer)
                layers.append(layer)
        return layers


def projections(model: keras.Model) -> list[Projection]:
    """Return the projections of a model that an adapter can change."""
    layers = model._flatten_layers(include_self=False, recursive=True)
    return [layer for layer in layers if isinstance(layer, Projection) and layer.targets]


def adapters(model: keras.Model) -> dict[Projection, keras.layers.Layer]:
    """Return the layers of a model's adapter by projection; empty for a model without an adapter."""
    return {layer: layer.adapter for layer in projections(model) if layer.adapter is not None}


def merge(model: keras.Model) -> None:
    """Add the adapter of a model to its kernels, and remove the adapter."""
    for projection, adapter in adapters(model).items():
        projection.kernel.assign(projection.kernel + adapter.kernel())
        projection.set_adapter(None)
