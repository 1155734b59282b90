"""The program: all commands are registered and have help texts."""

import importlib
import pkgutil
import re

import pytest
import typer

from tfattn import cli
from tfattn.cli import program
from tfattn.files import SCHEME, find_shipped

COMMANDS = typer.main.get_command(cli.app).commands


def test_all_groups_of_commands_are_registered():
    modules = [importlib.import_module(f"tfattn.cli.{found.name}") for found in pkgutil.iter_modules(cli.__path__)]
    groups = [module.app for module in modules if hasattr(module, "app") and module.app is not cli.app]
    assert groups and sum(len(group.registered_commands) for group in groups) == len(COMMANDS)


def test_every_command_and_argument_has_a_help_text():
    silent = [name for name, command in COMMANDS.items() if not command.help]
    silent += [
        f"{name} {param.name}" for name, command in COMMANDS.items() for param in command.params if not param.help
    ]
    assert not silent


def test_files_in_help_texts_are_shipped():
    helps = [cli.app.info.help, *(command.help for command in COMMANDS.values())]
    helps += [param.help for command in COMMANDS.values() for param in command.params]
    named = [name for text in helps for name in re.findall(r"\S*(?:configs|pipelines)/\S+?\.yaml", text)]
    assert named
    for name in named:
        assert name.startswith(SCHEME) and find_shipped(name).is_file()


def test_a_memory_error_is_a_line_with_a_remedy(monkeypatch, capsys):
    def app():
        raise MemoryError

    monkeypatch.setattr(program, "app", app)
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("error: there is not enough memory. Lower `data.batching.window`")
