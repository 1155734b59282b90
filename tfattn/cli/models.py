"""The commands that ask, draw, serve and check models."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tfattn.cli import loading
from tfattn.formats.file_formats import InputKind

app = typer.Typer()

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Such as rest_port=9000; all: tfattn list sections serving."),
]
Folder = Annotated[Path, typer.Option("--folder", help="Where exports stand.")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="A file with the bearer token that the server asks for.")
]


def _numbers(text: str) -> list[int]:
    """Read whole numbers with commas between."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter("whole numbers with commas between, such as -1,-2") from None


@app.command()
def predict(
    model: Annotated[
        str,
        typer.Argument(
            help="An export's folder, its name under saved_models/, or http://HOST:PORT/MODEL or "
            "grpc://HOST:PORT/MODEL on a server."
        ),
    ],
    input: Annotated[str, typer.Option("--input", help="Text lines, csv, tsv, jsonl, ...; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", help=".jsonl, .csv or .tsv, or .txt for texts alone; - is standard output.")
    ] = "-",
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="How to read the input, where neither its suffix nor the training file tells."),
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Rows in a batch.")] = 64,
    arrays: Annotated[
        bool, typer.Option("--arrays", help="Write arrays, such as vectors, to csv and tsv as well; jsonl has them.")
    ] = False,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
    allow_operation: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-operation", metavar="NAME", help="Load an export that has this operation, such as ReadFile."
        ),
    ] = None,
) -> None:
    """Answer a file of inputs from an export or a server, a line for each row."""
    options = {"format": format, "arrays": arrays, "batch_size": batch_size, "folder": folder, "token_file": token_file}
    loading.serving().predict(model, input, output, allow_operations=allow_operation or (), **options)


app.command("translate", help="Translate a file or standard input: `tfattn predict` under another name.")(predict)


@app.command("fill-mask")
def fill_mask(
    model: Annotated[str, typer.Argument(help="A masked language model: as `tfattn predict` takes it.")],
    text: Annotated[str, typer.Argument(help='A text with [MASK] in it, such as "The man went to the [MASK] ."')],
    top_k: Annotated[
        int, typer.Option("--top-k", min=1, max=10, help="How many tokens to show; an export tells ten.")
    ] = 5,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
) -> None:
    """Tell what [MASK] may stand for in a text, with probabilities."""
    loading.serving().fill_mask(model, text, top_k=top_k, folder=folder, token_file=token_file, print=_print)


@app.command()
def glue(
    task: Annotated[str, typer.Argument(help="CoLA, SST-2, MRPC, STS-B, QQP, MNLI-m, MNLI-mm, QNLI, RTE, WNLI or AX.")],
    model: Annotated[str, typer.Argument(help="An export or a server's model that is trained on it, as of predict.")],
    input: Annotated[str, typer.Option("--input", help="The task's test file, as it comes: test.tsv.")],
    output: Annotated[Path, typer.Option("--output", help="The folder for what is sent in.")] = Path("glue"),
    folder: Folder = Path("saved_models"),
) -> None:
    """Predict a test file of GLUE, and write the predictions as its website takes them."""
    loading.serving().glue(model, task, input, output, folder=folder, print=_print)


@app.command()
def features(
    model: Annotated[
        str,
        typer.Argument(help="A published encoder (minilm), a folder of weights, or an export by its name or folder."),
    ],
    input: Annotated[str, typer.Option("--input", help="Text lines, csv, tsv, jsonl, ...; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", help=".jsonl, or .npy for one vector of each text; - is standard output.")
    ] = "-",
    layers: Annotated[
        Any,
        typer.Option(
            "--layers",
            parser=_numbers,
            metavar="NUMBERS",
            help="Which, such as -1,-2: -1 is the topmost. By default -1,-2,-3,-4 of tokens, -1 of texts.",
        ),
    ] = None,
    pooling: Annotated[
        Literal["none", "mean", "cls", "pooler"],
        typer.Option("--pooling", help="How the tokens of a text become one vector; none gives the vectors of tokens."),
    ] = "none",
    normalize: Annotated[bool, typer.Option("--normalize", help="Bring each vector to length 1.")] = False,
    columns: Annotated[
        str | None, typer.Option("--columns", help="The column of the texts, or two for pairs, with a comma between.")
    ] = None,
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="How to read the input, where its suffix does not tell."),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", min=5, help="Tokens of the longest text; of others the end is cut.")
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Tokens in a batch, with padding.")] = 2048,
    precision: Annotated[
        Literal["float32", "bfloat16"], typer.Option("--precision", help="In which the encoder computes.")
    ] = "float32",
    folder: Folder = Path("saved_models"),
) -> None:
    """Write the vectors that an encoder makes of texts: of their tokens, or one of each text."""
    loading.with_tensorflow("tfattn.inference").features(
        model,
        input,
        output,
        layers=layers,
        pooling=pooling,
        normalize=normalize,
        columns=columns and columns.split(","),
        format=format,
        max_length=max_length,
        max_tokens=max_tokens,
        precision=precision,
        folder=folder,
    )


