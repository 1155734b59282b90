"""The command line: it parses, calls a stage and prints. Nothing heavy is imported before a command needs it."""

from tfattn.cli.program import app, main

__all__ = ["app", "main"]
