"""Commands that create data: samples and pre-training examples."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tfattn import registry
from tfattn.cli import loading

app = typer.Typer()

_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}  # as in absl


class _AbslCommand(TyperCommand):
    """A command whose flags may have a value, as in google-research/bert: --do_lower_case=False."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; flags with a value are replaced by flags without a value."""
        flags = {opt: off for param in self.params for opt, off in zip(param.opts, param.secondary_opts, strict=False)}
        replaced = []
        for arg in args:
            name, _, value = arg.partition("=")
            if not value and replaced and replaced[-1] in flags and arg.lower() in _BOOLEANS:  # --do_lower_case False
                name, value = replaced.pop(), arg
            if name in flags and value:
                if value.lower() not in _BOOLEANS:
                    raise typer.BadParameter(f"{name}: expected true or false, received {value}")
                replaced.append(name if _BOOLEANS[value.lower()] else flags[name])
            else:
                replaced.append(arg)
        return super().parse_args(ctx, replaced)


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="The sample's name: `tfattn list samples`.")],
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", help="The random seed of the rows.")] = 7,
) -> None:
    """Write a sample data set for trying a pipeline."""
    registry.find("samples", name)(path, seed=seed)
    print(path)


@app.command("create-pretraining-data", cls=_AbslCommand)
def create_pretraining_data(
    input_file: Annotated[
        str, typer.Option("--input_file", help="Text files or patterns, separated by commas; a sentence per line.")
    ],
    output_file: Annotated[
        str, typer.Option("--output_file", help="TFRecord files for the examples, separated by commas.")
    ],
    vocab_file: Annotated[str, typer.Option("--vocab_file", help="The vocab.txt.")],
    do_lower_case: Annotated[
        bool, typer.Option("--do_lower_case/--nodo_lower_case", help="Whether to fold case.")
    ] = True,
    do_whole_word_mask: Annotated[
        bool, typer.Option("--do_whole_word_mask/--nodo_whole_word_mask", help="Whether to mask whole words.")
    ] = False,
    max_seq_length: Annotated[int, typer.Option("--max_seq_length", min=5, help="Tokens of each example.")] = 128,
    max_predictions_per_seq: Annotated[
        int, typer.Option("--max_predictions_per_seq", min=1, help="The maximum number of masked tokens of an example.")
    ] = 20,
    random_seed: Annotated[
        int, typer.Option("--random_seed", min=0, help="The random seed of masks and pairs.")
    ] = 12345,
    dupe_factor: Annotated[int, typer.Option("--dupe_factor", min=1, help="The number of passes over the texts.")] = 10,
    masked_lm_prob: Annotated[
        float, typer.Option("--masked_lm_prob", min=0, max=0.99, help="The fraction of masked tokens.")
    ] = 0.15,
    short_seq_prob: Annotated[
        float, typer.Option("--short_seq_prob", min=0, max=1, help="The fraction of shorter examples.")
    ] = 0.1,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="The number of processes; by default one per core.")
    ] = None,
) -> None:
    """Create pre-training examples of BERT, with the options and files of google-research/bert."""
    count = loading.with_tensorflow("tfattn.data.preparation.create_pretraining_data").create_pretraining_data(
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
    print(f"{count:,} examples: {output_file}")
