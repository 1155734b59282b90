"""Tokenizers of folders: ids equal to the package `tokenizers`, special tokens, starts, chats and refusals."""

import json

import pytest
import sentencepiece
import tensorflow as tf
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from tests.preprocessing.test_piece_bpe import converted, trained
from tests.preprocessing.test_pre_tokenizer import REFERENCES
from tests.pretrained.decoders import END, MERGES, SPECIAL, TOKENS
from tfattn import registry
from tfattn.errors import CheckpointError, DataError
from tfattn.pretrained.hugging_face_tokens import read_tokens

SIZE = len(TOKENS)
TEXTS = [
    "The pump's pumps 1919, at 19\n\n",
    "",
    " ",
    "  IT'S\tpump!\r\n  ",
    "é e\u0301 Å A\u030a 한국어 가 가",
    "泵漏了，👩‍👩‍👧 \u200d\ufeff\u00a0\u0085\u2028x",
    "<|im_start|x <think>pump</think>",
    "'ſ 'LL 12345 ½ ٣٤٥ \0",
]
NFC = {"llama3": None, "qwen2": normalizers.NFC(), "gpt2": normalizers.NFC(), "digits": None}


def byte_level(pattern="gpt2", merges=MERGES, normalizer=None, ids=None, **options):
    """Return a tokenizer of byte-level BPE without special tokens."""
    known = {token: number for number, token in enumerate(TOKENS) if not token.startswith("<|im")}
    found = Tokenizer(models.BPE(ids or known, merges, **options))
    found.pre_tokenizer = REFERENCES[pattern]
    if normalizer is not None:
        found.normalizer = normalizer
    return found


def save(found, folder, *, special=SPECIAL, text_tokens=(), settings=None):
    """Write tokenizer.json and tokenizer_config.json."""
    found.add_special_tokens([AddedToken(token, special=True) for token in special])
    found.add_tokens([AddedToken(token, special=False, normalized=False) for token in text_tokens])
    found.save(str(folder / "tokenizer.json"))
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def adopted(read):
    tokenizer = registry.find("preprocessors", read.preprocessor)(vocabulary="pretrained")
    tokenizer.adopt(**read.arguments)
    tokenizer.fit([])
    return tokenizer


@pytest.mark.parametrize("normalizes", [False, True], ids=["as they are", "NFC"])
@pytest.mark.parametrize("pattern", REFERENCES)
def test_ids_equal_the_package(tmp_path, pattern, normalizes):
    normalizer = normalizers.NFC() if normalizes else None
    expected = byte_level(pattern, normalizer=normalizer)
    save(byte_level(pattern, normalizer=normalizer), tmp_path)
    read = read_tokens(tmp_path, {"eos_token_id": [SIZE - 1, 0]}, size=SIZE)
    found = adopted(read)
    assert (read.preprocessor, found.pattern, found.end_token) == ("byte_bpe", pattern, "<|im_end|>")
    assert set(read.arguments["vocabulary"].special) == set(SPECIAL)
    assert found.split(tf.constant(TEXTS)).to_list() == [one.ids for one in expected.encode_batch(TEXTS)]
    assert found.end_id == SIZE - 1 and found.chat_template() is not None


def test_text_tokens_are_found_in_texts(tmp_path):
    added = ("<think>", "</think>", "  ", "    ")
    expected = byte_level("qwen2", normalizer=normalizers.NFC())
    save(expected, tmp_path, special=(END,), text_tokens=added)
    read = read_tokens(tmp_path, {"eos_token_id": 0}, size=SIZE + 8)
    found = adopted(read)
    texts = [*TEXTS, "a     b      c", "<think></think>"]
    assert found.split(tf.constant(texts)).to_list() == [one.ids for one in expected.encode_batch(texts)]
    assert found.detokenize(found.split(tf.constant(["a    <think> b"]))).numpy().tolist() == [b"a    <think> b"]
    assert len(found.tokens) == SIZE + 8 and found.tokens[-1] == f"<|unused_{SIZE + 7}|>"
    assert SIZE + 7 in found.suppressed_ids


