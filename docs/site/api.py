"""Pages of the Python interface: docstrings, which mkdocstrings reads from the source text."""

import ast
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PROJECT = Path(__file__).resolve().parents[2]
ERRORS = [
    "TfattnError",
    "ConfigError",
    "ConfigProblems",
    "DataError",
    "CheckpointError",
    "HubError",
    "TrainingError",
    "ExportError",
    "SavedModelError",
    "ServingError",
    "RefusedError",
]
# Title, introduction and names of each page.
PAGES: dict[str, tuple[str, str, list[str]]] = {
    "runs": (
        "Runs and pipelines",
        "[Python](../../python.md) explains the functions with examples.",
        ["tfattn.run", "tfattn.runs.run.Run", "tfattn.Pipeline", "tfattn.parts"],
    ),
    "predictions": (
        "Predictions and evaluation",
        "Models in this process or on a server, and their metrics on new rows.",
        [
            *("tfattn.load", "tfattn.Model", "tfattn.evaluate", "tfattn.evaluation.new_rows.evaluate_rows"),
            *("tfattn.evaluation.new_rows.NewRowsEvaluation", "tfattn.serving.Client"),
        ],
    ),
    "estimators": (
        "Estimators",
        "Estimators of scikit-learn, which train the models of pipelines. They can be cloned, pickled, and used in "
        "pipelines, cross-validation and searches of scikit-learn.",
        ["tfattn.TextClassifier", "tfattn.TextRegressor", "tfattn.TableClassifier", "tfattn.TableRegressor"],
    ),
    "pretrained": (
        "Published weights and vectors",
        "Published weights as Keras models, and vectors of texts. [Published weights](../../pretrained.md) lists the "
        "architectures.",
        [
            *("tfattn.pretrained", "tfattn.pretrained.keras_model.PretrainedModel", "tfattn.pretrained.open"),
            *("tfattn.pretrained.contract.Pretrained", "tfattn.vectors.text_encoder.TextEncoder", "tfattn.TextIndex"),
        ],
    ),
    "errors": (
        "Errors",
        "All errors that a program can expect are subclasses of `TfattnError`. The message has the location, the "
        "expected and the received value, and a remedy.",
        [f"tfattn.errors.{name}" for name in ERRORS],
    ),
}
KERAS = "They are registered with Keras under the package name `tfattn`, for functional models, `fit` and `save`."
# Objects with a docstring of another object.
ALIASES = {
    "tfattn.pretrained": "tfattn.pretrained._CallablePackage.__call__",
    "tfattn.parts": "tfattn.api.parts.Parts",
    "tfattn.serving.Client": "tfattn.serving.client.client.Client",
}


def _exported(package: str) -> list[str]:
    """Return `__all__` of a package without an import."""
    tree = ast.parse((PROJECT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    assigned = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return [f"{package}.{name}" for name in ast.literal_eval(assigned["__all__"])]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    pages = PAGES | {
        "layers": ("Layers", f"Layers of attention models. {KERAS}", _exported("tfattn.layers")),
        "models": ("Models", f"Models without heads. {KERAS}", _exported("tfattn.models")),
    }
    for page, (title, introduction, names) in pages.items():
        text = "\n\n".join([f"# {title}", introduction, *map(_entry, names)])
        files.append(File.generated(config, f"reference/api/{page}.md", content=text + "\n"))
    return files


def _entry(name: str) -> str:
    if name not in ALIASES:
        return f"::: {name}"
    options = {"heading": name, "toc_label": name}
    if ALIASES[name].endswith("__call__"):  # the signature would have this name
        options["show_signature"] = "false"
    lines = [f"      {option}: {value}" for option, value in options.items()]
    return "\n".join([f"[](){{ #{name} }}\n", f"::: {ALIASES[name]}", "    options:", *lines])
