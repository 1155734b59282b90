"""The types of `tfattn.parts` and `tfattn.Pipeline` for editors, which do not run code.

At run time the arguments of both are read from the constructors of the catalog. Editors and type checkers read
`parts.pyi` and `pipeline.pyi` instead, which `python -m tfattn.api.stubs` writes.
"""

import inspect
import json
import keyword
from collections.abc import Container
from pathlib import Path
from typing import Any

from tfattn import registry
from tfattn.api.parts import CATALOGS, SECTIONS, is_required
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.constructors import summary
from tfattn.config.schema import keys_of

HEADER = "# Written by `python -m tfattn.api.stubs`.\n"
_TYPES = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
_SECTION = "Mapping[str, Any]"
_SHOWN = ("__getitem__", "__iter__", "__len__")


def stubs() -> dict[str, str]:
    """Return the text of each file."""
    return {"parts.pyi": parts_stub(), "pipeline.pyi": pipeline_stub()}


def parts_stub() -> str:
    """Return the types of all catalogs and sections of `tfattn.parts`."""
    lines = [HEADER + "from collections.abc import Mapping", "from typing import Any, Literal", ""]
    for catalog in CATALOGS:
        lines += ["", f"class {_class_name(catalog)}:"]
        for name in registry.names(catalog):
            lines += _function(catalog, name)
        lines += [""]
    lines += ["", "class Parts:"]
    lines += [f"    {catalog}: {_class_name(catalog)}" for catalog in CATALOGS]
    for name in SECTIONS:
        lines += _function("sections", name)
    return "\n".join([*lines, "", "", "parts: Parts", ""])


def pipeline_stub() -> str:
    """Return the types of `tfattn.Pipeline`: its sections, and its own methods."""
    from tfattn.api.pipeline import Pipeline

    lines = [HEADER + "from collections.abc import Iterator, Mapping", "from pathlib import Path"]
    lines += ["from typing import Any", "", "from tfattn.config.schema import Config", ""]
    lines += ["", "class Pipeline(Mapping[str, Any]):", "    config: Config"]
    keys = keys_of("sections", "pipeline").values()
    required = {argument.name for argument in keys if is_required(argument)}
    lines += _method("__init__", list(keys), returns="None", required=required)
    for name, method in vars(Pipeline).items():
        function = getattr(method, "__func__", method)
        if not inspect.isfunction(function) or name.startswith("_") and name not in _SHOWN:
            continue
        lines += ["    @classmethod"] if isinstance(method, classmethod) else []
        written = str(inspect.signature(function)).replace("pathlib._local.", "").replace("pathlib.", "")
        written = written.replace("collections.abc.", "").replace("typing.", "").replace("'Pipeline'", "Pipeline")
        lines += [f"    def {name}{written}: ..."]
    return "\n".join([*lines, ""])


def _function(catalog: str, name: str) -> list[str]:
    # No key is required: `pretrained` or `from` may define it.
    documented = f'        """{summary(catalog, name)}"""'
    keys = [argument for key, argument in keys_of(catalog, name).items() if not keyword.iskeyword(key)]
    return _method(name, keys, returns="dict[str, Any]", body=documented)


def _method(
    name: str, arguments: list[Argument], *, returns: str, body: str = "", required: Container[str] = ()
) -> list[str]:
    keys = [f"        {one.name}: {_type(one)}{'' if one.name in required else ' = ...'}," for one in arguments]
    head = [f"    def {name}(", "        self,", "        *,", *keys, f"    ) -> {returns}:"]
    head = head if keys else [f"    def {name}(self) -> {returns}:"]
    return [*head, body] if body else [*head[:-1], f"{head[-1]} ..."]


def _type(argument: Argument) -> str:
    if argument.nested:
        return _SECTION if argument.default is REQUIRED else f"{_SECTION} | None"
    return _of_schema(argument.schema)


def _of_schema(schema: dict[str, Any]) -> str:
    """Return the Python type of a JSON Schema."""
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_of_schema(option) for option in schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        options = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(json.dumps(option) for option in options)}]"
    if schema.get("type") == "array":
        return f"list[{_of_schema(schema.get('items', {}))}]"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Mapping[str, {_of_schema(values) if isinstance(values, dict) else 'Any'}]"
    return _TYPES.get(schema.get("type", ""), "Any")


def _class_name(catalog: str) -> str:
    return "_" + catalog.title().replace("_", "")


if __name__ == "__main__":
    for file, text in stubs().items():
        (Path(__file__).parent / file).write_text(text, encoding="utf-8")
