"""A certificate of this machine's loopback address, for tests of TLS."""

import shutil
import subprocess
from pathlib import Path

import pytest


def make(folder: Path) -> tuple[Path, Path]:
    """Writes a certificate that signs itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = [*command.split(), *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key
