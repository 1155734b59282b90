"""Explanations of the predictions of an export, or of a model on a server, for rows of a file."""

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.data.preparation.input_statistics import STATISTICS, InputStatistics
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.evaluation import explanation_sections
from tfattn.evaluation.gold_rows import target_of
from tfattn.evaluation.row_explanations import SAMPLES, Explainer, Explanation
from tfattn.evaluation.served_ensemble import ServedEnsemble
from tfattn.evaluation.wording import count
from tfattn.features import LABEL_IDS
from tfattn.formats.file_formats import InputKind
from tfattn.runs.run_export import export_of, is_run
from tfattn.serving.client import input_rows
from tfattn.serving.client.input_rows import InputRow
from tfattn.serving.client.local import LocalModel
from tfattn.serving.client.predict import Predictor
from tfattn.serving.commands import open_model
from tfattn.serving.engine.saved_model import EXPORT_AGAIN

PAGE = ".html"
MAX_ROWS = 100
BACKGROUND_ROWS = SAMPLES["columns"]  # sampled from the statistics of the training rows, or from a file


def explain_file(
    model: str | Path,
    path: str,
    *,
    text: str | None = None,
    background: str | Path | None = None,
    format: InputKind | None = None,
    max_rows: int = MAX_ROWS,
    folder: str | Path = "saved_models",
    token_file: Path | None = None,
    **options: Any,
) -> Iterator[Explanation]:
    """Explain the predictions of a model for the rows of a file, one after the other.

    Args:
        model: an export's folder or name, a run's folder (its export is used), or the address of a model on a server.
        path: the file, in a format that `tfattn predict` reads; `-` is standard input.
        text: a text that is explained instead of a file.
        background: a file of background rows; see `explain`.
        format: the format of the file, if neither the suffix nor the training file determines it.
        max_rows: the maximum number of rows.
        folder: the folder of exports.
        token_file: a file with the bearer token that the server requires.
        options: other arguments of `explain`.

    Raises:
        ConfigError, DataError: as `explain`; or the file cannot be read.
        ServingError: there is no such model.

    Example:
        >>> next(explain_file("factory_reports", "-", text="Coolant is pooling.")).names
        ['Coolant', 'is', 'pooling.']
    """
    name = str(export_of(model)) if is_run(model) else str(model)
    opened = open_model(name, Path(folder), token_file=token_file)
    check_model(opened, name)
    if text is None:
        rows = read_rows(opened, path, format=format, most=max_rows + 1)
    else:
        rows = [_row_of_text(opened, text, name)]
    others = None if background is None else background_rows(read_rows(opened, str(background)))
    yield from explain(opened, rows, name=name, background=others, max_rows=max_rows, **options)


def write(explanations: Iterable[Explanation], output: str, *, model: str) -> None:
    """Write explanations as JSON lines (.jsonl, or `-` for standard output) or as a page (.html).

    Raises:
        ConfigError: the suffix is another one.
    """
    check_output(output)
    if output == "-":
        for explanation in explanations:
            sys.stdout.write(_line(explanation))
            sys.stdout.flush()
        return
    found = list(console.tracked(explanations, "explanations", None))
    if Path(output).suffix.lower() == PAGE:
        explanation_sections.write_page(found, Path(output), title=f"{model}: why these predictions?")
    else:
        files.write_text(Path(output), "".join(map(_line, found)))
    console.note(f"{output}: {count(len(found), 'explanation')}")


def check_output(output: str) -> None:
    """Check that explanations can be written under a name; see `write`."""
    if output != "-":
        files.by_suffix(Path(output), dict.fromkeys([PAGE, ".jsonl"]))


