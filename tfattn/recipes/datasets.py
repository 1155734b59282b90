"""Recognition of data: a table, parallel texts, images, tagged words, questions, or chats; and the plan for it."""

import re
from collections.abc import Sequence
from pathlib import Path

from tfattn import files
from tfattn.errors import ConfigError, DataError, listed
from tfattn.features import INPUT, INSTRUCTION, MESSAGES, OUTPUT
from tfattn.recipes.annotated_texts import is_conll, is_squad, plan_answers, plan_tags
from tfattn.recipes.columns import detect_column
from tfattn.recipes.generated_texts import plan_chats, plan_pairs, plan_parallel
from tfattn.recipes.image_folders import is_archive, plan_images
from tfattn.recipes.plan import Plan
from tfattn.recipes.samples import read_sample
from tfattn.recipes.tables import found_in, plan_table
from tfattn.recipes.targets import TARGET_NAMES
from tfattn.recipes.text_tables import Ask

_TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".json")


def plan_data(paths: Sequence[str], *, target: str | None = None, delimiter: str | None = None, ask: Ask) -> Plan:
    """Recognize data, and plan a pipeline for it.

    Args:
        paths: a file or folder, or two files of parallel texts.
        target: the column to predict, if the user has given it.
        delimiter: the delimiter of columns, if the user has given it.
        ask: asks what cannot be detected.

    Raises:
        DataError: the data cannot be read or used; says why.
        ConfigError: something is ambiguous, and `ask` cannot ask.
    """
    if len(paths) > 2:
        raise ConfigError(
            "too many files", expected="a file or folder, or two files of parallel texts", received=str(len(paths))
        )
    if len(paths) == 2:
        if any(_suffix(path) in _TABLE_SUFFIXES for path in paths):
            raise ConfigError(
                "two files are parallel texts",
                expected="plain text, where line n of the one file belongs to line n of the other",
                received=listed(paths),
                remedy="For a table give one file; a second one is `data.validation_source`.",
            )
        return plan_parallel(pipeline_name(paths[0]), *paths)
    [path] = paths
    name = pipeline_name(path)
    if Path(path).is_dir() or is_archive(path):
        return plan_images(name, path)
    suffix = _suffix(path)
    if suffix == ".json" and is_squad(path):
        return plan_answers(name, path)
    if suffix not in _TABLE_SUFFIXES and is_conll(path):
        return plan_tags(name, path)
    sample = read_sample(path, delimiter=delimiter, ask=ask)
    if sample.num_sampled == 0:
        raise DataError("the file has no rows", where=path)
    columns = [detect_column(each, values) for each, values in sample.columns.items()]
    if target is None:
        if messages := next((column for column in columns if column.kind == "messages"), None):
            return plan_chats(name, sample, {MESSAGES: messages.name}, found_in(sample))
        if {INSTRUCTION, OUTPUT} <= sample.columns.keys():
            roles = (role for role in (INSTRUCTION, INPUT, OUTPUT) if role in sample.columns)
            return plan_chats(name, sample, {role: role for role in roles}, found_in(sample))
        texts = [column.name for column in columns if column.kind in ("text", "names")]
        others = [column for column in columns if column.kind in ("category", "number", "list")]
        is_named = any(name.lower() in TARGET_NAMES for name in texts)
        if len(texts) == 2 and not others and not is_named:
            return plan_pairs(name, sample, texts, found_in(sample))
    return plan_table(name, sample, columns, target=target, ask=ask)


def pipeline_name(path: str) -> str:
    """Return a name of a pipeline for a file or folder.

    Example:
        >>> pipeline_name("data/Meine Titel.csv.gz")
        'meine_titel'
    """
    stem = Path(path).name.split(".")[0].lower()
    return re.sub(r"[^a-z0-9_-]+", "_", stem).strip("_-") or "model"


def _suffix(path: str) -> str:
    return files.unpacked(path).suffix.lower()