def test_pieces_that_are_tokens_are_not_merged(tmp_path):
    ids = {token: number for number, token in enumerate([*TOKENS[:-2], "pumps", "19pump"])}
    expected = byte_level("llama3", ids=ids, ignore_merges=True)
    save(byte_level("llama3", ids=ids, ignore_merges=True), tmp_path, special=(END,))
    found = adopted(read_tokens(tmp_path, {"eos_token_id": 0}, size=len(ids)))
    texts = ["pumps pumps", "xpumps", "19pump", *TEXTS]
    assert found.split(tf.constant(texts)).to_list() == [one.ids for one in expected.encode_batch(texts)]
    assert ids["pumps"] in found.split(tf.constant(["pumps"])).to_list()[0]


@pytest.mark.parametrize("kind", ["llama", "gemma"])
@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer.model"])
def test_ids_of_whole_texts_equal_the_packages(tmp_path, kind, file):
    reference = sentencepiece.SentencePieceProcessor(model_proto=trained(kind))
    size = reference.vocab_size() + 3
    settings = {"eos_token": "</s>", "bos_token": "<s>", "add_bos_token": True}
    if file == "tokenizer.json":
        converted(kind).save(str(tmp_path / file))
        known = json.loads((tmp_path / file).read_text())
        rows = {"<unk>": reference.unk_id(), "<s>": reference.bos_id(), "</s>": reference.eos_id()}
        known["added_tokens"] += [{"id": row, "content": name, "special": True} for name, row in rows.items()]
        (tmp_path / file).write_text(json.dumps(known))
    else:
        (tmp_path / file).write_bytes(trained(kind))
        added = {str(size - 3): {"content": "<|end|>", "special": True}}
        settings["added_tokens_decoder"] = added
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    read = read_tokens(tmp_path, {}, size=size)
    found = adopted(read)
    assert (read.preprocessor, found.start_ids, found.end_id) == (
        "piece_bpe",
        (reference.bos_id(),),
        reference.eos_id(),
    )
    texts = [*TEXTS, "  two\n\n\n blanks", "<table>"]
    documents = found.split_documents(tf.constant(texts)).to_list()
    assert documents == [[reference.bos_id(), *reference.encode(text)] for text in texts]
    assert found.sizes == {"vocabulary_size": size} and found.chat_template() is None
    assert file == "tokenizer.json" or found.special_token_id("<|end|>") == size - 3


@pytest.mark.parametrize("scheme", ["first", "always", "never"])
def test_prefixes_of_metaspace(tmp_path, scheme):
    found = converted("llama")
    known = json.loads(found.to_str())
    known["normalizer"] = None
    known["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": False}
    expected = Tokenizer.from_str(json.dumps(known))
    known["added_tokens"] = [
        {"id": row, "content": name, "special": True} for row, name in enumerate(("<unk>", "<s>", "</s>"))
    ]
    (tmp_path / "tokenizer.json").write_text(json.dumps(known))
    ours = adopted(read_tokens(tmp_path, {"eos_token_id": 2}, size=len(known["model"]["vocab"])))
    texts = ["pump", " pump", "▁pump", "", "\npump"]
    assert ours.split_documents(tf.constant(texts)).to_list() == [one.ids for one in expected.encode_batch(texts)]


@pytest.mark.parametrize(
    ("settings", "template", "start"),
    [
        ({}, None, None),
        ({}, END, END),
        ({"add_bos_token": False}, END, None),
        ({"add_bos_token": True, "bos_token": {"content": "<|im_start|>"}}, None, "<|im_start|>"),
    ],
)
def test_the_start_token(tmp_path, settings, template, start):
    found = byte_level()
    if template is not None:
        parts = {"single": f"{template} $A", "special_tokens": [(template, 0)]}
        byte_step = processors.ByteLevel(trim_offsets=False)
        found.post_processor = processors.Sequence([byte_step, processors.TemplateProcessing(**parts)])
    save(found, tmp_path, settings={"eos_token": "<|im_end|>", **settings})
    ours = adopted(read_tokens(tmp_path, {}, size=SIZE))
    assert (ours.start_token, ours.end_token) == (start, "<|im_end|>")
    (ids,) = ours({"text": tf.constant(["pump"])})["token_ids"].to_list()
    assert ids == [*ours.start_ids, TOKENS.index("pump")]


