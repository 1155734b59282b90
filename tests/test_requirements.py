"""The lock: it has what setup.cfg asks for, each file by its hash, and names no registry."""

import configparser
import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parent.parent
LOCK = (PROJECT / "requirements.lock").read_text()
LOCKED = ("pretrained", "beam", "chinese", "test")


def pinned() -> dict[str, str]:
    pins = re.findall(r"^([\w.-]+)==(\S+)", LOCK, flags=re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def test_every_package_is_pinned_by_hashes_and_from_no_registry_in_particular():
    for entry in re.sub(r"\\\n\s+", "", LOCK).splitlines():
        assert entry.startswith("#") or re.fullmatch(r"[\w.-]+==\S+ (--hash=sha256:[0-9a-f]{64} ?)+", entry), entry
    assert "://" not in LOCK


def test_what_setup_cfg_asks_for_is_pinned_to_a_version_that_will_do():
    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    extras = setup["options.extras_require"]
    asked = [setup["options"]["install_requires"], *(extras[name] for name in LOCKED)]
    lines = [line for text in asked for line in text.splitlines() if line and not line.startswith("#")]
    versions = pinned()
    for requirement in map(Requirement, lines):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_whatever_installs_from_the_lock_checks_hashes():
    for file in ("Makefile", "deploy/builtin.Dockerfile"):
        installs = re.findall(r"pip install .*requirements.lock", (PROJECT / file).read_text())
        assert installs and all("--require-hashes" in one for one in installs), file
