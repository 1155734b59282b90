"""Who may ask."""

from collections.abc import Mapping

from grpc import StatusCode

from tfattn.serving.api.bearer import Bearer
from tfattn.serving.api.failure import Failure
from tfattn.serving.section import Serving


class Callers:
    """Those who know the token, or everybody where there is none.

    Args:
        serving: the settings.

    Attributes:
        need_token: whether there is one.

    Raises:
        ServingError: the token cannot be read.
    """

    def __init__(self, serving: Serving):
        self._bearer = Bearer(serving.token_file) if serving.token_file else None
        self.need_token = self._bearer is not None

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request without the token.

        Args:
            headers: the request's, with names in lower case.

        Raises:
            Failure: UNAUTHENTICATED.
        """
        if self._bearer and not self._bearer.admits(headers.get(b"authorization", b"").decode("latin-1")):
            raise Failure(StatusCode.UNAUTHENTICATED, "A bearer token that this server knows is needed")
