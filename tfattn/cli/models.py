"""Commands that use models: predictions, features, attention, serving and conformance."""

import functools
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tfattn.cli import loading
from tfattn.formats.file_formats import InputKind
from tfattn.litert import Engine

app = typer.Typer()

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting, such as rest_port=9000; see tfattn list sections serving."
    ),
]
Folder = Annotated[Path, typer.Option("--folder", help="The folder of exports.")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="A file with the bearer token that the server requires.")
]


def _numbers(text: str) -> list[int]:
    """Parse integers that are separated by commas."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter("expected integers separated by commas, such as -1,-2") from None


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
        str,
        typer.Option(
            "--output", help=".jsonl, .csv, .tsv, .xlsx, .parquet, or .txt for texts only; - is standard output."
        ),
    ] = "-",
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="The input format, if neither the suffix nor the training file determines it."),
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Rows in a batch.")] = 64,
    arrays: Annotated[
        bool, typer.Option("--arrays", help="Also write arrays, such as vectors, to csv and tsv; jsonl has them.")
    ] = False,
    append: Annotated[
        bool, typer.Option("--append", help="Keep all columns of the input next to the predictions.")
    ] = False,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
    allow_operation: Annotated[
        list[str] | None,
        typer.Option("--allow-operation", metavar="NAME", help="Allow an operation in the export, such as ReadFile."),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(
            "--engine", help="tensorflow; litert for exports with a LiteRT file; auto for LiteRT if possible."
        ),
    ] = "tensorflow",
) -> None:
    """Predict the rows of a file with an export or a server."""
    loading.serving().predict(
        model,
        input,
        output,
        format=format,
        arrays=arrays,
        append=append,
        batch_size=batch_size,
        folder=folder,
        token_file=token_file,
        allow_operations=allow_operation or (),
        engine=engine,
    )


@functools.wraps(predict)
def _translate(model: str, **options: Any) -> None:
    predict(loading.exported(model, options["folder"], task="translation"), **options)


app.command(
    "translate",
    help="Translate a file or standard input, as `tfattn predict`. Pretrained weights (hf://OWNER/NAME, or a folder) "
    "are exported first.",
)(_translate)


@app.command("fill-mask")
def fill_mask(
    model: Annotated[
        str,
        typer.Argument(
            help="A masked language model: see `tfattn predict`; or pretrained weights, which are exported first: "
            "hf://OWNER/NAME or a folder."
        ),
    ],
    text: Annotated[str, typer.Argument(help='A text with [MASK] in it, such as "The man went to the [MASK] ."')],
    top_k: Annotated[int, typer.Option("--top-k", min=1, max=10, help="The number of tokens to show, at most 10.")] = 5,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
) -> None:
    """Print the most likely tokens for [MASK] in a text, with probabilities."""
    serving = loading.serving()
    serving.check_mask(text)
    model = loading.exported(model, folder, task="masked_lm")
    serving.fill_mask(model, text, top_k=top_k, folder=folder, token_file=token_file, print=_print)


@app.command()
def glue(
    task: Annotated[str, typer.Argument(help="CoLA, SST-2, MRPC, STS-B, QQP, MNLI-m, MNLI-mm, QNLI, RTE, WNLI or AX.")],
    model: Annotated[str, typer.Argument(help="An export or a server's model for the task: see `tfattn predict`.")],
    input: Annotated[str, typer.Option("--input", help="The task's unchanged test file: test.tsv.")],
    output: Annotated[Path, typer.Option("--output", help="The folder for the submission.")] = Path("glue"),
    folder: Folder = Path("saved_models"),
) -> None:
    """Predict a test file of GLUE, and write a submission for its website."""
    loading.serving().glue(model, task, input, output, folder=folder, print=_print)


@app.command()
def features(
    model: Annotated[
        str,
        typer.Argument(
            help="A pretrained encoder (minilm, hf://OWNER/NAME or keras://PRESET), a folder of weights, or an export "
            "by its name or folder."
        ),
    ],
    input: Annotated[str, typer.Option("--input", help="Text lines, csv, tsv, jsonl, ...; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", help=".jsonl, or .npy for a vector per text; - is standard output.")
    ] = "-",
    layers: Annotated[
        Any,
        typer.Option(
            "--layers",
            parser=_numbers,
            metavar="NUMBERS",
            help="Layers, such as -1,-2; -1 is the top layer. By default -1,-2,-3,-4 for tokens, -1 for texts.",
        ),
    ] = None,
    pooling: Annotated[
        Literal["none", "mean", "cls", "pooler"],
        typer.Option("--pooling", help="The pooling of tokens into a vector per text; none writes vectors of tokens."),
    ] = "none",
    normalize: Annotated[bool, typer.Option("--normalize", help="Scale each vector to length 1.")] = False,
    columns: Annotated[
        str | None, typer.Option("--columns", help="The column of the texts, or two for pairs, separated by a comma.")
    ] = None,
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="The input format, if the suffix does not determine it."),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", min=5, help="The maximum number of tokens; longer texts are cut.")
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Tokens in a batch, with padding.")] = 2048,
    precision: Annotated[
        Literal["float32", "bfloat16"], typer.Option("--precision", help="The precision of the encoder.")
    ] = "float32",
    folder: Folder = Path("saved_models"),
) -> None:
    """Write the vectors of an encoder for texts: a vector per token or per text."""
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
            help="An export's folder or its name under saved_models/, a run's folder, a pretrained model (minilm, "
            "smollm2, hf://OWNER/NAME or keras://PRESET), a folder of weights, or http://HOST:PORT/MODEL on a server."
        ),
    ],
    text: Annotated[str | None, typer.Option("--text", help="The text, or the first text of a pair.")] = None,
    text_b: Annotated[str | None, typer.Option("--text-b", help="The second text of a pair.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="The target text of a translator; by default its own output.")
    ] = None,
    row: Annotated[
        str | None, typer.Option("--row", help="A row of a table: JSON, or a line of csv in the model's order.")
    ] = None,
    image: Annotated[Path | None, typer.Option("--image", help="An image file, for a model of images.")] = None,
    output: Annotated[
        Path, typer.Option("--output", help=".html for a page; .png, .svg or .pdf for a picture.")
    ] = Path("attention.html"),
    layer: Annotated[
        int | None, typer.Option("--layer", min=1, help="The layer of a picture; by default all layers.")
    ] = None,
    head: Annotated[
        int | None, typer.Option("--head", min=1, help="The head of a picture; by default the mean of all heads.")
    ] = None,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
) -> None:
    """Draw the attention of a model: a page with all layers and heads, or a picture."""
    looking = loading.with_tensorflow("tfattn.attention.looking")
    looking.check(output, layer=layer, head=head)
    options = {"target": target, "row": row, "image": image, "folder": folder, "token_file": token_file}
    looking.write(looking.look(model, text, text_b, **options), output, layer=layer, head=head)


@app.command()
def explain(
    model: Annotated[
        str,
        typer.Argument(
            help="An export's folder or its name under saved_models/, a run's folder, or http://HOST:PORT/MODEL on a "
            "server; it predicts a label, labels or a number from texts or columns."
        ),
    ],
    text: Annotated[str | None, typer.Argument(help="A text, instead of a file.")] = None,
    input: Annotated[str, typer.Option("--input", help="Text lines, csv, tsv, jsonl, ...; - is standard input.")] = "-",
    output: Annotated[
        str | None,
        typer.Option("--output", help=".html for a page, .jsonl or - for JSON lines; by default in the terminal."),
    ] = None,
    background: Annotated[
        Path | None,
        typer.Option(
            "--background",
            help="Of a table: a file of rows to compare with, such as the training file; by default rows are sampled "
            "from the statistics in the export.",
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="The label whose score is explained; by default the predicted label.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", min=2, help="Random orders of the words or columns; by default 10 of words, 100 of columns."
        ),
    ] = None,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="The maximum number of rows.")] = 100,
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="The input format, if neither the suffix nor the training file determines it."),
    ] = None,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
) -> None:
    """Explain predictions: the contribution of each word or column to the score, with its interval."""
    explain_rows = loading.with_tensorflow("tfattn.evaluation.explain_rows")
    if output is not None:
        explain_rows.check_output(output)
    explanations = explain_rows.explain_file(
        model,
        input,
        text=text,
        background=background,
        label=label,
        samples=samples,
        max_rows=max_rows,
        format=format,
        folder=folder,
        token_file=token_file,
    )
    if output is None:
        loading.with_tensorflow("tfattn.evaluation.explanation_terminal").show(explanations)
    else:
        explain_rows.write(explanations, output, model=model)


@app.command()
def serve(
    models: Annotated[
        str,
        typer.Argument(
            help="A folder of exported models, a model's folder or name, or a models.config; or a pretrained decoder "
            "(smollm2, hf://OWNER/NAME, a folder of weights or a GGUF file), which is exported first."
        ),
    ] = "saved_models",
    engine: Annotated[
        Literal["auto", "builtin", "tensorflow_model_server"],
        typer.Option("--engine", help="The server; auto uses tensorflow_model_server if it is installed."),
    ] = "auto",
    config: Annotated[Path | None, typer.Option("--config", help="A YAML file of settings.")] = None,
    set: Settings = None,
) -> None:
    """Serve exports over REST and gRPC like TF Serving, with a page for trying them at the REST address."""
    commands = loading.serving()
    settings = commands.serving(config, set)
    needed = "tensorflow" if commands.needs_saved_models(engine, settings) else settings.engine
    models = loading.exported_decoder(models, Path("saved_models"), needed)
    commands.serve(models, settings, with_engine=engine, print=_print)


@app.command()
def conformance(
    rest: Annotated[
        str | None, typer.Option("--rest", help="A server's REST address, such as http://127.0.0.1:8501.")
    ] = None,
    grpc: Annotated[
        str | None, typer.Option("--grpc", help="The server's gRPC address, such as 127.0.0.1:8500.")
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option("--models", help="The folder of the server's models; the check changes versions in it."),
    ] = None,
    write_models: Annotated[
        Path | None, typer.Option("--write-models", help="Only write the models that the server must serve here.")
    ] = None,
    engine: Annotated[
        Literal["builtin", "tensorflow_model_server"],
        typer.Option("--engine", help="The server to start and check if no address is given."),
    ] = "builtin",
    set: Settings = None,
) -> None:
    """Check that a server answers like TF Serving; without an address, a server is started."""
    serving = loading.serving()
    if write_models is not None:
        serving.write_models(write_models)
        return
    options = {"rest": rest, "grpc": grpc, "models": models, "with_engine": engine, "overrides": set}
    if not serving.conformance(**options, print=_print):
        raise typer.Exit(1)


def _print(line: str) -> None:
    """Print a line and flush the output."""
    print(line, flush=True)