@pytest.mark.parametrize(
    ("files", "settings", "expected"),
    [
        ({}, {}, "chatml"),
        ({}, {"chat_template": "<|start_header_id|>"}, "llama3"),
        ({}, {"chat_template": [{"name": "tools", "template": "x"}, {"name": "default", "template": "[INST]"}]},
         "mistral_v3"),
        ({"chat_template.jinja": "<start_of_turn>"}, {"chat_template": "x"}, "gemma"),
        ({}, {"chat_template": "<|user|>"}, None),
    ],
)  # fmt: skip
def test_the_format_of_chats(tmp_path, files, settings, expected):
    save(byte_level(), tmp_path, settings={"eos_token": END, **settings})
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert adopted(read_tokens(tmp_path, {}, size=SIZE)).chat_format == expected


@pytest.mark.parametrize(("kind", "pattern"), [("GPT2Tokenizer", "gpt2"), ("Qwen2Tokenizer", "qwen2")])
def test_two_files_of_a_vocabulary(tmp_path, kind, pattern):
    (tmp_path / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(TOKENS[:-2])}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES))
    added = {str(SIZE - 2): {"content": SPECIAL[1], "special": True}}
    settings = {"tokenizer_class": kind, "eos_token": END, "added_tokens_decoder": added}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    ours = adopted(read_tokens(tmp_path, {}, size=SIZE))
    expected = byte_level(pattern, normalizer=normalizers.NFC() if pattern == "qwen2" else None)
    assert ours.split(tf.constant(TEXTS)).to_list() == [one.ids for one in expected.encode_batch(TEXTS)]
    assert ours.special_token_id(SPECIAL[1]) == SIZE - 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda known: setattr(known, "pre_tokenizer", pre_tokenizers.Whitespace()),
            "expected byte-level BPE, or BPE of texts with ▁ for blanks, received .*Whitespace",
        ),
        (
            lambda known: setattr(known, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)),
            "expected byte-level BPE with the pre-tokenizer of gpt2, digits, llama3, qwen2, received .*ByteLevel",
        ),
        (
            lambda known: setattr(known, "normalizer", normalizers.Lowercase()),
            "expected no normalizer, or NFC, received .*Lowercase",
        ),
        (
            lambda known: setattr(
                known,
                "post_processor",
                processors.TemplateProcessing(single="$A <|endoftext|>", special_tokens=[(END, 0)]),
            ),
            "expected at most one token before a text, and none after it, received .*endoftext",
        ),
        (lambda known: known.add_tokens([AddedToken("<x>", lstrip=True)]), "'<x>': .*expected lstrip to be false"),
    ],
)
def test_other_tokenizers_are_refused(tmp_path, change, message):
    known = byte_level()
    change(known)
    save(known, tmp_path)
    with pytest.raises(CheckpointError, match=f"the tokenizer is not supported: {message}|{message}"):
        read_tokens(tmp_path, {}, size=SIZE)


def test_other_algorithms_are_refused(tmp_path):
    Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="tokenizer.json: .*expected BPE, received WordPiece"):
        read_tokens(tmp_path, {}, size=SIZE)


def test_a_damaged_file(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    with pytest.raises(DataError, match="tokenizer.json: model.vocab: a damaged tokenizer"):
        read_tokens(tmp_path, {}, size=SIZE)


def test_tokens_with_the_same_id(tmp_path):
    save(byte_level(), tmp_path)
    known = json.loads((tmp_path / "tokenizer.json").read_text())
    known["added_tokens"].append({"id": 3, "content": "<x>", "special": True})
    (tmp_path / "tokenizer.json").write_text(json.dumps(known))
    with pytest.raises(DataError, match="several tokens have the same id"):
        read_tokens(tmp_path, {}, size=SIZE)
