"""The command line: parses arguments, calls a stage and prints. Heavy modules are imported only by their commands."""

from tfattn.cli.program import app, main

__all__ = ["app", "main"]
