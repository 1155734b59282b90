"""The page of all commands, from the help of the command line."""

from collections.abc import Iterator

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tfattn import cli

INTRODUCTION = """# Commands

`tfattn COMMAND --help` prints the same text. Every command exits with 0 if it was successful, with 2 if a configuration
or an option is wrong, and with 1 for all other errors, which it prints as one line each."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    commands = typer.main.get_command(cli.app).commands
    parts = [INTRODUCTION, *(part for name, command in commands.items() for part in _command(name, command))]
    files.append(File.generated(config, "reference/commands.md", content="\n\n".join(parts)))
    return files


def _command(name: str, command: typer.core.TyperCommand) -> Iterator[str]:
    """Yield the paragraphs of a command."""
    context = command.make_context(name, [], resilient_parsing=True)
    yield f"## {name}"
    yield command.help
    yield f"```text\ntfattn {name} {' '.join(command.collect_usage_pieces(context))}\n```"
    records = [parameter.get_help_record(context) for parameter in command.params]
    yield "\n".join(f"`{option}`{{ .key }}\n:   {text}\n" for option, text in filter(None, records))
