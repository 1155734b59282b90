"""Suggestions for mistyped commands and options."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from tfattn.errors import nearest
from tfattn.similar_names import is_sure, similar_names

PIPELINE = "pipeline"  # the argument of commands that have --set


class SuggestingGroup(TyperGroup):
    """Commands whose errors about unknown commands and options suggest a name.

    An option that is a key of pipelines, such as `--epochs 5`, suggests `--set training.epochs=VALUE`.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; `args` start with its name."""
        name = args[0] if args else ""
        self.suggest_commands = False
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            if hasattr(error, "message"):
                error.message = f"No such command: {name}. {nearest(name, self.list_commands(ctx))}".rstrip()
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options before the command."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            _suggest_option(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of the command, and run it."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            _suggest_option(error)
            raise


def _suggest_option(error: Exception) -> None:
    """Add a suggestion to the message of an unknown option; other errors are unchanged."""
    if not hasattr(error, "possibilities") or not getattr(error, "option_name", None) or error.ctx is None:
        return
    parameters = error.ctx.command.params
    options = [option for parameter in parameters for option in parameter.opts if option.startswith("--")]
    error.possibilities = None
    takes_keys = any(parameter.name == PIPELINE for parameter in parameters) and "--set" in options
    error.message = (
        f"No such option: {error.option_name}. {_suggestion(error.option_name, options, takes_keys)}".rstrip()
    )


def _suggestion(option: str, options: Sequence[str], takes_keys: bool) -> str:
    name = option.lstrip("-")
    names = {known.lstrip("-"): known for known in options}
    similar = similar_names(name, names)
    if takes_keys and not (similar and is_sure(name, similar[0])):
        # Imported here: reading all constructors takes a second.
        from tfattn.config.schema import key_paths

        keys: dict[str, str] = {}
        for path in sorted(key_paths(("sections", "pipeline"), {}, {}), key=len):
            keys.setdefault(path[-1], ".".join(path))
            keys.setdefault(".".join(path), ".".join(path))
        if found := similar_names(name, keys):
            return f"Did you mean `--set {keys[found[0]]}=VALUE`?"
    return nearest(name, names).replace("`", "`--", 1) if similar else ""
