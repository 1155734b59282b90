"""Plans for texts with annotations inside: tagged words (CoNLL), and answers to questions (SQuAD)."""

import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats.conll_files import DOCUMENT
from tfattn.formats.text_files import lines
from tfattn.recipes.plan import Plan
from tfattn.recipes.samples import MAX_ROWS
from tfattn.recipes.stretches import LARGE_BYTES
from tfattn.recipes.text_encoders import add_encoder, choose_encoder
from tfattn.recipes.text_tables import detect_encoding

_TAG = re.compile(r"O|[BIES]-\S+")
_BLANKS = re.compile("[ \t]+")
HEAD_LINES = 5_000
NUM_WINDOWS = 2  # of a long text, per maximum length


def is_conll(path: str) -> bool:
    """Return whether a text file has a word and its tag per line, with blank lines between sentences."""
    file = files.unpacked(path)
    encoding, _ = detect_encoding(file)
    head = [line.strip() for line in islice(lines(file, encoding), HEAD_LINES)]
    words = [_BLANKS.split(line) for line in head if line and not line.startswith((DOCUMENT, "#"))]
    tagged = sum(len(word) > 1 and _TAG.fullmatch(word[-1]) is not None for word in words)
    return bool(words) and tagged > 0.98 * len(words) and any(word[-1] != "O" for word in words)


def plan_tags(name: str, path: str) -> Plan:
    """Plan a tagger for a file in CoNLL format."""
    file = files.unpacked(path)
    encoding, reason = detect_encoding(file)
    sentences, num_rows = _sentences(file, encoding)
    tags = [[word[-1] for word in sentence] for sentence in sentences]
    scheme, why = _scheme(tags)
    characters = sum(len(word[0]) == 1 for sentence in sentences for word in sentence)
    spaces = characters < 0.7 * sum(map(len, sentences))
    source: dict[str, Any] = {"name": "conll", "path": path, "fields": {"text": 1, "tags": -1}, "scheme": scheme}
    types = sorted({tag[2:] for sentence in tags for tag in sentence if tag != "O"})
    plan = Plan(
        f"Find entities in texts: {', '.join(types[:8])}{' and others' * (len(types) > 8)}.",
        f"{path}: {num_rows:,} sentences with tagged words",
        {"name": name, "data": {"source": source}, "task": {"name": "token_classification"}},
        {"data.source.scheme": why},
    )
    if not spaces:
        source["spaces"], plan.reasons["data.source.spaces"] = False, "nearly all words are single characters"
    if encoding != "utf-8":
        source["encoding"], plan.reasons["data.source.encoding"] = encoding, reason
    plan.values["data"] |= {"split": {"validation": 0.2 if num_rows < 10_000 else 0.1}, "preprocessing": {}}
    encoder = choose_encoder([[(" " if spaces else "").join(word[0] for word in sentence)] for sentence in sentences])
    add_encoder(plan, encoder, num_rows)
    if encoder.pretrained:  # longer texts are read in windows
        plan.values["data"]["preprocessing"]["doc_stride"] = encoder.max_length // NUM_WINDOWS
    else:
        plan.values["task"].pop("dropout", None)
    return plan


def is_squad(path: str) -> bool:
    """Return whether a JSON file is in the format of SQuAD; False if each line is an object.

    Raises:
        DataError: it is neither; says how to convert a list of objects.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        value = json.loads(text)
    except (ValueError, OSError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data" and text.startswith("{"):
            return False
        raise DataError(f"the file is not JSON ({error})", where=path) from None
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        return True
    raise DataError(
        "the file is not in the format of SQuAD",
        where=path,
        expected='{"data": [{"paragraphs": ...}]}',
        received="a list" if isinstance(value, list) else "other JSON",
        remedy="Write one object per line: jq -c '.[]' FILE.json > FILE.jsonl",
    )


def plan_answers(name: str, path: str) -> Plan:
    """Plan a model that finds answers in paragraphs, for a file in SQuAD format."""
    from tfattn.formats.squad_files import SquadFile

    rows = list(SquadFile(path=path).rows())
    texts = [[row.fields["question"], row.fields["context"]] for row in rows]
    titles = {row.fields["title"] for row in rows}
    group = "title" if len(titles) >= 10 else "context"
    plan = Plan(
        "Find the answer to a question in a text.",
        f"{path}: {len(rows):,} questions about {len({t for _, t in texts}):,} texts",
        {
            "name": name,
            "data": {
                "source": {"name": "squad", "path": path},
                "split": {"validation": 0.2, "group": group},
                "preprocessing": {"fields": ["question", "context"]},
            },
            "task": {"name": "question_answering"},
        },
        {"data.split.group": f"all questions about a {group} are in one part"},
    )
    encoder = choose_encoder(texts[:MAX_ROWS])
    add_encoder(plan, encoder, len(rows))
    plan.values["data"]["targets"] = {"misplaced": "find"}
    plan.values["data"]["preprocessing"] |= {
        "doc_stride": encoder.max_length // 2,
        "max_query_length": encoder.max_length // 4,
    }
    plan.values["task"].pop("dropout", None)
    if encoder.language == "Chinese":
        plan.values["task"]["units"] = "characters"
    return plan


def _sentences(file: files.AnyPath, encoding: str) -> tuple[list[list[list[str]]], int]:
    """Read the first sentences, each a list of lines split into columns, and count all of them."""
    sentences: list[list[list[str]]] = [[]]
    count = size = 0
    for line in lines(file, encoding):
        text = line.strip()
        size += len(line)
        if text and not text.startswith(DOCUMENT):
            if not sentences[-1]:
                count += 1
            if len(sentences) <= MAX_ROWS:
                sentences[-1].append(_BLANKS.split(text))
            else:
                sentences[-1] = [[text]]
        elif sentences[-1] and len(sentences) <= MAX_ROWS:
            sentences.append([])
        elif not text:
            sentences[-1] = []
        if size > LARGE_BYTES:
            break
    return [sentence for sentence in sentences[:MAX_ROWS] if sentence], count


def _scheme(sentences: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Detect the tagging scheme, and the reason."""
    if any(tag.startswith(("S-", "E-")) for tags in sentences for tag in tags):
        return "bioes", "there are tags S- and E-"
    for tags in sentences:
        for before, tag in zip(["O", *tags], tags, strict=False):
            if tag.startswith("I-") and before[2:] != tag[2:]:
                return "iob1", f"{tag} starts an entity after {before}"
    return "iob2", "every entity starts with a tag B-"
