"""The vocabulary of the tests of chats."""

import pytest

from tfattn.preprocessing.byte_bpe import ByteBpe

TOKENS = ("<|im_start|>", "<|im_end|>")


@pytest.fixture(scope="module")
def chat_vocabulary(tmp_path_factory):
    """Return the folder of a small vocabulary with the tokens of chats."""
    folder = tmp_path_factory.mktemp("vocabulary")
    learning = ByteBpe(vocabulary_size=280, special_tokens=TOKENS)
    learning.fit([{"text": "user assistant Hello! Hello! user assistant"}])
    learning.save(folder)
    return folder
