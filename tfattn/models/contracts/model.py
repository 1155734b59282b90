"""The base class of all models."""

import inspect
from typing import Any

import keras


class Model(keras.Model):
    """A Keras model whose configuration is the arguments of its constructor, defaults included.

    The constructor builds all layers within `name_scope`, so that each weight has its final name once the model exists.

    Example:
        >>> class Scale(Model):
        ...     def __init__(self, *, units: int = 4):
        ...         super().__init__(name="scale")
        ...         with self.name_scope():
        ...             self.factors = self.add_weight(name="factors", shape=(units,))
        ...         self.built = True
        >>> Scale().get_config(), Scale().factors.path
        ({'units': 4}, 'scale/factors')
    """

    def __new__(cls, *values: Any, **arguments: Any) -> "Model":
        model = super().__new__(cls)
        bound = inspect.signature(cls).bind(*values, **arguments)
        bound.apply_defaults()
        # Bypasses Keras, which would track a model among the arguments a second time.
        object.__setattr__(model, "_arguments", bound.arguments)
        return model

    def get_config(self) -> dict[str, Any]:
        return dict(self._arguments)

    def name_scope(self) -> keras.name_scope:
        """Return the context in which layers are built, so that the names of their weights begin with the model's."""
        return keras.name_scope(self.name, caller=self)
