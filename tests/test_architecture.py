"""Import rules of modules, and the catalog."""

import ast
import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tfattn import catalog, registry
from tfattn.config.constructors import inspect_constructor
from tfattn.errors import ConfigError

PROJECT = Path(__file__).resolve().parent.parent
MODULES = sorted((PROJECT / "tfattn").rglob("*.py"))
# What serving may use beside itself: nothing that knows of data, models or training.
BELOW_SERVING = {"catalog", "config", "console", "errors", "features", "files", "formats", "graphs", "guidance", "rows"}
BELOW_SERVING |= {"litert", "native", "registry", "sampling_params", "similar_names", "source_text"}
ENTRIES = [(kind, name) for kind, entries in catalog.CATALOGS.items() for name in entries]
ENTRIES += [(part, name) for part in catalog.PARTS for name in registry.names(part)]


def test_serving_is_forbidden_to_import_unneeded_modules():
    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    rooms = set(re.findall(r"\w+", setup["importlinter:contract:rooms"]["layers"]))
    forbidden = setup["importlinter:contract:serving-alone"]["forbidden_modules"].split()
    assert {f"tfattn.{room}" for room in rooms - BELOW_SERVING - {"serving"}} == set(forbidden) - {"keras"}


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_catalog_entry_exists_and_is_documented(kind, name):
    entry = registry.find(kind, name)
    assert entry.__doc__
    if kind not in ("pretrained", "samples", "served", "report"):
        unexplained = [a.name for a in inspect_constructor(entry).arguments.values() if not a.help]
        assert not unexplained, f"no line under Args: for {unexplained}"


@pytest.mark.parametrize("name", catalog.SECTIONS)
def test_every_section_exists(name):
    assert registry.find("sections", name).__doc__


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean `bert`"):
        registry.find("models", "brt")


def test_help_imports_no_heavy_module():
    code = (
        "import sys, tfattn.cli; print([m for m in ('tensorflow', 'keras', 'numpy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_does_not_import_serving():
    code = (
        "import sys, tfattn.stages; from tfattn import registry; "
        "[registry.find(kind, name) for kind in ('served', 'report') for name in registry.names(kind)]; "
        "print([m for m in sys.modules if m.startswith('tfattn.serving')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_every_module_has_a_docstring_and_at_most_400_lines(module):
    text = module.read_text()
    assert ast.get_docstring(ast.parse(text)), "a module opens with its one idea"
    assert text.count("\n") <= 400, "look for the second idea"
