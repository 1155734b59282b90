"""The content of tokenizer.json, the file of the `tokenizers` package, as pieces in the graph and special tokens."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tokenizers import normalizers

from tfattn.errors import DataError, listed
from tfattn.preprocessing import sentencepiece_proto as proto
from tfattn.preprocessing.byte_pieces import BytePieces
from tfattn.preprocessing.byte_vocabulary import CHARACTERS, ByteVocabulary, tokens_by_id, unmerged_tokens
from tfattn.preprocessing.encoder_tokens import TextPieces
from tfattn.preprocessing.marked_pieces import MarkedPieces
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.special_tokens import SpecialTokens
from tfattn.preprocessing.text_normalization import CHARACTER_STEPS, FORMS, Step
from tfattn.preprocessing.unigram_pieces import SPACE, UnigramPieces
from tfattn.preprocessing.vocabulary import CONTINUES, MAX_WORD_LENGTH, Vocabulary

MASKS = ("[MASK]", "<mask>")

# The supported values of settings, by component; a setting that is not given has the first value.
_WORDPIECE = {
    "continuing_subword_prefix": (CONTINUES,),
    "max_input_chars_per_word": (MAX_WORD_LENGTH,),
}
_BERT_NORMALIZER = {"clean_text": (True,), "handle_chinese_chars": (True,)}
_BPE = {
    "dropout": (None, 0.0),
    "continuing_subword_prefix": ("", None),
    "end_of_word_suffix": ("", None),
    "byte_fallback": (False,),
    "ignore_merges": (False,),
}
_BYTE_LEVEL = {"use_regex": (True,)}
_UNIGRAM = {"byte_fallback": (False,)}
_METASPACE = {"replacement": (SPACE,)}
_ADDED = {"single_word": (False,), "lstrip": (False,), "rstrip": (False,)}

_WHITE_SPACE = "\t\n\x0b\x0c\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_RUNS = (" {2,}", r"\s{2,}|[\n\r\t]")  # patterns that a blank replaces: SentencePiece itself joins blanks


class Tokenizer(NamedTuple):
    """The pieces of a tokenizer, and the special tokens of sequences."""

    pieces: TextPieces
    special: SpecialTokens


class _Component(NamedTuple):
    """A part of the file: its settings, and its name in messages."""

    values: Mapping[str, Any]
    name: str
    where: str

    @property
    def kind(self) -> str:
        return str(self.values.get("type"))

    def require(self, supported: Mapping[str, tuple]) -> None:
        """Refuse settings that the graph does not have."""
        for key, values in supported.items():
            if (received := self.values.get(key, values[0])) not in values:
                raise self.unsupported(f"{key} to be {values[0]!r}", repr(received), key)

    def unsupported(self, expected: str, received: str, key: str = "") -> DataError:
        path = f"{self.name}.{key}" if key else self.name
        return DataError(
            "the tokenizer is not supported",
            where=f"{self.where}: {path}",
            expected=expected,
            received=received[:80],
            remedy="Use weights with another tokenizer.",
        )


def read_tokenizer(text: str, *, where: str, mask: str | None = None, size: int = 0) -> Tokenizer:
    """Read the content of a tokenizer.json.

    Args:
        text: the content.
        where: the file, for messages.
        mask: the mask token; by default [MASK] or <mask>, if the tokenizer has it.
        size: the minimum number of tokens: further ids get names of unused tokens.

    Raises:
        DataError: the content is damaged, or the tokenizer has a part that is not supported; names the part.
    """
    try:
        content = json.loads(text)
        components = {name: _Component(content.get(name) or {}, name, where) for name in _PARTS}
        added = {token["content"]: token for token in content.get("added_tokens") or ()}
        known = max([len(content["model"]["vocab"]) - 1, *(token["id"] for token in added.values())]) + 1
        added |= {f"<unused_{number}>": {"id": number, "special": True} for number in range(known, size)}
        make = _MODELS.get(kind := _algorithm(components["model"]))
        if make is None:
            raise components["model"].unsupported(listed(_MODELS), kind)
        special = _special(components["post_processor"], added, mask)
        pieces = make(components, added, special)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise DataError(
            "cannot be read as a tokenizer", where=where, received=f"{type(error).__name__}: {error}"[:80]
        ) from None
    missing = [name for name in (special.start, special.end) if name not in pieces.tokens]
    if missing:
        raise DataError(
            "the vocabulary lacks special tokens", where=where, expected=listed(missing), received="no such tokens"
        )
    found = {name: token for name, token in added.items() if name not in special.names and not token.get("special")}
    for name, token in found.items():
        _Component(token, f"added_tokens.{name}", where).require(_ADDED)
    ids = {name: pieces.tokens.index(name) for name in found}
    return Tokenizer(MarkedPieces(pieces, ids) if ids else pieces, special)


def _algorithm(model: _Component) -> str:
    """Return the kind of a model; older files do not name it."""
    keys = {"merges": "BPE", "unk_id": "Unigram", "max_input_chars_per_word": "WordPiece"}
    return str(model.values.get("type") or next((kind for key, kind in keys.items() if key in model.values), None))


def _wordpiece(parts: Mapping[str, _Component], added: Mapping[str, Any], special: SpecialTokens) -> TextPieces:
    model, normalizer = parts["model"], parts["normalizer"]
    model.require(_WORDPIECE)
    for part, kind in ((normalizer, "BertNormalizer"), (parts["pre_tokenizer"], "BertPreTokenizer")):
        if part.kind != kind:
            raise part.unsupported(kind, part.kind)
    normalizer.require(_BERT_NORMALIZER)
    lower_case, strip_accents = (normalizer.values.get(key) for key in ("lowercase", "strip_accents"))
    tokens = tokens_by_id(_ids(model.values["vocab"], added), model.where)
    return Pieces(
        Vocabulary(tokens),
        lower_case=bool(lower_case),
        strip_accents=bool(lower_case if strip_accents is None else strip_accents),
        unknown=model.values["unk_token"],
    )


def _bpe(parts: Mapping[str, _Component], added: Mapping[str, Any], special: SpecialTokens) -> TextPieces:
    model, members = parts["model"], list(_sequence(parts["pre_tokenizer"], "pretokenizers"))
    model.require(_BPE)
    if [part.kind for part in members] != ["ByteLevel"]:
        raise parts["pre_tokenizer"].unsupported("ByteLevel", listed(part.kind for part in members) or "none")
    members[0].require(_BYTE_LEVEL)
    steps = []
    for part in _sequence(parts["normalizer"], "normalizers"):
        if part.kind not in FORMS:
            raise part.unsupported(listed(FORMS), part.kind)
        steps.append(Step("form", (part.kind,)))
    steps += [Step("prefix")] if members[0].values.get("add_prefix_space", True) else []
    pairs = [tuple(merge.split(" ") if isinstance(merge, str) else merge) for merge in model.values["merges"]]
    tokens = tokens_by_id(_ids(model.values["vocab"], added), model.where)
    vocabulary = ByteVocabulary(tokens, tuple(pairs), tuple(unmerged_tokens(tokens, pairs)))
    vocabulary.check(model.where, lambda rank: f"{model.where}: merge {rank}")
    if missing := [character for character in CHARACTERS if character not in tokens]:
        raise model.unsupported("tokens of all 256 bytes", f"no token of {len(missing)} bytes", "vocab")
    return BytePieces(vocabulary, pattern="gpt2", steps=steps)


def _unigram(parts: Mapping[str, _Component], added: Mapping[str, Any], special: SpecialTokens) -> TextPieces:
    model = parts["model"]
    model.require(_UNIGRAM)
    pieces = [(str(text), float(score)) for text, score in model.values["vocab"]]
    steps, rules = _normalization(parts["normalizer"])
    adds_prefix, splits = None, False
    for part in _sequence(parts["pre_tokenizer"], "pretokenizers"):
        if part.kind == "WhitespaceSplit":
            steps, splits = [*steps, *_white_space(rules)], True
        elif part.kind == "Metaspace":
            part.require(_METASPACE)
            scheme = part.values.get(
                "prepend_scheme", "always" if part.values.get("add_prefix_space", True) else "never"
            )
            if scheme not in ("always", "never"):
                raise part.unsupported("prepend_scheme to be always or never", str(scheme), "prepend_scheme")
            adds_prefix = scheme == "always"
        else:
            raise part.unsupported("WhitespaceSplit, Metaspace", part.kind)
    if adds_prefix is None or not (splits or _joins_blanks(parts["normalizer"])):
        raise parts["pre_tokenizer"].unsupported(
            "Metaspace, after WhitespaceSplit or a normalizer that joins blanks", parts["pre_tokenizer"].kind
        )
    names = {text for text, _ in pieces}
    after = sorted((token["id"], name) for name, token in added.items() if name not in names)
    if [number for number, _ in after] != list(range(len(pieces), len(pieces) + len(after))):
        raise model.unsupported(f"added tokens with ids from {len(pieces)}", listed(name for _, name in after), "vocab")
    return UnigramPieces(
        pieces,
        unknown_id=int(model.values["unk_id"]),
        special=[*special.names, *(name for name, token in added.items() if token.get("special"))],
        added=[name for _, name in after],
        steps=steps,
        rules=rules,
        adds_prefix=adds_prefix,
    )


def _normalization(normalizer: _Component) -> tuple[list[Step], bytes]:
    """Return the steps before the compiled rules, and the rules."""
    steps: list[Step] = []
    rules = proto.NO_RULES
    for part in _sequence(normalizer, "normalizers"):
        values = part.values
        pattern, new = values.get("pattern", {}), values.get("content")
        pair = pattern.get("String", "")
        if part.kind == "Precompiled" and rules is proto.NO_RULES:
            rules = base64.b64decode(values["precompiled_charsmap"] or b"") or proto.NO_RULES
            continue
        if part.kind == "Replace" and pattern.get("Regex") in _RUNS and new in (" ", SPACE):
            step = Step("spaces") if pattern["Regex"] != _RUNS[0] else None
        elif part.kind == "Strip":
            step = Step("strip", tuple(end for end in ("left", "right") if values.get(f"strip_{end}")))
        elif rules is not proto.NO_RULES:
            raise part.unsupported("no other normalizer after Precompiled", part.kind)
        elif part.kind in CHARACTER_STEPS:
            step = Step("characters", (part.kind,))
        elif part.kind in FORMS:
            step = Step("form", (part.kind,))
        elif part.kind == "Replace" and len(pair) == 2 and pair[0] == pair[1] and len(new) == 1:
            step = Step("pairs", (pair[0], new))
        else:
            received = part.kind if part.kind != "Replace" else f"Replace {pattern} by {new!r}"
            raise part.unsupported(listed([*CHARACTER_STEPS, *FORMS, "Replace", "Strip", "Precompiled"]), received)
        steps += [] if step is None else [step]
    return steps, rules


def _white_space(rules: bytes) -> list[Step]:
    """Return the step of WhitespaceSplit, which comes after the rules: for white space that they do not change."""
    change = normalizers.Precompiled(rules).normalize_str if rules != proto.NO_RULES else str
    unchanged = tuple(character for character in _WHITE_SPACE if change(character) == character)
    return [Step("blanks", unchanged)] if unchanged else []


def _joins_blanks(normalizer: _Component) -> bool:
    return any(part.values.get("pattern", {}).get("Regex") in _RUNS for part in _sequence(normalizer, "normalizers"))


def _sequence(part: _Component, key: str) -> Iterator[_Component]:
    """Yield the members of a part, in order; the part itself if it is no sequence, nothing if it is not given."""
    if part.kind == "Sequence":
        for index, member in enumerate(part.values[key]):
            yield from _sequence(_Component(member, f"{part.name}.{key}[{index}]", part.where), key)
    elif part.values:
        yield part


def _special(processor: _Component, added: Mapping[str, Any], mask: str | None) -> SpecialTokens:
    """Return the special tokens of sequences."""
    mask = mask or next((name for name in MASKS if name in added), None)
    others = tuple(name for name, token in added.items() if token.get("special"))
    options: dict[str, Any] = {"mask": mask, "others": others}
    options["mask_takes_space"] = bool(mask in added and added[mask].get("lstrip"))
    members = [part for part in _sequence(processor, "processors") if part.kind != "ByteLevel"]
    if len(members) != 1 or members[0].kind not in _PROCESSORS:
        kinds = listed(part.kind for part in members) or "none"
        raise processor.unsupported(listed(_PROCESSORS), kinds)
    (member,) = members
    return SpecialTokens(**options, **_PROCESSORS[member.kind](member))


def _template(part: _Component) -> dict[str, Any]:
    single, pair = ([next(iter(item.items())) for item in part.values[key]] for key in ("single", "pair"))
    names = part.values["special_tokens"]
    kinds = "".join("t" if kind == "Sequence" else "s" for kind, _ in single), [kind for kind, _ in pair]
    separators = len(pair) - 4
    expected = ["SpecialToken", "Sequence", *["SpecialToken"] * separators, "Sequence", "SpecialToken"]
    start, end = single[0][1]["id"], single[-1][1]["id"]
    found = [value["id"] for kind, value in pair if kind == "SpecialToken"]
    if kinds != ("sts", expected) or found != [start, *[end] * (separators + 1)] or not {start, end} <= set(names):
        raise part.unsupported("the templates start A end, and start A end B end", str(part.values["pair"]), "pair")
    return {"start": start, "end": end, "separators": separators, "second_segment": pair[-1][1]["type_id"]}


def _roberta(part: _Component) -> dict[str, Any]:
    return {**_bert(part), "separators": 2, "second_segment": 0}


def _bert(part: _Component) -> dict[str, Any]:
    return {"start": part.values["cls"][0], "end": part.values["sep"][0]}


def _ids(vocabulary: Mapping[str, int], added: Mapping[str, Any]) -> dict[str, int]:
    return {**vocabulary, **{name: token["id"] for name, token in added.items()}}


_PARTS = ("normalizer", "pre_tokenizer", "model", "post_processor")
_MODELS = {"WordPiece": _wordpiece, "BPE": _bpe, "Unigram": _unigram}
_PROCESSORS = {"TemplateProcessing": _template, "RobertaProcessing": _roberta, "BertProcessing": _bert}
