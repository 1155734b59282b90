"""The command line: it parses, calls a stage and prints. Nothing heavy is imported before a command needs it."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tfattn import __version__, catalog, registry
from tfattn.errors import ConfigError, TfattnError

LISTS = (*catalog.CATALOGS, "targets", "examples", "sections")

app = typer.Typer(
    name="tfattn",
    help="Attention models from one YAML file: raw data in, a served model out.\n\n"
    "Start with `tfattn sample factory_reports data/factory_reports.csv` and "
    "`tfattn run pipelines/factory_reports.yaml`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Pipeline = Annotated[Path, typer.Argument(help="A pipeline file, such as pipelines/factory_reports.yaml.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key, such as training.epochs=3.")
]
Force = Annotated[bool, typer.Option("--force", help="Run the stage even if nothing has changed since it last ran.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Your own part, as CATALOG.NAME=MODULE:CLASS."),
]
Deep = Annotated[
    bool, typer.Option("--deep", help="Build all parts too, as a stage does before it starts; takes seconds.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Start this many local processes that train together.")]


def _truth(text: str) -> bool:
    """Read a flag as google-research/bert's are written: --do_lower_case=False."""
    if str(text).lower() not in ("true", "false", "1", "0"):
        raise typer.BadParameter("true or false")
    return str(text).lower() in ("true", "1")


Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Such as rest_port=9000; all: tfattn list sections serving."),
]
Folder = Annotated[Path, typer.Option("--folder", help="Where exports stand.")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="A file with the bearer token that the server asks for.")
]


@app.command()
def run(
    pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None, workers: Workers = 1
) -> None:
    """Prepare, train, evaluate and export; a stage whose inputs have not changed is skipped."""
    stages = _stages(plugin)
    stages.run(stages.open_run(pipeline, set), force=force, workers=workers)


