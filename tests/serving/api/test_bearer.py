"""Only requests with the token are accepted."""

import pytest

from tfattn.errors import ServingError
from tfattn.serving.api.bearer import Bearer
from tfattn.serving.api.failure import Failure


@pytest.fixture
def bearer(tmp_path):
    (tmp_path / "token").write_text("  s3cret-/+=\n")
    (tmp_path / "token").chmod(0o600)
    return Bearer(tmp_path / "token")


@pytest.mark.parametrize("given", ["Bearer s3cret-/+=", "bearer s3cret-/+=", "BEARER  s3cret-/+= "])
def test_the_token_is_accepted(bearer, given):
    bearer.check(given)


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", "s3cret-/+=", "Basic s3cret-/+=", "Bearer s3cret", "Bearer é"]
)
def test_other_tokens_are_refused(bearer, given):
    with pytest.raises(Failure, match="A bearer token that this server knows is needed"):
        bearer.check(given)


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"\xff", b"a\x00b"])
def test_a_file_without_a_token_is_refused(tmp_path, content):
    (tmp_path / "token").write_bytes(content)
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(ServingError, match="token: .*token.*expected one line of visible ASCII characters"):
        Bearer(tmp_path / "token")
    with pytest.raises(ServingError, match="none: cannot read the token"):
        Bearer(tmp_path / "none")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o777])
def test_a_file_that_others_may_read_is_refused(tmp_path, mode):
    (tmp_path / "token").write_text("s3cret")
    (tmp_path / "token").chmod(mode)
    with pytest.raises(ServingError, match=f"token: others may read the token.*received mode {mode:o}. chmod 600 "):
        Bearer(tmp_path / "token")


def test_a_file_of_another_user_is_not_checked(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("s3cret")  # as a secret that is mounted into a container
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    Bearer(tmp_path / "token").check("Bearer s3cret")