def explain(
    opened: Predictor,
    rows: Sequence[InputRow],
    *,
    name: str,
    background: Sequence[InputRow] | None = None,
    label: str | None = None,
    samples: int | None = None,
    max_rows: int = MAX_ROWS,
) -> Iterator[Explanation]:
    """Explain the predictions of a model for rows, one after the other.

    Args:
        opened: the model.
        rows: the rows.
        name: the name of the model, for messages.
        background: rows of a table that are representative of all rows; by default BACKGROUND_ROWS rows are sampled
            from the statistics of the training rows in the export, each column by itself.
        label: the label whose score is explained; by default the predicted label of each row.
        samples: the number of samples, see `Explainer`.
        max_rows: the maximum number of rows.

    Raises:
        ConfigError: the model has no scores of rows, or does not have the label.
        DataError: there are too many rows, a row cannot be explained, or a table has no background rows.
    """
    check_model(opened, name)
    if not rows:
        return
    if len(rows) > max_rows:
        raise DataError(
            "there are too many rows to explain",
            where=rows[0].where,
            expected=f"at most {max_rows:,} rows",
            received=f"more than {max_rows:,}",
            remedy="Select the rows of interest, or raise the limit: each takes about a second.",
        )
    served = ServedEnsemble(opened)
    [first] = served.outputs(rows[:1])
    if target_of(first) is None:
        raise _unexplained(name, f"the outputs {', '.join(first)}")
    served = ServedEnsemble(opened, labels=list(first.get("scores", ())))
    index = None if label is None else _index(label, served.labels, name)
    raw = raw_rows(rows)
    others = typical_rows(opened) if background is None else raw_rows(background)
    explainer = Explainer(served, background=others if served.preprocessor.reads_columns else (), samples=samples)
    for row in raw:
        explainer.check(row)  # before the first row, which takes time
    for row in raw:
        yield explainer.explain(row, index if label is not None else _predicted(served, row))


def check_model(opened: Predictor, name: str) -> None:
    """Check that the inputs and outputs of a model are those of a model whose predictions can be explained.

    Raises:
        ConfigError: the model reads images or lists of texts, or generates text.
    """
    if opened.files:
        remedy = f"Its attention can be shown over an image: tfattn attention {name} --image FILE."
        raise _unexplained(name, "a model of images", remedy)
    if opened.writes_text:
        raise _unexplained(name, "a model that generates text")
    if opened.lists:
        raise _unexplained(name, "a model that reads lists of texts")


def background_rows(rows: Sequence[InputRow], *, seed: int = 0) -> list[InputRow]:
    """Sample BACKGROUND_ROWS of the rows, or return all if there are fewer."""
    kept = np.random.default_rng(seed).permutation(len(rows))[:BACKGROUND_ROWS]
    return [rows[index] for index in np.sort(kept)]


def _unexplained(name: str, received: str, remedy: str = "") -> ConfigError:
    return ConfigError(
        "the predictions of the model cannot be explained",
        where=name,
        expected="a model that predicts a label, labels, or a number from texts or columns",
        received=received,
        remedy=remedy,
    )


def read_rows(
    opened: Predictor, path: str, *, format: InputKind | None = None, most: int | None = None
) -> list[InputRow]:
    """Read rows, at most `most`; the first invalid row is an error."""
    rows = input_rows.read(path, opened.trained_on, kind=format, lists=opened.lists)
    found = []
    for row in itertools.islice(rows, most):
        if row.problem:
            raise row.problem
        found.append(row)
    return found


def _line(explanation: Explanation) -> str:
    return json.dumps(explanation.line(), ensure_ascii=False) + "\n"


def _row_of_text(opened: Predictor, text: str, name: str) -> InputRow:
    if len(opened.trained_on.columns) > 1 or opened.numeric:
        raise ConfigError(
            "a text is only one of the inputs of the model",
            where=name,
            expected=f"a file with {listed(opened.trained_on.columns)}: --input FILE",
            received="a text",
        )
    return InputRow(dict.fromkeys(opened.trained_on.columns, text), "the text")


def _index(label: str, labels: Sequence[str], name: str) -> int:
    if label not in labels:
        raise ConfigError(
            "the model has no such label" if labels else "the model predicts a number: it has no labels",
            where=name,
            expected=f"one of {listed(labels)}" if labels else "no --label",
            received=repr(label),
            remedy=nearest(label, labels),
        )
    return list(labels).index(label)


def _predicted(served: ServedEnsemble, row: dict[str, Any]) -> int | None:
    """Return the index of the predicted label, or of the highest score of several labels; None for a number."""
    [found] = served.predict_each([row])
    if LABEL_IDS in found:
        return int(found[LABEL_IDS][0])
    return int(np.argmax(found["scores"][0])) if "scores" in found else None


def raw_rows(rows: Sequence[InputRow]) -> list[dict[str, Any]]:
    """Return rows as the raw rows of a split: their location and inputs."""
    return [{"row": row.where, **row.fields} for row in rows]


def typical_rows(opened: Predictor) -> list[dict[str, Any]]:
    """Sample rows from the statistics of the training rows; none if the model has no statistics."""
    path = opened.folder / "assets.extra" / STATISTICS if isinstance(opened, LocalModel) else None
    if path is None or not path.is_file():
        return []
    rows = InputStatistics.read(path, remedy=EXPORT_AGAIN).sample(BACKGROUND_ROWS, seed=0)
    return [{"row": STATISTICS, **row} for row in rows]
