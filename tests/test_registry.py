"""The registry: errors of plugins name the plugin."""

import sys

import pytest

from tfattn import catalog, registry
from tfattn.config.constructors import constructor
from tfattn.errors import ConfigError

MODULES = {
    "own_good": "import keras\nclass Mine(keras.Model):\n    pass\nnumber = 3\n",
    "own_syntax": "x = 1\ndef f(:\n",
    "own_fails": "x = 1\nx['key']\n",
    "own_lacks": "import not_installed_anywhere\n",
    "own_leaves": "import sys\nsys.exit(3)\n",
    "own_task": "from tfattn.tasks.task import Task\nclass Mine(Task):\n"
    "    def __init__(self, *, width: int = 3):\n        pass\n1 / 0\n",
    "own_kind": "from tfattn.catalog import Kind\n"
    "MINE = Kind(task='own_task:Mine', targets='tfattn.data.examples.number_targets:Numbers')\n",
    "own_late": "from tfattn.models.contracts.encoder import Encoder\n"
    "class Mine(Encoder):\n    def __init__(self, *, width: int = 3):\n        pass\n1 / 0\n",
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Modules of plugins, which are unregistered and unloaded afterwards."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "PLUGINS", [])
    for name in ("models", "tasks"):
        monkeypatch.setitem(catalog.CATALOGS, name, dict(catalog.CATALOGS[name]))
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


def test_a_plugin_class_is_found(own):
    assert registry.register("models.mine=own_good:Mine") == ("models", "mine")
    assert registry.find("models", "mine").__name__ == "Mine"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("own_good:Mne", r"the module `own_good` \(.*own_good.py\) has no `Mne`. Did you mean `Mine`\?"),
        ("own_god:Mine", "there is no module `own_god`. Modules are searched in the current folder"),
        ("own_syntax:Mine", r"cannot be imported: received SyntaxError: .*\(own_syntax.py, line 2\)"),
        ("own_fails:Mine", r"cannot be imported: received TypeError: .*own_fails.py:2\)"),
        (
            "own_lacks:Mine",
            "cannot be imported: received ModuleNotFoundError: No module named 'not_installed_anywhere'",
        ),
        ("own_leaves:Mine", "cannot be imported: received SystemExit: 3"),
        (
            "own_good:number",
            "does not implement the contract of models: expected a class that inherits from keras.Model, received int",
        ),
        ("own_good:MODULES.x", "has no `MODULES.x`"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named_with_the_reason(own, target, message):
    with pytest.raises(ConfigError, match=message) as caught:
        constructor(*registry.register(f"models.mine={target}"))
    assert str(caught.value).startswith(f"--plugin models.mine={target}")
    assert "\n" not in str(caught.value)


def test_plugins_are_imported_when_a_stage_starts(own, command):
    plugin = ("--plugin", "models.mine=own_late:Mine")
    listed = command("list", "models", "mine", *plugin)
    assert listed.output.startswith("width: an integer; default 3.")
    answer = command("train", "nothing is read of it", *plugin)
    assert answer.status == 2 and "cannot be imported: received ZeroDivisionError" in answer.errors


@pytest.mark.parametrize(
    "plugin", ["models.mine", "models.mine=own_good", "models.mine=../own_good:Mine", "models.mine=:Mine"]
)
def test_an_invalid_plugin_is_refused(own, plugin):
    with pytest.raises(ConfigError, match="--plugin: not a plugin: expected CATALOG.NAME=MODULE:CLASS"):
        registry.register(plugin)


def test_a_similar_catalog_is_suggested():
    with pytest.raises(ConfigError, match="Did you mean `models`"):
        registry.register("modls.mine=own_good:Mine")


def test_a_broken_installed_plugin_is_named_with_its_package(own, command):
    installed = own / "their_package-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[tfattn.models]\ntheirs = own_fails:Theirs\n")
    with pytest.raises(ConfigError, match="the plugin models.theirs=own_fails:Theirs of the package their-package: "):
        registry.find("models", "theirs")
    answer = command("list", "models")
    assert answer.status == 0
    assert "theirs                   cannot be used: the plugin models.theirs" in answer.output
    assert "\nbert " in f"\n{answer.output}"


def test_a_task_class_is_a_kind_without_import(own):
    assert constructor(*registry.register("tasks.mine=own_task:Mine")).arguments["width"].default == 3
    assert registry.kind("mine") == catalog.Kind(task="own_task:Mine")
    assert registry.target("targets", "mine") == "tfattn.data.examples.targets:Target"
    assert "mine" in registry.names("targets") and "mine" not in registry.names("served")
    with pytest.raises(ConfigError, match="the task mine can only be trained: it has no `report`"):
        registry.target("report", "mine")
    assert "own_task" not in sys.modules


def test_a_plugin_kind_has_all_parts(own):
    assert constructor(*registry.register("tasks.mine=own_kind:MINE")).arguments["width"].default == 3
    assert registry.target("tasks", "mine") == "own_task:Mine"
    assert registry.origin("targets", "mine") == ("tfattn.data.examples.number_targets", "")
    assert constructor("targets", "mine").arguments == {}
    assert "own_task" not in sys.modules
