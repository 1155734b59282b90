"""The files of a repository that are requested: tensors, JSON, vocabularies and texts; never code or pickles."""

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tfattn.errors import ConfigError, listed, nearest
from tfattn.files.reading import read_json
from tfattn.hub.addresses import HubAddress

CONFIG = "config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"  # of transformers
ADAPTER_WEIGHTS = "adapter_model.safetensors"  # of peft
KERAS_WEIGHTS, KERAS_INDEX = "model.weights.h5", "model.weights.json"  # of KerasHub; read as arrays
SHARDS = {INDEX: ".safetensors", KERAS_INDEX: ".weights.h5"}  # the suffix of the files that an index names
ASSETS = "assets/tokenizer"  # of KerasHub

SMALL = ("*.json", "vocab.txt", "merges.txt", "*.model", "*.spm", "chat_template.jinja")
TEXTS = ("README.md", "LICENSE", "LICENSE.*", "NOTICE", "NOTICE.*")
OF_ASSETS = ("*.json", "*.txt", "*.model", "*.spm")
# Files that an address may name: models, vocabularies, and word vectors as text.
READABLE = (".gguf", ".json", ".model", ".spm", ".txt", ".vec", ".bz2", ".gz")
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.joblib")
OTHER_WEIGHTS = (*PICKLED, "*.h5", "*.keras", "*.msgpack", "*.safetensors", "*.gguf", "*.onnx", "*.tflite")

MAX_SMALL_BYTES = 256 << 20  # the tokenizer.json of the largest vocabularies has 35 MB
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Sizes = Mapping[str, int | None]


def requested(address: HubAddress, sizes: Sizes) -> list[str]:
    """Return the paths of the files to download first: all that are read, except the weights.

    Args:
        address: the repository, or a folder or file in it.
        sizes: the size of each file of the repository in bytes, by path; None if it is unknown.

    Raises:
        ConfigError: there is no such folder or file, its kind is not read, or a file is too large.
    """
    if address.path in sizes:
        if PurePosixPath(address.path).suffix not in READABLE:
            raise ConfigError(
                "a file of this kind is not read",
                key="pretrained",
                expected=f"a file {', '.join(READABLE)}, or a folder",
                received=str(address),
                remedy="Pickled weights can run code." if _matches(address.path, PICKLED) else "",
            )
        return [address.path]
    names = _inside(address, sizes)
    chosen = [name for name in names if "/" not in name and _matches(name, (*SMALL, *TEXTS))]
    chosen += [name for name in names if str(PurePosixPath(name).parent) == ASSETS and _matches(name, OF_ASSETS)]
    for name in chosen:
        if (size := sizes[_joined(address, name)]) is not None and size > MAX_SMALL_BYTES:
            raise ConfigError(
                "a file is too large for a configuration or a vocabulary",
                key="pretrained",
                where=f"{address}: {name}",
                expected=f"at most {MAX_SMALL_BYTES:,} bytes",
                received=f"{size:,}",
            )
    return [_joined(address, name) for name in chosen]


def weights(address: HubAddress, sizes: Sizes, folder: Path) -> list[str]:
    """Return the paths of the weights; none if the address names a file.

    Args:
        address: the repository, or a folder or file in it.
        sizes: the files of the repository, as for `requested`.
        folder: the downloaded folder of the address.

    Raises:
        ConfigError: there are no weights that can be read; for pickled weights, with the command that converts them.
        DataError: the index of the weights is damaged.
    """
    if address.path in sizes:
        return []
    names = _inside(address, sizes)
    found = [ADAPTER_WEIGHTS] if ADAPTER_WEIGHTS in names else []
    if single := next((name for name in (WEIGHTS, KERAS_WEIGHTS) if name in names), None):
        found += [single]
    elif index := next((name for name in SHARDS if name in names), None):
        found += shards(folder / index, names=names, where=str(address))
    if found:
        return [_joined(address, name) for name in found]
    raise _no_weights(address, names, folder)


