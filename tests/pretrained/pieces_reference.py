"""Runs the tokenizers of transformers on tiny vocabularies: python pieces_reference.py OUTPUT.json [RULES].

RULES is the name of the normalization of SentencePiece; that of the stored file is `identity`, whose models are small.
"""

import base64
import io
import json
import os
import sys
import tempfile
from pathlib import Path

# TensorFlow needs an older protobuf than the one that sentencepiece was built with.
os.environ["TEMPORARILY_DISABLE_PROTOBUF_VERSION_CHECK"] = "true"

import sentencepiece
import transformers

SOURCES = ["a man walks a dog", "two dogs walk", "a dog and a man walk to the park", "the parks of Paris."]
TARGETS = ["ein Mann führt einen Hund", "zwei Hunde laufen", "ein Hund und ein Mann gehen", "groß ist der Park."]
TEXTS = [
    *("a dog", "", " ", "  two   dogs ", "Two dogs walk to Paris.", "ein Hund läuft", "ß and ü", "😀 dog 😀😀 x"),
    *(">>fra<< a dog", ">>deu<<a dog", ">>fra<<", "a >>fra<< dog", "the </ s>"),
]
NORMALIZED = ["a\tdog\nand", "ﬁne ① Ａ", "cafe\u0301", "a\u200bdog"]  # where SentencePiece replaces characters


def trained(texts: list[str], rules: str, **options) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        normalization_rule_name=rules,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(processor.vocab_size())]


def marian(folder: Path, rules: str) -> dict:
    """Write source.spm, target.spm and vocab.json, whose ids are in another order."""
    models = {"source.spm": trained(SOURCES, rules), "target.spm": trained(TARGETS, rules)}
    known = sorted({piece for model in models.values() for piece in pieces(model)} - {"<unk>", "<s>", "</s>"})
    tokens = ["</s>", "<unk>", *reversed(known), ">>fra<<", "<pad>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "config.json").write_text(json.dumps({"model_type": "marian"}))
    for name, model in models.items():
        (folder / name).write_bytes(model)
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    return {
        "files": {name: base64.b64encode(model).decode() for name, model in models.items()},
        "vocabulary": vocabulary,
        **answers(tokenizer),
        "target_ids": tokenizer(text_target=TEXTS)["input_ids"],
    }


def t5(folder: Path, rules: str) -> dict:
    """Write spiece.model; transformers converts it to tokenizer.json."""
    special = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    model = trained([*SOURCES, *TARGETS], rules, **special)
    (folder / "spiece.model").write_bytes(model)
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))
    tokenizer = transformers.T5Tokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder / "converted")
    converted = json.loads((folder / "converted/tokenizer.json").read_text())
    return {
        "files": {"spiece.model": base64.b64encode(model).decode()},
        "converted": {name: converted[name] for name in ("model", "normalizer", "added_tokens")},
        **answers(tokenizer),
    }


def answers(tokenizer) -> dict:
    ids = tokenizer(TEXTS)["input_ids"]
    return {"texts": TEXTS, "ids": ids, "decoded": tokenizer.batch_decode(ids, skip_special_tokens=True)}


if __name__ == "__main__":
    output, rules = Path(sys.argv[1]), (sys.argv[2:] or ["identity"])[0]
    TEXTS += NORMALIZED if rules != "identity" else []
    found = {}
    for make in (marian, t5):
        with tempfile.TemporaryDirectory() as temporary:
            found[make.__name__] = make(Path(temporary), rules)
    output.write_text(json.dumps(found, separators=(",", ":"), ensure_ascii=False) + "\n")
