"""Pages of all configuration keys, from the constructors of the catalog, as `tfattn list` prints them."""

import ast
import logging
import re
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tfattn import registry
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.schema import keys_of
from tfattn.config.show import scalar
from tfattn.config.types import OfTaskMark, PartMark, PartsMark, SectionMark
from tfattn.source_text import module

FOLDER = "reference/configuration"
# The pages of catalogs, with what their entries are.
CATALOGS = {
    "models": "The architectures.",
    "tasks": "The tasks: head, loss, predictions and metrics.",
    "sources": "The formats of raw files, and other sources of rows.",
    "preprocessors": "The conversion of raw values into features, which the export contains.",
    "targets": "The targets of rows. The task of the pipeline selects the entry.",
    "examples": "The conversion of rows into training examples. The task of the pipeline selects the entry.",
    "optimizers": "The optimizers.",
    "schedules": "The learning rate as a function of the step.",
    "averages": "Averages of the weights, used for validation and in the export.",
    "adapters": "Small trained changes of pretrained weights.",
    "engines": "The programs that prepare the data.",
    "trackers": "The programs that record the runs.",
}
# The pages of files other than pipelines: title, purpose, and the section that the file contains.
OTHER_FILES = {
    "server": ("Server", "The file of `tfattn serve --config`, such as `configs/serving/network.yaml`.", "serving"),
    "comparisons": (
        "Comparisons",
        "The file of `tfattn compare`: see [comparisons](../../comparisons.md).",
        "comparison",
    ),
    "prompts": ("Prompts", "The file of `tfattn prompt`: see [guided answers](../../guided_answers.md).", "prompt"),
}


def on_config(config: MkDocsConfig) -> None:
    """Silence the segmentation of Chinese text, which logs its start."""
    logging.getLogger("jieba").setLevel(logging.WARNING)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    paths = _paths()
    pages = {"index": _overview(paths), "sections": _sections(paths)}
    for catalog, purpose in CATALOGS.items():
        head = [f"# {catalog.capitalize()}", purpose, _used(paths[catalog])]
        pages[catalog] = [*head, *(part for name in registry.names(catalog) for part in _entry(catalog, name))]
    for page, (title, purpose, section) in OTHER_FILES.items():
        pages[page] = [f"# {title}", purpose, *_entry("sections", section)]
    for page, parts in pages.items():
        files.append(File.generated(config, f"{FOLDER}/{page}.md", content="\n\n".join(parts)))
    return files


def _overview(paths: dict[str, list[str]]) -> list[str]:
    """Return a table of the sections of a pipeline."""
    rows = [f"| `{path}` | {_link(entry)} |" for entry, where in paths.items() for path in where]
    others = ", ".join(f"[{title.lower()}]({page}.md)" for page, (title, *_) in OTHER_FILES.items())
    return [
        "# Configuration keys",
        "These pages list all keys of configuration files, with their types and defaults, for the current version. "
        "[Configuration](../../configuration.md) explains pipeline files. `tfattn list` prints the same keys, and "
        "`tfattn schema` writes them as JSON Schema for editors.",
        "A section whose values are a catalog, such as the optimizers, needs the key `name`, which selects the entry.",
        "\n".join(["| section of a pipeline | values |", "|---|---|", *rows]),
        f"Other files: {others}.",
    ]


def _sections(paths: dict[str, list[str]]) -> list[str]:
    parts = ["# Sections", "The sections of a pipeline that are always of the same class."]
    parts += _entry("sections", "pipeline")
    for entry, where in paths.items():
        catalog, _, section = entry.partition(".")
        if section:
            heading, *rest = _entry(catalog, section)
            parts += [heading, _used(where), *rest]
    return parts


def _used(where: list[str]) -> str:
    return f"In a pipeline: {', '.join(f'`{path}`' for path in where)}."


def _link(entry: str) -> str:
    """Return a link to a catalog, or to a section as `sections.NAME`."""
    catalog, _, section = entry.partition(".")
    return f"[{section}](sections.md#{section})" if section else f"[{catalog}]({catalog}.md)"


def _entry(catalog: str, name: str) -> Iterator[str]:
    """Yield the paragraphs of a catalog entry: heading, description and keys."""
    yield f"## {name}"
    yield _description(catalog, name)
    keys = list(keys_of(catalog, name).values())
    yield _keys(name, keys) if keys else "No keys."


def _description(catalog: str, name: str) -> str:
    """Return the docstring of a catalog entry up to its arguments."""
    where, _, attribute = registry.target(catalog, name).partition(":")
    doc = ast.get_docstring(module(where).definition(attribute).node) or ""
    return re.split(r"^\w+:$", doc, maxsplit=1, flags=re.MULTILINE)[0].strip()


def _keys(name: str, keys: list[Argument]) -> str:
    """Return keys as a definition list; each has the anchor `NAME.KEY`."""
    lines = []
    for argument in keys:
        default = "required" if argument.default is REQUIRED else f"default `{scalar(argument.default)}`"
        stated = "filled in" if argument.given else default
        lines.append(f"`{argument.name}`{{ .key #{name}.{argument.name} }} {_type(argument)}; {stated}")
        lines.append(f":   {argument.help or 'No explanation.'}\n")
    return "\n".join(lines)


def _type(argument: Argument) -> str:
    match argument.nested:
        case PartMark(catalog=catalog):
            return f"one of the {_link(catalog)}"
        case PartsMark(catalog=catalog):
            return f"a mapping of names to {_link(catalog)}"
        case OfTaskMark(part=part):
            return f"the {_link(part)} of the task"
        case SectionMark(section=section):
            return f"the section {_link(f'sections.{section}')}"
    described = re.sub(r"'([^']*)'", r"`\1`", argument.expected())
    return re.sub(r"(?<=that matches )\S+", r"`\g<0>`", described)


def _paths() -> dict[str, list[str]]:
    """Return the key paths of each catalog, and of each section as `sections.NAME`, in a pipeline."""
    found: dict[str, list[str]] = {}

    def visit(kind: str, name: str, path: tuple[str, ...], outer: frozenset[str]) -> None:
        for argument in keys_of(kind, name).values():
            inner = (*path, argument.name)
            entries = []
            match argument.nested:
                case PartMark(catalog=catalog) | PartsMark(catalog=catalog) | OfTaskMark(part=catalog):
                    inner = (*inner, "NAME") if isinstance(argument.nested, PartsMark) else inner
                    where, entries = catalog, [] if catalog in outer else registry.names(catalog)
                case SectionMark(section=section):
                    where, catalog, entries = f"sections.{section}", "sections", [section]
                case _:
                    continue
            if ".".join(inner) not in found.setdefault(where, []):
                found[where].append(".".join(inner))
            for entry in entries:
                visit(catalog, entry, inner, outer | ({catalog} - {"sections"}))

    visit("sections", "pipeline", (), frozenset())
    return found
