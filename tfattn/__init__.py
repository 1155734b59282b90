"""tfattn: attention models on TensorFlow and Keras, from raw data to a served model.

The names of `dir(tfattn)` are imported when they are used: `import tfattn` takes milliseconds.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for completion in editors
    from tfattn import layers, models, pretrained  # noqa: F401
    from tfattn.api.evaluating import evaluate  # noqa: F401
    from tfattn.api.model import Model, load  # noqa: F401
    from tfattn.api.parts import parts  # noqa: F401
    from tfattn.api.pipeline import Pipeline  # noqa: F401
    from tfattn.api.running import run  # noqa: F401
    from tfattn.estimators.tables import TableClassifier, TableRegressor  # noqa: F401
    from tfattn.estimators.texts import TextClassifier, TextRegressor  # noqa: F401
    from tfattn.retrieval.text_index import TextIndex  # noqa: F401

__version__ = "0.1.0"

# The module of each public name.
_MODULES = {
    "Model": "tfattn.api.model",
    "Pipeline": "tfattn.api.pipeline",
    "TableClassifier": "tfattn.estimators.tables",
    "TableRegressor": "tfattn.estimators.tables",
    "TextClassifier": "tfattn.estimators.texts",
    "TextIndex": "tfattn.retrieval.text_index",
    "TextRegressor": "tfattn.estimators.texts",
    "evaluate": "tfattn.api.evaluating",
    "load": "tfattn.api.model",
    "parts": "tfattn.api.parts",
    "run": "tfattn.api.running",
}
# Modules with public names of their own.
_PACKAGES = ("layers", "models", "pretrained")
__all__ = [*_MODULES, *_PACKAGES]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"tfattn.{name}")
    if name not in _MODULES:
        from tfattn.errors import nearest

        raise AttributeError(f"module 'tfattn' has no attribute {name!r}. {nearest(name, __all__)}".rstrip())
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
