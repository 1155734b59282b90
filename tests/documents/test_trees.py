"""The module trees in the documents equal those of the project."""

import configparser
import re

from tests.documents.blocks import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (PROJECT / "docs/architecture.md").read_text(encoding="utf-8")


def indented(text: str, after: str) -> list[str]:
    """The lines of the first indented block behind some words, with their indentation."""
    behind = text[text.index(after) + len(after) :]
    return re.search(r"(?:^    .*\n)+", behind, flags=re.MULTILINE).group().splitlines()


def test_the_readme_names_every_module():
    tree = indented(README, "## Where things are\n")
    named = {line.split()[0].rstrip("/") for line in tree}
    rooms = {path.stem for path in (PROJECT / "tfattn").iterdir() if not path.name.startswith(("__", "py.typed"))}
    assert {name.removesuffix(".py") for name in named} >= rooms
    below = named - {f"{room}.py" for room in rooms} - rooms - {"runs"}  # which a run makes
    assert all((PROJECT / name).exists() for name in below)
    assert {path.name for path in PROJECT.iterdir() if path.is_dir() and (path / "__init__.py").exists()} <= named


def test_the_readme_names_modules_in_import_order():
    order = [name for line in layers() for name in line.split(" | ")]
    tree = indented(README, "## Where things are\n")
    rooms = [line.split()[0].rstrip("/").removesuffix(".py") for line in tree if line.startswith(" " * 6)]
    line_of = {name: number for number, line in enumerate(layers()) for name in line.split(" | ")}
    assert set(rooms) == set(order) - {"__main__"}
    assert [line_of[room] for room in rooms] == sorted(line_of[room] for room in rooms)


def test_documented_import_order_equals_the_checked_order():
    for contract, before in (("rooms", "`make lint` checks it.\n"), ("serving", "modules of `serving` are:\n")):
        assert [line.strip() for line in indented(ARCHITECTURE, before)] == layers(contract)


def layers(contract: str = "rooms") -> list[str]:
    """The rooms from the top downwards, a line for those that do not know each other."""
    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    return setup[f"importlinter:contract:{contract}"]["layers"].split("\n")[1:]
