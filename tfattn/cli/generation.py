"""Commands that generate text: interactively, or for the rows of a file."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from tfattn.cli import loading
from tfattn.cli.models import Folder, TokenFile
from tfattn.formats.file_formats import InputKind
from tfattn.litert import Engine
from tfattn.sampling_params import ANNOTATIONS, RANGES, SamplingParams
from tfattn.source_text import parse_argument_docs

app = typer.Typer()

Model = Annotated[
    str,
    typer.Argument(
        help="A pretrained decoder (smollm2, hf://OWNER/NAME, keras://PRESET, a folder of weights or a GGUF file), "
        "which is exported first; or an export's folder, or its name under saved_models/."
    ),
]
Sampling = dict[str, Any]


def with_sampling_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each field of `SamplingParams` to a command, which receives the given ones as `sampling`."""

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        found = {name: values.pop(name) for name in ANNOTATIONS}
        given = {name: value for name, value in found.items() if value not in (None, [])}
        command(sampling={**given, "stop": tuple(given["stop"])} if "stop" in given else given, **values)

    helps = parse_argument_docs(inspect.getdoc(SamplingParams))
    options = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                (RANGES[name].kind if name in RANGES else list[str]) | None,
                typer.Option(help=helps[name][0].upper() + helps[name][1:]),
            ],
        )
        for name in ANNOTATIONS
    ]
    own = inspect.signature(command).parameters.values()
    replaced = [options if parameter.name == "sampling" else [parameter] for parameter in own]
    with_options.__signature__ = inspect.Signature([parameter for group in replaced for parameter in group])
    return with_options


@app.command()
@with_sampling_options
def generate(
    model: Model,
    prompt: Annotated[
        str | None, typer.Argument(help="The text to continue, or the first message of a chat; else standard input.")
    ] = None,
    chat: Annotated[
        bool, typer.Option("--chat", help="Chat with the model, line by line, with its chat template.")
    ] = False,
    *,
    sampling: Sampling,
    choice: Annotated[
        list[str] | None, typer.Option("--choice", help="Generate one of these texts; may be given several times.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="A file with a JSON Schema; the output is JSON that matches it.")
    ] = None,
    folder: Folder = Path("saved_models"),
    engine: Annotated[
        Engine,
        typer.Option(
            help="litert: 8-bit weights, fast on processors; tensorflow: the SavedModel; auto: litert, if possible."
        ),
    ] = "auto",
) -> None:
    """Continue a prompt, or chat; prints tokens as they are generated.

    tfattn generate smollm2 --chat "What is the capital of France?"
    """
    guided = {"guided_choice": choice} if choice else {}
    if schema is not None:
        guided["guided_json"] = _text(schema)
    options = {"folder": folder, "engine": engine, "settings": {**sampling, "guided": guided}, "say": _say}
    model = loading.exported_decoder(model, folder, engine)
    serving = loading.generation()
    if chat:
        serving.chat(model, [prompt] if prompt is not None else _lines(), **options)
    else:
        serving.generate(model, sys.stdin.read() if prompt is None else prompt, **options)


@app.command()
def prompt(
    recipe: Annotated[
        str, typer.Argument(help="A recipe of prompts, such as package://configs/prompts/summary.yaml, or your own.")
    ],
    model: Model,
    input: Annotated[str, typer.Option("--input", help="csv, tsv, jsonl or text lines; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", help=".jsonl, .csv, .tsv, or .txt for texts only; - is standard output.")
    ] = "-",
    accuracy: Annotated[
        bool, typer.Option("--accuracy", help="Print the accuracy; rows need the recipe's target column.")
    ] = False,
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="The input format, if the suffix does not determine it."),
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Rows in a batch.")] = 8,
    set: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key, such as num_examples=4.")
    ] = None,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
) -> None:
    """Answer the rows of a file by a recipe of prompts, with generated texts or with the most likely label."""
    serving = loading.serving()
    how = serving.recipe(recipe, set)
    model = loading.exported(model, folder)
    options = {"format": format, "batch_size": batch_size, "folder": folder, "token_file": token_file}
    serving.prompt(how, model, input, output, has_targets=accuracy, **options)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"cannot read {path} ({error})") from None


def _lines() -> Iterator[str]:
    """Yield lines of standard input, with a prompt on a terminal."""
    while True:
        if sys.stdin.isatty():
            print("> ", end="", file=sys.stderr, flush=True)
        if not (line := sys.stdin.readline()):
            return
        yield line


def _say(text: str) -> None:
    """Print a part of a line and flush the output."""
    print(text, end="", flush=True)
