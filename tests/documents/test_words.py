"""The documents, configuration files and docstrings use the standard terms of the field."""

import ast
import re

import pytest

from tests.documents.blocks import PROJECT

# Identifiers and names of files that keep a word of the list.
NAMES = re.compile(r"likeliest(?:_log_probability)?`|`likeliest|sentences_from_nothing|[\w/]+/from_nothing\S*")
FOLDERS = {"docs": "*.md", "deploy": "*", "configs": "*.yaml", "pipelines": "*.yaml"}
TEXTS = {
    path.relative_to(PROJECT): NAMES.sub("", path.read_text(encoding="utf-8"))
    for path in [
        PROJECT / "README.md",
        *(path for room, name in FOLDERS.items() for path in (PROJECT / room).rglob(name)),
    ]
    if path.is_file()
}
SOURCES = {
    path.relative_to(PROJECT): NAMES.sub("", path.read_text(encoding="utf-8"))
    for path in (PROJECT / "tfattn").rglob("*.py")
}


def _docstrings(source: str) -> str:
    """Return the docstrings of a module at their lines, with the other lines empty."""
    lines = [""] * source.count("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            text = node.body[0].value
            lines[text.lineno - 1 : text.end_lineno] = text.value.splitlines() or [""]
    return "\n".join(lines)


DOCSTRINGS = {path: _docstrings(source) for path, source in SOURCES.items()}

# Regular expressions of words and idioms, with the term to use.
IDIOMS = {
    r"stands?": "is, means",
    r"tells?": "reports, returns, shows",
    r"told": "reported, unless set otherwise",
    r"in the place of": "instead of",
    r"likeliest|likelier": "most likely, top",
    r"behind": "after",
    r"beside": "next to, in addition to",
    r"beginning|begins": "start",
    r"what it is worth": "score, quality",
    r"(?<!`)nobody|somebody|whoever|anybody|everybody": "any caller, any user",
    r"comes? along": "is included",
    r"anew": "again",
    r"in short": "summary",
    r"models? that writes?": "language models",
    r"hidden (?:words?|tokens?)": "masked tokens",
    r"words by their characters": "character-based word representations",
    r"vectors of words": "word vectors",
    r"from nothing": "from scratch",
    r"choose nothing|chose nothing|chooses nothing": "not used for selection",
    r"learnt": "learned",
    r"those that|those which|that which": "the noun",
    r"of which|of whose|none of whose": "a separate sentence",
    r"knows? of": "has, defines",
    r"kept aside|keeps? aside": "held out",
    r"as ever|whatever": "a plain condition",
    r"side by side": "concatenated, adjacent",
}
# Former identifiers of tfattn/, with the present ones.
FORMER_NAMES = {
    "TwoWayLstm|two_way_lstm|two_ways": "BidirectionalLstm, bidirectional",
    "handed_over": "upstream_gradient",
    "added_in_place": "scatter_add",
    "look_up": "embedding_lookup",
    "doubts": "warnings",
    "MUCH_THE_SAME": "OVERLAP_THRESHOLD",
    "Reliance": "FeatureImportance",
    "lit_images|DARKEST": "attention_overlay, MIN_BRIGHTNESS",
    "Chosen|Listed": "ChoicePredictions, RowFormat",
    "in_short": "summary",
    "an_one|SURE": "indefinite_noun, HIGH_CONFIDENCE",
    "write_rows|LEAVING": "decode_batch, COMPACTION_THRESHOLD",
    "without_newest": "drop_last",
    "deceptive": "shadowed_columns",
    "COLD": "GREEDY_TEMPERATURE",
    "ignores_end": "ignore_eos",
    "StageRecords": "StageLog",
    "_stands": "_is_intact",
    r"layers\.norm": "layers.normalization",
    r"decoding\.threefry": "decoding.counter_rng",
    "DecoderNames": "TensorNames",
    "pair_drawing|pairs_of": "pair_sampling, sample_pairs",
    "ids_of|id_of|bytes_of": "encode, special_token_id, to_bytes",
    "grammar_of|failure_of": "field_grammar, matcher_error",
    "LONGEST_(?:TEXT|ROW|DOCUMENT|SIDE)|MOST_CHARACTERS|FEWEST_READS": "MAX_*, MIN_*",
    "INITIALISERS?": "INITIALIZER",
    "reference_of|strings_of|width_of": "describe_reference, read_strings, text_width",
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_documents_use_standard_terms(idiom):
    found = _locations(TEXTS, re.compile(rf"\b(?:{idiom})\b", re.IGNORECASE))
    assert not found, f"write {IDIOMS[idiom]!r}: {', '.join(found)}"


@pytest.mark.parametrize("idiom", IDIOMS)
def test_docstrings_use_standard_terms(idiom):
    found = _locations(DOCSTRINGS, re.compile(rf"\b(?:{idiom})\b", re.IGNORECASE))
    assert not found, f"write {IDIOMS[idiom]!r}: {', '.join(found)}"


@pytest.mark.parametrize("name", FORMER_NAMES)
def test_former_names_do_not_occur(name):
    found = _locations({**SOURCES, **TEXTS}, re.compile(rf"\b(?:{name})\b"))
    assert not found, f"write {FORMER_NAMES[name]!r}: {', '.join(found)}"


def _locations(texts, pattern):
    """Return path:line of each match."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        for path, text in texts.items()
        for match in pattern.finditer(text)
    ]
