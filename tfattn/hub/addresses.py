"""Addresses of models on hubs: hf://OWNER/NAME@REVISION/PATH and keras://PRESET."""

import re
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from tfattn.errors import ConfigError

HUGGING_FACE, KERAS = "hf://", "keras://"
SCHEMES = (HUGGING_FACE, KERAS)

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
# These revisions contain a slash; in others it is written as %2F.
_REVISION = r"refs/(?:pr/\d+|convert/[\w.-]+)|[\w.+%-]+"
_HUGGING_FACE = re.compile(rf"({_NAME}/{_NAME})(?:@({_REVISION}))?(?:/([^@\\]+?))?/?", flags=re.ASCII)
_PRESET = re.compile(rf"{_NAME}", flags=re.ASCII)
_HANDLE = re.compile(rf"({_NAME}/{_NAME}/{_NAME}/{_NAME})(?:/(\d+))?", flags=re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubAddress:
    """A repository of models on the Hugging Face hub, or a folder or file in it.

    Args:
        repository: the owner and the name, such as google-bert/bert-base-uncased.
        revision: a branch, a tag or a commit; None for the main branch.
        path: the folder or file in the repository; "" for all of it.
    """

    repository: str
    revision: str | None = None
    path: str = ""

    def __str__(self) -> str:
        revision = self.revision or ""
        if "/" in revision and not revision.startswith("refs/"):
            revision = quote(revision, safe="")
        path = f"/{self.path}" if self.path else ""
        return f"{HUGGING_FACE}{self.repository}{f'@{revision}' if revision else ''}{path}"

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, which never changes."""
        return self.revision is not None and bool(_COMMIT.fullmatch(self.revision))

    @property
    def name(self) -> str:
        """The last part: the name of the file, the folder or the repository."""
        return (self.path or self.repository).rpartition("/")[2]


@dataclass(frozen=True)
class KerasAddress:
    """A preset of KerasHub.

    Args:
        handle: the name of a preset, or a model on Kaggle: OWNER/MODEL/keras/VARIATION.
        version: the version of the model on Kaggle; None for the newest version.
    """

    handle: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{KERAS}{self.handle}{f'/{self.version}' if self.version is not None else ''}"

    @property
    def is_preset(self) -> bool:
        """Whether the handle is the name of a preset."""
        return "/" not in self.handle

    @property
    def name(self) -> str:
        """The name of the preset or of the variation."""
        return self.handle.rpartition("/")[2]


Address = HubAddress | KerasAddress


def is_address(text: object) -> bool:
    """Return whether a value is an address of a model on a hub."""
    return isinstance(text, str) and text.startswith(SCHEMES)


def parse(text: str) -> Address:
    """Parse an address.

    Raises:
        ConfigError: it is not an address of a model.

    Example:
        >>> parse("hf://google-bert/bert-base-chinese@main/vocab.txt")
        HubAddress(repository='google-bert/bert-base-chinese', revision='main', path='vocab.txt')
        >>> parse("keras://bert_base_en_uncased")
        KerasAddress(handle='bert_base_en_uncased', version=None)
    """
    scheme, _, rest = text.partition("://")
    return _parse_keras(text, rest) if f"{scheme}://" == KERAS else _parse_hugging_face(text, rest)


def is_same_model(one: Address, other: Address) -> bool:
    """Return whether addresses differ in nothing but the revision or version."""
    if isinstance(one, HubAddress) and isinstance(other, HubAddress):
        return replace(one, revision=None) == replace(other, revision=None)
    if not (isinstance(one, KerasAddress) and isinstance(other, KerasAddress)):
        return False
    return one.handle == other.handle or (one.is_preset != other.is_preset and one.name == other.name)


def is_same(asked: Address, pinned: Address) -> bool:
    """Return whether an address with a fixed revision is what another address asks for; no revision means any.

    Args:
        asked: an address without a revision, or with a fixed one.
        pinned: an address with a fixed revision.
    """
    given = asked.revision if isinstance(asked, HubAddress) else asked.version
    return is_same_model(asked, pinned) and (given is None or asked == pinned)


def _parse_hugging_face(text: str, rest: str) -> HubAddress:
    match = _HUGGING_FACE.fullmatch(rest)
    if match is not None:
        repository, revision, path = match[1], unquote(match[2] or ""), match[3] or ""
        steps = path.split("/") if path else []
        is_invalid = ".." in f"{repository}@{revision}" or "--" in repository  # the client refuses them, too
        if not is_invalid and not {"", ".", ".."}.intersection(steps):
            return HubAddress(repository, revision or None, path)
    remedy = "" if "/" in rest else "Repositories have an owner, such as google-bert in google-bert/bert-base-uncased."
    raise ConfigError(
        "not the address of a repository",
        key="pretrained",
        expected="hf://OWNER/NAME, with @REVISION, /FOLDER or /FILE if needed",
        received=text,
        remedy=remedy,
    )


def _parse_keras(text: str, rest: str) -> KerasAddress:
    if _PRESET.fullmatch(rest):
        return KerasAddress(rest)
    match = _HANDLE.fullmatch(rest)
    if match is not None and ".." not in rest:
        return KerasAddress(match[1], None if match[2] is None else int(match[2]))
    raise ConfigError(
        "not the address of a preset",
        key="pretrained",
        expected="keras://PRESET, such as keras://bert_base_en_uncased, or keras://OWNER/MODEL/keras/VARIATION",
        received=text,
    )
