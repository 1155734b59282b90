"""The tokenizers of published encoders: equal to the reference on awkward texts, and to their contract."""

import json

import pytest
import tensorflow as tf
from tokenizers import BertWordPieceTokenizer, Tokenizer

from benchmarks import peers
from tests.contracts.preprocessor import check_preprocessor
from tests.pretrained import tokenizer_folders
from tests.pretrained.tokenizer_folders import PUBLISHED
from tfattn.errors import CheckpointError, ConfigError, DataError
from tfattn.preprocessing.masked_text import MaskedText
from tfattn.preprocessing.pretrained_tokenizer import PretrainedTokenizer
from tfattn.pretrained import tokenizer_files

TEXTS = [
    "",
    " \t\n",
    "The cat leaks.",
    "  the   cat  ",
    "the\tcat\r\nleak\n\nthe",
    "the\u00a0cat\u3000leak\u2003the",
    "\u200bthe\u200dcat\ufeff",
    "ﬁ ½ ① Ｆｕｌｌ，ｗｉｄｔｈ",
    "cafe\u0301 café naïve ñ Ü",
    "가 각 \u1112\u1161\u11ab",
    "👩‍👩‍👧 🏳️‍🌈 👍🏽",
    "等到潮水退了，就知道誰沒穿褲子。",
    "العربية ภาษาไทย हिन्दी क्षि",
    "``the'' '''cat''' ````",
    "1,205, 9,8, 3.5",
    "don't U.N.'s we'll",
    '....?! --- … (a) "b"',
    "a" * 300,
    "the cat " * 40,
    "İ ẞ ς Σ ŉ ǅ x² H₂O ™ ﷺ",
    "á̧ ą́ \u0344 \u0958 \u212b",
    "\U0001d400\U0001d7d8 \ufffd",
    "the\u2028cat\u2029leak\x85",
    "a     b  c\n    d",
    "x |||EMAIL_ADDRESS||| y",
]
PAIRS = [("the cat", "leaks"), ("", "a"), ("the cat leaks " * 5, "a b"), ("a", "the cat leaks " * 5)]
OFFSETS = ("The cat leaks, 1,000!", "  the\u3000cafe\u0301 ", "等到 潮水", "ﬁ ½ ``a''", "a  b |||EMAIL_ADDRESS|||")


@pytest.fixture(scope="module", params=PUBLISHED)
def published(request, tmp_path_factory):
    """Return the architecture, the folder, and the arguments of `adopt`."""
    folder = tmp_path_factory.mktemp(request.param)
    PUBLISHED[request.param](folder)
    return request.param, folder, tokenizer_files.published(folder, request.param, 0)


def fitted(adopted, **options):
    tokenizer = PretrainedTokenizer(**{"max_length": 512, **options})
    tokenizer.adopt(**adopted)
    tokenizer.fit([])
    return tokenizer


def test_ids_equal_the_reference(published):
    _, _, adopted = published
    reference = Tokenizer.from_str(adopted["tokenizer"])
    found = fitted(adopted)({"text": tf.constant(TEXTS)})["token_ids"].to_list()
    for text, ids in zip(TEXTS, found, strict=True):
        assert ids == reference.encode(text).ids, text


def test_pairs_equal_the_reference_with_truncation(published):
    _, _, adopted = published
    reference = Tokenizer.from_str(adopted["tokenizer"])
    reference.enable_truncation(14)
    tokenizer = fitted(adopted, fields=("text_a", "text_b"), max_length=14)
    fields = {name: tf.constant(texts) for name, texts in zip(tokenizer.fields, zip(*PAIRS, strict=True), strict=True)}
    features = tokenizer(fields)
    expected = [reference.encode(*pair) for pair in PAIRS]
    assert features["token_ids"].to_list() == [encoding.ids for encoding in expected]
    assert features["segment_ids"].to_list() == [encoding.type_ids for encoding in expected]
    assert tokenizer.truncated(fields).numpy().tolist() == [False, False, True, True]


def test_offsets_equal_the_reference_without_white_space(published):
    _, _, adopted = published
    reference, tokenizer = Tokenizer.from_str(adopted["tokenizer"]), fitted(adopted)
    for text in ("The cat leaks, 1,205!", "  the\u3000café ", "等到 潮水", "``a''", "a  b |||EMAIL_ADDRESS|||"):
        starts, ends = (side.to_list()[0] for side in tokenizer.offsets({"text": tf.constant([text])}))
        encoding = reference.encode(text)
        expected = [text[first:last].strip() for first, last in encoding.offsets]
        expected = ["" if token == "▁" else part for token, part in zip(encoding.tokens, expected, strict=True)]
        assert [text[first:last] for first, last in zip(starts, ends, strict=True)] == expected


