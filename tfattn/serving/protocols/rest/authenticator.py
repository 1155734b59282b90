"""Authentication of REST requests."""

from collections.abc import Mapping

from grpc import StatusCode

from tfattn.serving.api.bearer import Bearer
from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.origin_check import OriginCheck
from tfattn.serving.section import Serving


class Authenticator:
    """A check of a request's bearer token, if the server has one, and of its origin.

    Args:
        serving: the server's settings.

    Attributes:
        needs_token: whether requests need a bearer token.

    Raises:
        ServingError: the token cannot be read.
    """

    def __init__(self, serving: Serving):
        self._bearer = Bearer(serving.token_file) if serving.token_file else None
        self.needs_token = self._bearer is not None
        self._origins = OriginCheck(serving)
        self.check_site = self._origins.check_site

    def check(self, method: str, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request without the token, or from a web page of another site.

        Args:
            method: the HTTP method.
            headers: the request's headers, with names in lower case.

        Raises:
            Failure: UNAUTHENTICATED; PERMISSION_DENIED; or with the HTTP status 415.
        """
        self.check_site(headers)
        if method == "POST":
            self._origins.check_content(headers)
        if self._bearer and not self._bearer.admits(headers.get(b"authorization", b"").decode("latin-1")):
            raise Failure(StatusCode.UNAUTHENTICATED, "A bearer token that this server knows is needed")
