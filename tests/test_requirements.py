"""The lock satisfies setup.cfg, has hashes, and names no registry."""

import configparser
import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parent.parent
LOCK = (PROJECT / "requirements.lock").read_text()
LOCKED = ("pretrained", "pretrained_tiny", "beam", "chinese", "docs", "test")


def pinned() -> dict[str, str]:
    pins = re.findall(r"^([\w.-]+)==(\S+)", LOCK, flags=re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def test_packages_are_pinned_by_hashes_without_a_registry():
    for entry in re.sub(r"\\\n\s+", "", LOCK).splitlines():
        assert entry.startswith("#") or re.fullmatch(r"[\w.-]+==\S+ (--hash=sha256:[0-9a-f]{64} ?)+", entry), entry
    assert "://" not in LOCK


def test_pinned_versions_satisfy_setup_cfg():
    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    extras = setup["options.extras_require"]
    asked = [setup["options"]["install_requires"], *(extras[name] for name in LOCKED)]
    lines = [line for text in asked for line in text.splitlines() if line and not line.startswith("#")]
    versions = pinned()
    for requirement in map(Requirement, lines):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_nothing_is_pinned_that_only_unused_code_of_weights_needs():
    assert not {"torch", "transformers"} & set(pinned())


def test_installations_from_the_lock_check_hashes():
    for file in ("Makefile", "deploy/builtin.Dockerfile"):
        installs = re.findall(r"pip install .*requirements.lock", (PROJECT / file).read_text())
        assert installs and all("--require-hashes" in one for one in installs), file
