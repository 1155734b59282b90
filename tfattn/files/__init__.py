"""Reliable files: writes are atomic, and damage is detected when a file is read.

Files are written to a hidden staging folder next to the target, synced to the disk and renamed. A folder has a
`manifest.json` with the size and SHA-256 of each file, and of itself; `verify` compares the files with it.
"""

from pathlib import Path

from tfattn.files.compressed import CompressedPath, unpacked
from tfattn.files.locks import disk_errors, is_locked, lock, remove_leftovers
from tfattn.files.manifests import (
    MANIFEST,
    PRODUCER,
    Manifest,
    check,
    digest,
    manifest_text,
    read_manifest,
    read_manifest_file,
    sha256,
    verify,
    write_manifest,
)
from tfattn.files.packed import PackedPath, pack
from tfattn.files.reading import read_bytes, read_json, read_json_lines
from tfattn.files.remote import RemotePath, matching, path_of
from tfattn.files.shipped import SCHEME, find_shipped, shipped_folder
from tfattn.files.similar import similar_path, similar_shipped
from tfattn.files.writing import (
    atomic_file,
    atomic_folder,
    atomic_link,
    by_suffix,
    numbered,
    remove_folder,
    write_json,
    write_text,
)

AnyPath = Path | RemotePath | CompressedPath

__all__ = [
    "AnyPath",
    "CompressedPath",
    "MANIFEST",
    "Manifest",
    "PackedPath",
    "RemotePath",
    "PRODUCER",
    "SCHEME",
    "atomic_file",
    "atomic_folder",
    "atomic_link",
    "by_suffix",
    "check",
    "digest",
    "disk_errors",
    "find_shipped",
    "is_locked",
    "lock",
    "manifest_text",
    "matching",
    "numbered",
    "pack",
    "path_of",
    "read_bytes",
    "read_json",
    "read_json_lines",
    "read_manifest",
    "read_manifest_file",
    "remove_folder",
    "remove_leftovers",
    "sha256",
    "shipped_folder",
    "similar_path",
    "similar_shipped",
    "unpacked",
    "verify",
    "write_json",
    "write_manifest",
    "write_text",
]