def shards(index: Path, *, where: str, names: Collection[str] | None = None) -> list[str]:
    """Return the files that an index of weights names; the names in it are not trusted.

    Args:
        index: the file of the index, a key of SHARDS.
        where: the address of the folder, for messages.
        names: the files of the folder; None if they are not known.

    Raises:
        ConfigError: the index names no files, or other files than weights in the same folder.
        DataError: the index is damaged.
    """
    weight_map = read_json(index, dict, remedy="Choose another revision.").get("weight_map")
    values = weight_map.values() if isinstance(weight_map, dict) else ()
    # KerasHub names several files for a layer that is in several files.
    found = sorted({str(name) for value in values for name in (value if isinstance(value, list) else [value])})
    suffix = SHARDS[index.name]
    unknown = [name for name in found if "/" in name or not name.endswith(suffix) or name not in (names or found)]
    if unknown or not found:
        raise ConfigError(
            "the index names files that the repository does not have" if unknown else "the index names no files",
            key="pretrained",
            where=f"{where}: {index.name}",
            expected=f"`weight_map` with the names of files *{suffix} in the same folder",
            received=listed(unknown, 5),
        )
    return found


def _no_weights(address: HubAddress, names: Collection[str], folder: Path) -> ConfigError:
    found = sorted(name for name in names if "/" not in name and _matches(name, OTHER_WEIGHTS))
    remedy = ""
    if any(_matches(name, PICKLED) for name in found):
        remedy = (
            "Pickled weights can run code and are never read. Pull requests of a repository often add safetensors: the "
            f"address of number 4 is hf://{address.repository}@refs/pr/4. Or, if you trust the author, convert the "
            f"weights with transformers, and use the folder: {conversion(address, folder)}"
        )
    elif ggufs := [name for name in found if name.endswith(".gguf")]:
        remedy = f"Name a file, such as {HubAddress(address.repository, address.revision, _joined(address, ggufs[0]))}."
    return ConfigError(
        "the repository has no weights that can be read",
        key="pretrained",
        expected=f"{WEIGHTS} or {INDEX} with its files (Hugging Face), {KERAS_WEIGHTS} or {KERAS_INDEX} with its files "
        "(KerasHub)",
        received=f"{listed(found, 5) or 'no weights'} in {address}",
        remedy=remedy,
    )


def conversion(address: HubAddress, folder: Path) -> str:
    """Return the command that converts the pickled weights of a repository to safetensors."""
    architecture = "AutoModel"
    if (folder / CONFIG).is_file():
        config = read_json(folder / CONFIG, dict)
        stated = config.get("architectures")
        if isinstance(stated, list) and stated and _IDENTIFIER.fullmatch(str(stated[0])):
            architecture = stated[0]  # keeps the head
    options = f", revision={address.revision!r}" if address.revision else ""
    options += f", subfolder={address.path!r}" if address.path else ""
    program = (
        f"from transformers import AutoTokenizer, {architecture}; "
        f"[kind.from_pretrained({address.repository!r}{options}).save_pretrained({address.name!r}) "
        f"for kind in (AutoTokenizer, {architecture})]"
    )
    return f'python -c "{program}"'


def _inside(address: HubAddress, sizes: Sizes) -> list[str]:
    """Return the paths in the folder of an address, relative to it, without paths that could leave it."""
    prefix = f"{address.path}/" if address.path else ""
    inside = [name.removeprefix(prefix) for name in sizes if name.startswith(prefix)]
    inside = [name for name in inside if "\\" not in name and not {"", ".", ".."}.intersection(name.split("/"))]
    if prefix and not inside:
        folders = {str(parent) for name in sizes for parent in PurePosixPath(name).parents} - {"."}
        readable = [name for name in sizes if PurePosixPath(name).suffix in READABLE]
        raise ConfigError(
            "the repository has no such folder or file",
            key="pretrained",
            expected=f"a folder ({listed(sorted(folders), 5) or 'there are none'}), or a file "
            f"({listed(sorted(readable), 5)})",
            received=str(address),
            remedy=nearest(address.path, [*folders, *readable]),
        )
    return inside


def _joined(address: HubAddress, name: str) -> str:
    return f"{address.path}/{name}" if address.path else name


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
