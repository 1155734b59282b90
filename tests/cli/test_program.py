"""The program has every command of every group, and each says what it does."""

import importlib
import pkgutil

import pytest
import typer

from tfattn import cli
from tfattn.cli import program

COMMANDS = typer.main.get_command(cli.app).commands


def test_no_group_of_commands_is_left_out():
    modules = [importlib.import_module(f"tfattn.cli.{found.name}") for found in pkgutil.iter_modules(cli.__path__)]
    groups = [module.app for module in modules if hasattr(module, "app") and module.app is not cli.app]
    assert groups and sum(len(group.registered_commands) for group in groups) == len(COMMANDS)


def test_every_command_and_every_argument_says_what_it_is():
    silent = [name for name, command in COMMANDS.items() if not command.help]
    silent += [f"{name} {one.name}" for name, command in COMMANDS.items() for one in command.params if not one.help]
    assert not silent


def test_too_little_memory_is_one_line_with_a_remedy(monkeypatch, capsys):
    def app():
        raise MemoryError

    monkeypatch.setattr(program, "app", app)
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("error: there is not enough memory. Lower `data.batching.window`")