@app.command()
def prepare(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Read and check the raw data, split it, make the vocabulary, write TFRecords."""
    stages = _stages(plugin)
    stages.prepare(stages.open_run(pipeline, set), force=force)


@app.command()
def train(
    pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None, workers: Workers = 1
) -> None:
    """Train, from the last checkpoint where there is one."""
    stages = _stages(plugin)
    stages.train(stages.open_run(pipeline, set), force=force, workers=workers)


@app.command()
def evaluate(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Measure the best checkpoint: metrics.json, plots, report.html."""
    stages = _stages(plugin)
    stages.evaluate(stages.open_run(pipeline, set), force=force)


@app.command()
def export(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Write the SavedModel and prove that it answers as the trained model does."""
    stages = _stages(plugin)
    stages.export(stages.open_run(pipeline, set), force=force)


@app.command()
def predict(
    model: Annotated[
        str,
        typer.Argument(
            help="An export's folder, its name under saved_models/, or http://HOST:PORT/MODEL or "
            "grpc://HOST:PORT/MODEL on a server."
        ),
    ],
    input: Annotated[str, typer.Option("--input", help="Text lines, csv, tsv or jsonl; - is standard input.")] = "-",
    output: Annotated[
        str, typer.Option("--output", help=".jsonl, .csv or .tsv, or .txt for texts alone; - is standard output.")
    ] = "-",
    format: Annotated[
        Literal["text", "csv", "tsv", "jsonl"] | None,
        typer.Option("--format", help="How to read the input, where neither its suffix nor the training file tells."),
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Rows in a batch.")] = 64,
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
    options = {"format": format, "batch_size": batch_size, "folder": folder, "token_file": token_file}
    _serving().predict(model, input, output, allow_operations=allow_operation or (), **options)


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
    _serving().fill_mask(model, text, top_k=top_k, folder=folder, token_file=token_file, print=_print)


@app.command()
def glue(
    task: Annotated[str, typer.Argument(help="CoLA, SST-2, MRPC, STS-B, QQP, MNLI-m, MNLI-mm, QNLI, RTE, WNLI or AX.")],
    model: Annotated[str, typer.Argument(help="An export or a server's model that is trained on it, as of predict.")],
    input: Annotated[str, typer.Option("--input", help="The task's test file, as it comes: test.tsv.")],
    output: Annotated[Path, typer.Option("--output", help="The folder for what is sent in.")] = Path("glue"),
    folder: Folder = Path("saved_models"),
) -> None:
    """Predict a test file of GLUE, and write the predictions as its website takes them."""
    _serving().glue(model, task, input, output, folder=folder, print=_print)


@app.command()
def attention(
    model: Annotated[str, typer.Argument(help="A translator's export: its folder, or its name under saved_models/.")],
    text: Annotated[str, typer.Option("--text", help="What to translate.")],
    output: Annotated[Path, typer.Option("--output", help="A .png, .svg or .pdf.")] = Path("attention.png"),
    folder: Folder = Path("saved_models"),
) -> None:
    """Draw what a translator looks at as it writes: source across, written text down."""
    _stages().attention(model, text, output, folder=folder)


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
    _serving().serve(models, with_engine=engine, config=config, overrides=set, print=_print)


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
    serving = _serving()
    if write_models is not None:
        serving.write_models(write_models)
        return
    options = {"rest": rest, "grpc": grpc, "models": models, "with_engine": engine, "overrides": set}
    if not serving.conformance(**options, print=_print):
        raise typer.Exit(1)


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="The sample's name: `tfattn list samples`.")],
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Another seed gives other rows.")] = 7,
) -> None:
    """Write a sample data set to try a pipeline on."""
    registry.find("samples", name)(path, seed=seed)
    print(path)


@app.command("create-pretraining-data")
def create_pretraining_data(
    input_file: Annotated[
        str, typer.Option("--input_file", help="Texts and patterns of them, with commas between; one sentence a line.")
    ],
    output_file: Annotated[
        str, typer.Option("--output_file", help="TFRecord files to deal the examples out to, with commas between.")
    ],
    vocab_file: Annotated[str, typer.Option("--vocab_file", help="The vocab.txt.")],
    do_lower_case: Annotated[
        Any, typer.Option("--do_lower_case", parser=_truth, metavar="BOOL", help="Whether to fold case.")
    ] = True,
    do_whole_word_mask: Annotated[
        Any, typer.Option("--do_whole_word_mask", parser=_truth, metavar="BOOL", help="Whether to hide whole words.")
    ] = False,
    max_seq_length: Annotated[int, typer.Option("--max_seq_length", min=5, help="Tokens of each example.")] = 128,
    max_predictions_per_seq: Annotated[int, typer.Option("--max_predictions_per_seq", min=1)] = 20,
    random_seed: Annotated[int, typer.Option("--random_seed", min=0)] = 12345,
    dupe_factor: Annotated[int, typer.Option("--dupe_factor", min=1, help="How often each text is read.")] = 10,
    masked_lm_prob: Annotated[float, typer.Option("--masked_lm_prob", min=0, max=0.99, help="Of the tokens.")] = 0.15,
    short_seq_prob: Annotated[float, typer.Option("--short_seq_prob", min=0, max=1, help="Of the examples.")] = 0.1,
    processes: Annotated[int | None, typer.Option("--processes", min=1, help="By default one for each core.")] = None,
) -> None:
    """Make the examples that BERT is pre-trained on, with the options and the files of google-research/bert."""
    made = _with_tensorflow("tfattn.data.create_pretraining_data").create_pretraining_data(
        input_file=input_file.split(","),
        output_file=output_file.split(","),
        vocabulary=vocab_file,
        lower_case=do_lower_case,
        do_whole_word_mask=do_whole_word_mask,
        max_length=max_seq_length,
        max_predictions_per_seq=max_predictions_per_seq,
        seed=random_seed,
        dupe_factor=dupe_factor,
        masked_lm_prob=masked_lm_prob,
        short_seq_prob=short_seq_prob,
        processes=processes,
    )
    print(f"{made:,} examples: {output_file}")


@app.command()
def check(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None, deep: Deep = False) -> None:
    """Check a pipeline file; every error at once, each with file:line:column.

    It looks at keys, names, types and bounds, and at keys that have to go together. With --deep it also builds all
    parts: whether columns have their fields, parts are for each other, metrics exist, and weights fit into memory.
    """
    if deep:
        _stages(plugin)
        from tfattn import checks

        checks.check(_resolved(pipeline, set))
    else:
        _register(plugin)
        _resolved(pipeline, set)
    print(f"{pipeline}: no errors" + " in keys and values; --deep builds all parts too" * (not deep))


@app.command()
def show(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None) -> None:
    """Print the resolved configuration, each value with where it came from."""
    _register(plugin)
    from tfattn.config.show import to_yaml

    print(to_yaml(_resolved(pipeline, set)), end="")


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(LISTS)}.")],
    name: Annotated[str | None, typer.Argument(help="Show the keys of this one.")] = None,
    plugin: Plugins = None,
) -> None:
    """List what a configuration can name; with a name, the keys that it takes."""
    _register(plugin)
    if kind not in LISTS:
        raise ConfigError("no such list", expected=f"one of {', '.join(LISTS)}", received=kind)
    if name is None:
        for entry in registry.names(kind):
            print(f"{entry:<24} {_summary(kind, entry)}")
        return
    from tfattn.config.show import key_lines

    print("\n".join(key_lines(kind, name)) or "It takes no keys.")


@app.command()
def schema() -> None:
    """Print the JSON Schema of pipeline files, for completion and checks in an editor."""
    from tfattn.config.show import json_schema

    print(json.dumps(json_schema(), indent=2))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command: one clear line instead of a traceback where the user can mend it."""
    # What goes wrong comes as an exception. TensorFlow's log calls more than that an error, such as that there is no
    # GPU, or that oneDNN has no kernel for a type.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")  # processes are started anew, never forked
    try:
        app()
    except TfattnError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _stages(plugins: list[str] | None = None) -> Any:
    """Import the stages, with the user's own classes in the catalog."""
    stages = _with_tensorflow("tfattn.stages")
    for entry in _register(plugins):
        registry.find(*entry)  # not only when it is needed, which may be after hours of training
    return stages


def _register(plugins: list[str] | None) -> list[tuple[str, str]]:
    """Put the user's own classes into the catalog; what their text says to be wrong is said at once."""
    from tfattn.config.constructors import constructor

    if plugins:
        sys.path.insert(0, "")  # they may stand in the current folder
    entries = [registry.register(plugin) for plugin in plugins or ()]
    for entry in entries:
        constructor(*entry)
    return entries


def _resolved(pipeline: Path, overrides: list[str] | None) -> Any:
    from tfattn.config.resolve import resolve

    return resolve(pipeline, overrides)


def _serving() -> Any:
    """Import the commands that need no pipeline, and nothing of what trains."""
    from tfattn.serving import commands

    return commands


def _with_tensorflow(module: str) -> Any:
    import tfattn.console  # noqa: F401 (it looks at standard error as it is made: not while that is hidden)
    from tfattn import native

    return native.with_tensorflow(module)


def _print(line: str) -> None:
    """Print a line at once, whoever reads it."""
    print(line, flush=True)


def _summary(kind: str, name: str) -> str:
    from tfattn.config.constructors import summary

    try:
        return summary(kind, name)
    except ConfigError as error:  # one broken plugin does not hide the others
        return f"cannot be used: {error}"
