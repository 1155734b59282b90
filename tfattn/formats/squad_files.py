"""Questions, contexts and answers in the JSON format of SQuAD 1.1 and 2.0."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats.columns import Columns
from tfattn.formats.limits import MAX_TEXT_LENGTH, too_long
from tfattn.formats.parts import Part
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import check_is_file
from tfattn.formats.training_file import FileFormat

MAX_BYTES = 1 << 30  # the whole file is in memory
ANSWERS = "answers"
FIELDS = ("question", "context", ANSWERS, "title", "id")


class SquadFile(Source):
    """A file in the format of SQuAD. A row is a question.

    Roles are `question`, `context`, `answers`, a list of {"text": ..., "start": ...} that is empty for unanswerable
    questions, `title` of the article, and `id`. The location `train.json:17` is the seventeenth question.

    Args:
        path: the file, or its remote address: gs://bucket/train-v2.0.json; names with .gz or .bz2 are decompressed.

    Example:
        source = SquadFile(path="train-v1.1.json")
        for row in source.rows():
            print(row.where, row.fields["question"], row.fields["answers"])
    """

    def __init__(self, *, path: str):
        self.path = files.unpacked(path)
        self.fields = {name: name for name in FIELDS}
        self.format = FileFormat("squad")

    @classmethod
    def of_inputs(cls, path: str, columns: Mapping[str, Columns], how: FileFormat) -> "SquadFile":
        """Open a file whose questions may have no answers."""
        source = cls(path=path)
        source.fields = {name: name for name in FIELDS if name != ANSWERS}
        return source

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every question, in the order of the file.

        Raises:
            DataError: the file cannot be read, or is not in this format; names the article, paragraph and question.
        """
        number = 0
        for location, article in _each(self._read(), "data", str(self.path)):
            title = _text(article, "title", location) if "title" in article else ""
            for inner, paragraph in _each(article, "paragraphs", location):
                context = _text(paragraph, "context", inner)
                for where, question in _each(paragraph, "qas", inner):
                    number += 1
                    fields = {
                        "question": _text(question, "question", where),
                        "context": context,
                        "title": title,
                        "id": str(question.get("id", "")),
                    }
                    if ANSWERS in self.fields:
                        fields[ANSWERS] = _answers(question, where)
                    yield Row(fields, f"{self.path}:{number}")
        if not number:
            raise DataError("the file holds no questions", where=str(self.path))

    def _read(self) -> dict[str, Any]:
        check_is_file(self.path)
        try:
            with self.path.open("rb") as file:
                text = file.read(MAX_BYTES + 1)
            if len(text) > MAX_BYTES:
                raise DataError(
                    "the file is too large",
                    where=str(self.path),
                    expected=f"at most {MAX_BYTES:,} bytes",
                    remedy="Divide it by articles.",
                )
            found = json.loads(text.decode("utf-8-sig"))
        except OSError as error:
            raise DataError(
                f"cannot read the file ({error.strerror})", where=str(self.path), remedy=files.similar_path(self.path)
            ) from None
        except (ValueError, RecursionError) as error:
            raise DataError(f"the file is not JSON ({error})", where=str(self.path)) from None
        if not isinstance(found, dict):
            raise DataError("the file is not in the format of SQuAD", where=str(self.path), expected='{"data": [...]}')
        return found


def _each(inside: dict[str, Any], key: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list with their locations."""
    entries = inside.get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(
            f"there is no list of objects under `{key}`",
            where=where,
            expected=f'{{"{key}": [{{...}}]}}',
            received="other keys: " + ", ".join(inside) if key not in inside else json.dumps(entries)[:40],
            remedy="The format of SQuAD has data, paragraphs, context, qas and answers.",
        )
    return ((f"{where}: {key}[{number}]", entry) for number, entry in enumerate(entries))


def _answers(question: dict[str, Any], where: str) -> list[dict[str, Any]]:
    answers = []
    if question.get("is_impossible") is not True:
        for location, answer in _each(question, ANSWERS, where):
            start = answer.get("answer_start")
            if type(start) is not int:
                raise DataError(
                    "`answer_start` is not an integer",
                    where=location,
                    expected="an offset in the context",
                    received=json.dumps(start)[:40],
                )
            answers.append({"text": _text(answer, "text", location), "start": start})
    return answers


def _text(inside: dict[str, Any], key: str, where: str) -> str:
    value = inside.get(key)
    if not isinstance(value, str):
        raise DataError(f"`{key}` is not a text", where=where, expected="text", received=json.dumps(value)[:40])
    if len(value) > MAX_TEXT_LENGTH:
        raise too_long(f"`{key}`", where, MAX_TEXT_LENGTH)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(f"`{key}` has half of a surrogate pair", where=where, remedy="Repair the file.")
    return value
