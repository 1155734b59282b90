"""Folders of tokenizers as they are published, in a small size: the files of each family."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from tfattn.preprocessing.byte_vocabulary import CHARACTERS

SENTENCES = (
    "The pump leaks, the cat sleeps.",
    "He don't know 1,000 words!",
    "naive cafe: a b c d e f",
    "等到潮水退了，就知道誰沒穿褲子。",
    "(zero) width",
)
WORDS = ("the", "cat", "leak", "##s", "a", "b", "don", "'", "t", ",", ".", "!", "等", "到", "退", "cafe", "naive", "1")
MERGES = ("Ġ t", "h e", "Ġt he", "Ġ c", "a t", "Ġc at", "l e", "a k", "le ak", "Ġ leak", "n t", "Ġ 1", "0 0", "00 0")
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>")
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CHINESE = (*BERT, *"等到潮水退了，就知道誰沒穿褲子。來去上")


def bert(folder: Path, *, cased: bool = False) -> None:
    """Write the vocabulary of an uncased or cased BERT."""
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in (*BERT, *WORDS)))
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": not cased}))


def chinese(folder: Path) -> None:
    """Write the vocabulary of bert-base-chinese, restricted to some characters."""
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in CHINESE))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 512}')


def mpnet(folder: Path) -> None:
    """Write the vocabulary of MPNet, whose special tokens have the names of RoBERTa's."""
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in (*ROBERTA, "[UNK]", *WORDS, "<mask>")))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')


def roberta(folder: Path) -> None:
    """Write vocab.json and merges.txt; some tokens of the published vocabulary are in no text."""
    made = [merge.replace(" ", "") for merge in MERGES]
    tokens = (*ROBERTA, *CHARACTERS, *made, "madeupword0000", "<mask>")
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("".join(f"{line}\n" for line in ("#version: 0.2", *MERGES)))
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False, "special": True}
    (folder / "tokenizer_config.json").write_text(json.dumps({"mask_token": mask}))


def modernbert(folder: Path) -> None:
    """Write a tokenizer.json with NFC, and with runs of blanks among the tokens of texts."""
    made = [merge.replace(" ", "") for merge in MERGES]
    ids = {token: number for number, token in enumerate((*CHARACTERS, *made))}
    tokenizer = Tokenizer(models.BPE(ids, [tuple(merge.split(" ")) for merge in MERGES]))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_tokens([AddedToken(" " * count, normalized=True) for count in range(5, 1, -1)])
    tokenizer.add_tokens([AddedToken("|||EMAIL_ADDRESS|||", normalized=True)])
    special = [AddedToken(name, special=True) for name in ("[UNK]", "[CLS]", "[SEP]", "[PAD]")]
    tokenizer.add_special_tokens([*special, AddedToken("[MASK]", special=True, lstrip=True)])
    names = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=names
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def xlm_roberta(folder: Path) -> None:
    """Write sentencepiece.bpe.model, whose ids are not those of the model."""
    (folder / "sentencepiece.bpe.model").write_bytes(_trained(unk_id=0, bos_id=1, eos_id=2, pad_id=-1))


def albert(folder: Path) -> None:
    """Write spiece.model, with control symbols and user-defined symbols."""
    marks = {"control_symbols": "[CLS],[SEP],[MASK]", "user_defined_symbols": '(,),",-,.,–,£,€'}
    model = _trained(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, pad_piece="<pad>", **marks)
    (folder / "spiece.model").write_bytes(model)


def deberta_v2(folder: Path) -> None:
    """Write spm.model, without the mask."""
    names = {"bos_piece": "[CLS]", "eos_piece": "[SEP]", "pad_piece": "[PAD]", "unk_piece": "[UNK]"}
    (folder / "spm.model").write_bytes(_trained(pad_id=0, bos_id=1, eos_id=2, unk_id=3, **names))


# By model_type.
PUBLISHED: dict[str, Callable[[Path], None]] = {
    "roberta": roberta,
    "modernbert": modernbert,
    "mpnet": mpnet,
    "xlm-roberta": xlm_roberta,
    "albert": albert,
    "deberta-v2": deberta_v2,
}


def _trained(**options: int | str) -> bytes:
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20),
        model_writer=buffer,
        vocab_size=120,
        hard_vocab_limit=False,
        model_type="unigram",
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return buffer.getvalue()