def test_a_character_that_becomes_several_is_the_span_of_each(published):
    kind, _, adopted = published
    if kind in ("roberta", "modernbert", "mpnet"):
        pytest.skip("the tokenizer does not replace characters by several")
    text = "a ﬁ"
    starts, ends = (side.to_list()[0] for side in fitted(adopted).offsets({"text": tf.constant([text])}))
    found = [text[first:last] for first, last in zip(starts, ends, strict=True)]
    assert found.count("ﬁ") >= 1 and found[0] == found[-1] == "" and set(found) <= {"", "a", "ﬁ"}


def test_words_are_those_of_bert_in_every_tokenizer(published):
    """Tags and entities do not depend on the tokenizer: words end at white space and punctuation."""
    tokenizer = fitted(published[2])
    tokenizer.locate("words")
    text = "The cat, (zero) don't 等到"
    features = tokenizer({"text": tf.constant([text])})
    numbers, starts, ends = (features[name].to_list()[0] for name in ("word_numbers", "starts", "ends"))
    words = [text[first:last] for number, first, last in zip(numbers, starts, ends, strict=True) if number]
    expected = ["The", "cat", ",", "(", "zero", ")", "don", "'", "t", "等", "到"]
    assert [word for word in expected if word in words] == words
    assert {"The", "cat", ",", "zero", "don"} <= set(words)


def test_special_tokens_are_not_parsed_in_texts(published):
    tokenizer = fitted(published[2])
    ids = tokenizer({"text": tf.constant(["<s> </s> [SEP] [CLS] <mask> [MASK] <pad> the"])})["token_ids"].to_list()[0]
    assert not set(tokenizer.special_ids) - {tokenizer.pieces.unknown_id} & set(ids[1:-1])


def test_masks_equal_the_reference(published):
    """[MASK] is the mask token of any vocabulary, which takes the white space before it where the reference does."""
    _, _, adopted = published
    reference, tokenizer = Tokenizer.from_str(adopted["tokenizer"]), fitted(adopted)
    texts = ["The [MASK] leaks.", "[MASK]the[MASK] [MASK] cat", "the cat [MASK]", "等到 [MASK] 了"]
    features = MaskedText(tokenizer)({"text": tf.constant(texts)})
    expected = [reference.encode(text.replace("[MASK]", tokenizer.special.mask)).ids for text in texts]
    assert features["token_ids"].to_list() == expected
    mask = tokenizer.mask_id
    assert features["masked_lm_positions"].to_list() == [
        [place for place, number in enumerate(ids) if number == mask] for ids in expected
    ]


def test_contract(published, tmp_path):
    if published[0] not in ("roberta", "modernbert", "albert"):
        pytest.skip("the same parts as those of another tokenizer")
    rows = [{"text": "The cat leaks."}, {"text": "1,000 cats"}]
    unfitted = PretrainedTokenizer(max_length=9)
    check_preprocessor(fitted(published[2], max_length=64), unfitted, rows, folder=tmp_path)
    files = sorted(path.name for path in (tmp_path / "saved").iterdir())
    assert files == ["tokenizer.json", "tokenizer_config.json"]


def test_vectors_without_tokens_have_names(published):
    kind, folder, adopted = published
    size = len(fitted(adopted).tokens) + 2
    tokenizer = fitted(tokenizer_files.published(folder, kind, size))
    assert tokenizer.sizes == {"vocabulary_size": size}
    assert tokenizer.tokens[-2:] == [f"<unused_{size - 2}>", f"<unused_{size - 1}>"]


def test_the_vocabulary_of_a_bert_is_adopted(tmp_path):
    tokenizer_folders.bert(tmp_path)
    tokenizer = fitted({"vocabulary": tmp_path / "vocab.txt", "lower_case": True, "strip_accents": None})
    reference = BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=True)
    found = tokenizer({"text": tf.constant(TEXTS)})["token_ids"].to_list()
    assert found == [reference.encode(text).ids for text in TEXTS]


