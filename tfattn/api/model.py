"""Predictions of an export or a served model for DataFrames, lists and dictionaries."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfattn.errors import DataError, listed, nearest
from tfattn.features import SOURCE, TEXT
from tfattn.formats import numbers
from tfattn.formats.columns import columns_in, value_of
from tfattn.frames import to_frame, to_rows
from tfattn.litert import Engine
from tfattn.serving import commands
from tfattn.serving.client.input_rows import InputRow
from tfattn.serving.client.output_lines import ERROR
from tfattn.serving.client.predict import BATCH_SIZE, Predictor, predictions

if TYPE_CHECKING:
    import pandas as pd


def load(
    model: str | Path,
    *,
    folder: str | Path = "saved_models",
    token_file: str | Path | None = None,
    engine: Engine = "tensorflow",
) -> "Model":
    """Load an export, or connect to a model on a server.

    Args:
        model: an export's folder, its name in `folder`, or http://HOST:PORT/MODEL or grpc://HOST:PORT/MODEL on a
            server.
        folder: the folder of exports.
        token_file: a file with the bearer token that the server requires.
        engine: what computes an export: "tensorflow", "litert" if it has a LiteRT file, or "auto".

    Raises:
        ServingError: there is no such model, it is damaged, or the server does not respond.

    Example:
        >>> tfattn.load("factory_reports").predict(["Coolant is pooling underneath sorter."])["label"][0]
        'Leak'
    """
    token = Path(token_file) if token_file else None
    return Model(commands.open_model(str(model), Path(folder), token_file=token, engine=engine), name=str(model))


class Model:
    """A model that predicts rows.

    Args:
        predictor: the loaded model, or its connection.
        name: the name for messages.

    Attributes:
        predictor: the loaded model, or its connection.
        columns: the columns that the model reads: input -> column of the training file, or columns of a list of texts.
    """

    def __init__(self, predictor: Predictor, *, name: str):
        self.predictor = predictor
        self.name = name
        self.columns = dict(predictor.trained_on.columns)

    def predict(self, rows: Any, *, batch_size: int = BATCH_SIZE) -> "pd.DataFrame":
        """Predict rows.

        A row has a value for each input of the model, in a column of the input's name or of its name in the training
        file. Other columns are ignored. An image is the path of its file.

        Args:
            rows: a DataFrame; a list, Series or array of texts; a list of dictionaries; or a dictionary, one row.
            batch_size: the number of rows that the model computes together.

        Returns:
            the predictions in the order of the rows, with the index of a DataFrame or Series. A classifier has the
            columns `label`, `label_id`, `score` and `scores.<label>` for each label.

        Raises:
            DataError: a column is missing, or has text instead of numbers; or the model does not accept some rows.
        """
        names = list(self.columns)
        found, index = to_rows(rows, name=names[0] if len(names) == 1 else TEXT)
        inputs = self._inputs(found)
        echoed = {SOURCE if self.predictor.writes_text and name == TEXT else name for name in names}
        lines = predictions(self.predictor, inputs, batch_size=batch_size)
        outputs, problems = [], []
        for line in lines:
            if ERROR in line:
                problems.append(str(line[ERROR]))
            outputs.append({name: value for name, value in line.items() if name not in echoed})
        if problems:
            raise DataError(
                f"{len(problems):,} of {len(found):,} rows have no prediction: {problems[0]}", where=self.name
            )
        return to_frame(outputs, index)

    def explain(
        self,
        rows: Any,
        *,
        background: Any = None,
        label: str | None = None,
        samples: int | None = None,
        max_rows: int = 100,
    ) -> "pd.DataFrame":
        """Explain the predictions of rows: the contribution of each word or column to a score, as Shapley values.

        Args:
            rows: as for `predict`.
            background: of a table, rows to compare with, such as training rows; by default rows are sampled from the
                statistics in the export, each column by itself.
            label: the label whose score is explained; by default the predicted label of each row.
            samples: the number of random orders, each with its reverse; by default 10 of words and 100 of columns.
            max_rows: the maximum number of rows; each takes about a second.

        Returns:
            a row for each word or column: `row`, the number of the row; `explained`, the label or "prediction"; `score`
            and `base`, whose difference is the sum of the contributions; `input` and `words`, or `column` and `value`;
            `contribution`, and `low` and `high`, the ends of its 95 % interval.

        Raises:
            ConfigError: the model has no scores of rows, or does not have the label.
            DataError: there are too many rows, a text is empty, or a table has no background rows.

        Example:
            >>> tfattn.load("factory_reports").explain("Coolant is pooling.")["words"].tolist()
            ['Coolant', 'is', 'pooling.']
        """
        from tfattn.evaluation import explain_rows  # slow to import

        names = list(self.columns)
        text = names[0] if len(names) == 1 else TEXT
        inputs = self._inputs(to_rows(rows, name=text)[0])
        others = None if background is None else self._inputs(to_rows(background, name=text)[0])
        options = {"background": others, "label": label, "samples": samples, "max_rows": max_rows}
        lines = []
        for number, explanation in enumerate(explain_rows.explain(self.predictor, inputs, name=self.name, **options)):
            line = explanation.line()
            same = {"row": number, **{name: line[name] for name in ("explained", "score", "base")}}
            lines += [same | unit for unit in line["units"]]
        return to_frame(lines)

    def _inputs(self, rows: Sequence[Mapping[str, Any]]) -> list[InputRow]:
        missing = {
            name: column
            for name, column in self.columns.items()
            if rows and name not in rows[0] and not set(columns_in(column)) <= rows[0].keys()
        }
        if missing:
            wanted = [" or ".join(dict.fromkeys([*columns_in(column), name])) for name, column in missing.items()]
            raise DataError(
                "the rows lack columns that the model reads",
                where=self.name,
                expected=listed(wanted),
                received=listed(rows[0]) or "no columns",
                remedy=nearest(next(iter(missing)), rows[0]),
            )
        inputs = []
        for number, row in enumerate(rows):
            fields = {}
            for name, column in self.columns.items():
                try:
                    is_given = name in row and not (isinstance(column, str) and column in row)
                    fields[name] = row[name] if is_given else value_of(column, row.__getitem__)
                except KeyError as error:
                    raise DataError("the row lacks a column", where=f"row {number}", expected=str(error)) from None
            inputs.append(InputRow(fields, f"row {number}"))
        self._check_numbers(inputs)
        return inputs

    def _check_numbers(self, rows: Sequence[InputRow]) -> None:
        """Check the numeric columns of all rows, so that a column of another type is a single error."""
        wrong = {
            name: row
            for row in reversed(rows)
            for name in self.predictor.numeric & row.fields.keys()
            if numbers.read(row.fields[name]) is None
            and numbers.stripped(row.fields[name]) not in self.predictor.trained_on.missing
        }
        if wrong:
            found = [f"`{name}` has {row.fields[name]!r} in {row.where}" for name, row in wrong.items()]
            raise DataError(
                "columns of numbers have other values", where=self.name, expected="numbers", received=listed(found)
            )

    def __repr__(self) -> str:
        return f"<Model {self.name}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """Return the name, and the columns that the model reads."""
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{'number' if name in self.predictor.numeric else 'text'}</td></tr>"
            for name in self.columns
        )
        return f"<b>{html.escape(self.name)}</b><table><tr><th>input</th><th>type</th></tr>{rows}</table>"
