"""Pages of the Python interface: docstrings, which mkdocstrings reads from the source text."""

import ast
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PROJECT = Path(__file__).resolve().parents[2]
# The names on each page. Names that are not `tfattn.NAME` for users have their module.
PAGES = {
    "runs": ("Runs and pipelines", ["tfattn.run", "tfattn.Pipeline", "tfattn.parts", "tfattn.runs.run.Run"]),
    "predictions": ("Predictions and evaluation", ["tfattn.load", "tfattn.Model", "tfattn.evaluate"]),
}


def _exported(package: str) -> list[str]:
    """Return `__all__` of a package without an import."""
    tree = ast.parse((PROJECT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    assigned = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return [f"{package}.{name}" for name in ast.literal_eval(assigned["__all__"])]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    pages = PAGES | {"layers": ("Layers", _exported("tfattn.layers")), "models": ("Models", _exported("tfattn.models"))}
    for name, (title, entries) in pages.items():
        text = "\n\n".join([f"# {title}", *(f"::: {entry}" for entry in entries)])
        files.append(File.generated(config, f"reference/api/{name}.md", content=text))
    return files
