"""Addresses of hubs: what they name, and which are refused."""

import pytest

from tfattn import hub
from tfattn.errors import ConfigError
from tfattn.hub.addresses import HubAddress, KerasAddress

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf://google-bert/bert-base-uncased", HubAddress("google-bert/bert-base-uncased")),
        (f"hf://a/b.c@{COMMIT}", HubAddress("a/b.c", COMMIT)),
        ("hf://a/b@v1.0/folder/model.gguf", HubAddress("a/b", "v1.0", "folder/model.gguf")),
        ("hf://a/b@refs/pr/7/folder", HubAddress("a/b", "refs/pr/7", "folder")),
        ("hf://a/b@feature%2Fx", HubAddress("a/b", "feature/x")),
        ("hf://a/b/vocab.txt", HubAddress("a/b", None, "vocab.txt")),
        ("keras://bert_base_en_uncased", KerasAddress("bert_base_en_uncased")),
        ("keras://me/bert/keras/mine", KerasAddress("me/bert/keras/mine")),
        ("keras://me/bert/keras/mine/3", KerasAddress("me/bert/keras/mine", 3)),
    ],
)
def test_addresses_are_read_and_written(text, expected):
    assert hub.parse(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    "text",
    [
        "hf://gpt2",
        "hf://",
        "hf://a/b/../../c",
        "hf://a/b@../../x",
        "hf://../b",
        "hf://a/b//c",
        "hf://a/b\\c",
        "hf://a--b/c",
        "hf://a/b@v1@v2",
        "keras://",
        "keras://a/b",
        "keras://../../x/y",
        "keras://a/b/keras/c/newest",
    ],
)
def test_wrong_addresses_are_refused(text):
    with pytest.raises(ConfigError, match="not the address of a (repository|preset): expected (hf|keras)://") as caught:
        hub.parse(text)
    assert caught.value.received == text and caught.value.key == "pretrained"


def test_a_repository_needs_its_owner():
    with pytest.raises(ConfigError, match="Repositories have an owner, such as google-bert"):
        hub.parse("hf://bert-base-uncased")


def test_paths_are_not_addresses():
    assert not any(map(hub.is_address, ("minilm", "saved_models/x", "http://a/b", "gs://bucket/x", None)))


@pytest.mark.parametrize(
    ("asked", "pinned", "same_model", "same"),
    [
        ("hf://a/b", f"hf://a/b@{COMMIT}", True, True),
        (f"hf://a/b@{COMMIT}", f"hf://a/b@{COMMIT}", True, True),
        (f"hf://a/b@{'f' * 40}", f"hf://a/b@{COMMIT}", True, False),
        ("hf://a/b/x", f"hf://a/b@{COMMIT}", False, False),
        ("hf://a/c", f"hf://a/b@{COMMIT}", False, False),
        ("keras://bert_tiny", "keras://keras/bert/keras/bert_tiny/3", True, True),
        ("keras://keras/bert/keras/bert_tiny/2", "keras://keras/bert/keras/bert_tiny/3", True, False),
        ("keras://bert_tiny", f"hf://keras/bert_tiny@{COMMIT}", False, False),
    ],
)
def test_equal_models(asked, pinned, same_model, same):
    one, other = hub.parse(asked), hub.parse(pinned)
    assert (hub.is_same_model(one, other), hub.is_same(one, other)) == (same_model, same)