def test_ids_equal_transformers(published, tmp_path):
    """With transformers installed, its tokenizers of the same files give the same ids."""
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    kind, _, adopted = published
    folder = tmp_path / "published"
    folder.mkdir()
    tokenizer = fitted(adopted)
    tokenizer.save(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    program = (
        "import json, sys, transformers;"
        "known = transformers.PreTrainedTokenizerFast(tokenizer_file=sys.argv[1] + '/tokenizer.json');"
        "print(json.dumps(known(json.loads(sys.argv[2]))['input_ids']))"
    )
    expected = json.loads(peers.last_line(f"import torch; {program}", folder, json.dumps(TEXTS)))
    assert tokenizer({"text": tf.constant(TEXTS)})["token_ids"].to_list() == expected


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "roberta",
            {"pre_tokenizer": {"type": "Whitespace"}},
            "pre_tokenizer.*expected ByteLevel, received Whitespace",
        ),
        (
            "roberta",
            {"pre_tokenizer": {"type": "ByteLevel", "use_regex": False}},
            "pre_tokenizer.use_regex.*expected use_regex to be True, received False",
        ),
        ("roberta", {"normalizer": {"type": "Lowercase"}}, "normalizer.*expected NFC.*received Lowercase"),
        ("xlm-roberta", {"normalizer": {"type": "Prepend", "prepend": "x"}}, "normalizer.*received Prepend"),
        (
            "xlm-roberta",
            {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}},
            "pre_tokenizer.*expected prepend_scheme to be always or never, received first",
        ),
        ("xlm-roberta", {"post_processor": None}, "post_processor.*expected TemplateProcessing.*received none"),
        ("mpnet", {"normalizer": None}, "normalizer.*expected BertNormalizer, received None"),
        (
            "mpnet",
            {"model": {"type": "WordLevel", "vocab": {}}},
            "model.*expected WordPiece, BPE, .*received WordLevel",
        ),
        ("mpnet", {"model": {"type": "WordPiece", "vocab": 3}}, "cannot be read as a tokenizer"),
    ],
)
def test_other_tokenizers_are_refused_by_the_name_of_the_part(tmp_path, kind, change, message):
    PUBLISHED[kind](tmp_path)
    content = json.loads(tokenizer_files.published(tmp_path, kind, 0)["tokenizer"])
    (tmp_path / "tokenizer.json").write_text(json.dumps({**content, **change}))
    tokenizer = PretrainedTokenizer(vocabulary=str(tmp_path / "tokenizer.json"))
    with pytest.raises(DataError, match=f"tokenizer.json: {message}"):
        tokenizer.fit([])


def test_a_blank_before_a_text(tmp_path):
    """Some RoBERTas put a blank before a text, as before its other words."""
    tokenizer_folders.roberta(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**settings, "add_prefix_space": True}))
    adopted = tokenizer_files.published(tmp_path, "roberta", 0)
    reference, tokenizer = Tokenizer.from_str(adopted["tokenizer"]), fitted(adopted)
    found = tokenizer({"text": tf.constant(TEXTS)})["token_ids"].to_list()
    assert found == [reference.encode(text).ids for text in TEXTS]
    starts, ends = (side.to_list() for side in tokenizer.offsets({"text": tf.constant(["the cat", "", " the"])}))
    assert (starts, ends) == ([[0, 0, 4, 0], [0, 0], [0, 1, 0]], [[0, 3, 7, 0], [0, 0], [0, 4, 0]])


def test_older_files_do_not_name_the_algorithm(tmp_path):
    for kind in ("roberta", "mpnet", "xlm-roberta"):
        PUBLISHED[kind](tmp_path)
        adopted = tokenizer_files.published(tmp_path, kind, 0)
        content = json.loads(adopted["tokenizer"])
        del content["model"]["type"]
        older = fitted({**adopted, "tokenizer": json.dumps(content)})
        assert (
            older({"text": ["the cat"]})["token_ids"].to_list()
            == fitted(adopted)({"text": ["the cat"]})["token_ids"].to_list()
        )


def test_a_missing_tokenizer_names_the_files(tmp_path):
    with pytest.raises(CheckpointError, match="expected tokenizer.json, vocab.json and merges.txt"):
        tokenizer_files.published(tmp_path, "roberta", 0)
    with pytest.raises(CheckpointError, match="expected tokenizer.json"):
        tokenizer_files.published(tmp_path, "modernbert", 0)
    with pytest.raises(ConfigError, match="there is no pretrained model whose vocabulary could be used"):
        PretrainedTokenizer().fit([])
