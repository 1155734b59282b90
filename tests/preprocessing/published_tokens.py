"""A published vocabulary of a few words, and a preprocessor that has adopted it."""

import io

import sentencepiece

from tfattn.preprocessing.published_vocabulary import PublishedVocabulary
from tfattn.preprocessing.sentencepiece import SentencePiece

ROWS = [
    {"source": "a man walks a dog", "target": "ein Mann führt einen Hund"},
    {"source": "two dogs walk", "target": "zwei Hunde laufen"},
    {"source": "a dog and a man", "target": "ein Hund und ein Mann"},
]
# The pieces of the model in another order, others that it does not have, and special tokens as in Marian.
TOKENS = [
    "</s>",
    "<unk>",
    *["▁dog", "▁man", "▁a", "▁Hund", "▁ß", "▁ein", "▁walks", "▁walk", "▁dogs", "▁two", "▁and", ">>fra<<", "<pad>"],
]
END, UNKNOWN, DOG, MAN, A, SHARP_S, CODE, PAD = 0, 1, 2, 3, 4, 6, 13, 14


def trained(texts):
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=content,
        vocab_size=30,
        model_type="word",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return content.getvalue()


def vocabulary(**changes):
    settings = {
        "content": trained([row["source"] for row in ROWS]),
        "tokens": tuple(TOKENS),
        "start_id": PAD,
        "end_id": END,
        "padding_id": PAD,
        "unknown_id": UNKNOWN,
        "special_ids": (END, UNKNOWN, PAD),
        "suppressed_ids": (PAD,),
        "has_codes": True,
    }
    return PublishedVocabulary(**{**settings, **changes})


def tokenizer(*vocabularies, **settings):
    pieces = SentencePiece(vocabulary="pretrained", **settings)
    pieces.adopt(vocabularies=vocabularies or [vocabulary()])
    pieces.fit([])
    return pieces