@app.command()
def attention(
    model: Annotated[
        str,
        typer.Argument(
            help="An export's folder or its name under saved_models/, a run's folder, a published model (minilm, "
            "smollm2), a folder of weights, or http://HOST:PORT/MODEL on a server."
        ),
    ],
    text: Annotated[str | None, typer.Option("--text", help="What it reads; of a pair of texts the first.")] = None,
    text_b: Annotated[str | None, typer.Option("--text-b", help="The second text of a pair.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="What a translator is to write; by default what it writes by itself.")
    ] = None,
    row: Annotated[
        str | None, typer.Option("--row", help="A row of a table: JSON, or a line of csv in the model's order.")
    ] = None,
    image: Annotated[Path | None, typer.Option("--image", help="Of a model of images, the file of one.")] = None,
    output: Annotated[
        Path, typer.Option("--output", help=".html for a page; .png, .svg or .pdf for one picture.")
    ] = Path("attention.html"),
    layer: Annotated[int | None, typer.Option("--layer", min=1, help="Of a picture; by default all of them.")] = None,
    head: Annotated[int | None, typer.Option("--head", min=1, help="Of a picture; by default their mean.")] = None,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
) -> None:
    """Show what a model looks at: a page with all layers and heads, or one picture."""
    looking = loading.with_tensorflow("tfattn.attention.looking")
    looking.check(output, layer=layer, head=head)
    options = {"target": target, "row": row, "image": image, "folder": folder, "token_file": token_file}
    looking.write(looking.look(model, text, text_b, **options), output, layer=layer, head=head)


@app.command()
def serve(
    models: Annotated[
        str, typer.Argument(help="A folder of exported models, one model's folder or name, or a models.config.")
    ] = "saved_models",
    engine: Annotated[
        Literal["auto", "builtin", "tensorflow_model_server"],
        typer.Option("--engine", help="Which server; auto takes tensorflow_model_server where it is installed."),
    ] = "auto",
    config: Annotated[Path | None, typer.Option("--config", help="A YAML file of settings.")] = None,
    set: Settings = None,
) -> None:
    """Serve exports over REST and gRPC, as TF Serving does; a page to try them is at the REST address."""
    loading.serving().serve(models, with_engine=engine, config=config, overrides=set, print=_print)


@app.command()
def conformance(
    rest: Annotated[
        str | None, typer.Option("--rest", help="A server's REST address, such as http://127.0.0.1:8501.")
    ] = None,
    grpc: Annotated[str | None, typer.Option("--grpc", help="Its gRPC address, such as 127.0.0.1:8500.")] = None,
    models: Annotated[
        Path | None, typer.Option("--models", help="The folder that it serves; versions in it come and go.")
    ] = None,
    write_models: Annotated[
        Path | None, typer.Option("--write-models", help="Only write the models that it must serve to this folder.")
    ] = None,
    engine: Annotated[
        Literal["builtin", "tensorflow_model_server"],
        typer.Option("--engine", help="Which server to start and check where no address is given."),
    ] = "builtin",
    set: Settings = None,
) -> None:
    """Check a server against what TF Serving answers, line by line; without an address, one that is started for it."""
    serving = loading.serving()
    if write_models is not None:
        serving.write_models(write_models)
        return
    options = {"rest": rest, "grpc": grpc, "models": models, "with_engine": engine, "overrides": set}
    if not serving.conformance(**options, print=_print):
        raise typer.Exit(1)


def _print(line: str) -> None:
    """Print a line at once, whoever reads it."""
    print(line, flush=True)
