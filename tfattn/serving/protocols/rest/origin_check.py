"""Protection against requests that web pages of other sites send through a user's browser.

Browsers describe such requests in their headers: `Host` has the page's own name if its address was made to point to
this machine (DNS rebinding); `Origin` is the site of the page; and a content type of application/json makes browsers
send a preflight request first.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from grpc import StatusCode

from tfattn.serving.api.bearer import Bearer
from tfattn.serving.protocols.listening import address_of, is_loopback
from tfattn.serving.protocols.rest.response import HttpFailure
from tfattn.serving.section import Serving

JSON, FORM = "application/json", "application/x-www-form-urlencoded"  # the latter is the default of curl -d


class OriginCheck:
    """A check of requests for pages of other sites.

    Other programs than browsers may send JSON without a content type, or with the content type of a form, like curl and
    clients of TF Serving. A server with a token accepts any host and origin, because other sites do not have the token.

    Args:
        serving: the server's settings.
    """

    def __init__(self, serving: Serving):
        self._is_off = "browser_safety" in serving.as_tf_serving
        self._any_site, self._any_origin = serving.token_file is not None, serving.cors
        self._host, self._allowed_hosts = serving.host.lower(), tuple(map(str.lower, serving.allowed_hosts))
        self._is_local = is_loopback(serving.host)

    def check_site(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request by its host and origin.

        Args:
            headers: the request's headers, with names in lower case.

        Raises:
            Failure: PERMISSION_DENIED, the host or origin is not allowed.
        """
        if self._is_off or self._any_site:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if host and not self._serves(_hostname(host)):
            raise _refused("Host", host, "a name of this server", "allowed_hosts")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and not self._any_origin and not self._is_own(origin, host):
            raise _refused("Origin", origin, "pages of this server", "allowed_hosts, or cors for pages of any site")

    def check_content(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a body by its content type.

        Raises:
            Failure: with the HTTP status 415.
        """
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        is_browser = b"origin" in headers or b"sec-fetch-site" in headers
        if self._is_off or kind == JSON or (kind in ("", FORM) and not is_browser):
            return
        message = f"The body's Content-Type: expected {JSON}, received {kind[:100] or 'none'}"
        raise HttpFailure(415, StatusCode.INVALID_ARGUMENT, message)

    def _serves(self, name: str) -> bool:
        if name in ("localhost", self._host) or self._is_allowed(name):
            return True
        address = address_of(name)
        # The name of another site is never an IP address.
        return address is not None and (address.is_loopback or not self._is_local)

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            site = urlsplit(origin).netloc.lower()
        except ValueError:
            return False
        return bool(site) and (site == host.lower() or self._is_allowed(_hostname(site)))

    def _is_allowed(self, name: str) -> bool:
        return any(fnmatchcase(name, allowed) for allowed in self._allowed_hosts)


def _hostname(host: str) -> str:
    """Return a host without its port, in lower case."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")


def _refused(header: str, received: str, expected: str, setting: str) -> HttpFailure:
    message = f"{header}: expected {expected}, received {received[:100]}. The setting for others is {setting}"
    return HttpFailure(403, StatusCode.PERMISSION_DENIED, message)


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
        if self._bearer:
            self._bearer.check(headers.get(b"authorization", b"").decode("latin-1"))
