"""`import tfattn` is quick, and all public names are found."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tfattn
from tfattn.api import stubs


def test_importing_loads_no_library_and_takes_milliseconds():
    code = (
        "import sys, time; start = time.process_time(); import tfattn; seconds = time.process_time() - start; "
        "print(seconds, [name for name in ('tensorflow', 'keras', 'numpy', 'pandas') if name in sys.modules])"
    )
    seconds, loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split(maxsplit=1)
    assert float(seconds) < 0.05 and loaded.strip() == "[]"


@pytest.mark.parametrize("name", tfattn.__all__)
def test_a_public_name_is_listed_and_documented(name):
    assert name in dir(tfattn) and getattr(tfattn, name).__doc__


def test_editors_see_the_same_names():
    tree = ast.parse(Path(tfattn.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    found = {alias.name: node.module for node in block.body for alias in node.names}
    assert found == tfattn._MODULES | dict.fromkeys(tfattn._PACKAGES, "tfattn")


@pytest.mark.parametrize("file", stubs.stubs())
def test_editors_see_the_keys_of_all_parts(file):
    written = Path(stubs.__file__).with_name(file).read_text(encoding="utf-8")
    assert written == stubs.stubs()[file], "a key or part has changed: run `python -m tfattn.api.stubs`"


def test_the_types_of_keys_are_python_types():
    tree = ast.parse(stubs.stubs()["parts.pyi"])
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert {*dir(tfattn.parts)} == {getattr(node, "name", None) or node.target.id for node in classes["Parts"].body}
    [adamw] = [node for node in classes["_Optimizers"].body if node.name == "adamw"]
    types = {one.arg: ast.unparse(one.annotation) for one in adamw.args.kwonlyargs}
    assert types["learning_rate"] == "float" and len(adamw.args.kw_defaults) == len(types)
    [bert] = [node for node in classes["_Models"].body if node.name == "bert"]
    assert "norm: Literal['post', 'pre']=..." in ast.unparse(bert)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        tfattn.rnu  # noqa: B018
