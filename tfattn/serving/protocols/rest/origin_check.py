"""Refusal of requests that web pages of other sites make a browser send.

A page of any site can make the browser of somebody who may reach this server send it requests. It is held off by what
browsers say of them: the host by which they name the server, which is the page's own where its address was made to
point to this machine (DNS rebinding); the origin of the page; and a content type with which they ask before they send.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from grpc import StatusCode

from tfattn.serving.protocols.listening import address_of, is_loopback
from tfattn.serving.protocols.rest.response import HttpFailure
from tfattn.serving.section import Serving

JSON, FORM = "application/json", "application/x-www-form-urlencoded"  # curl -d says the latter of all that it sends


class OriginCheck:
    """Refuses requests of other sites' pages.

    Programs that are no browsers may send JSON without a content type, or with that of a form, as curl and TF Serving's
    clients do. Where a token is needed, which no other site knows, any host and origin will do.

    Args:
        serving: the settings.
    """

    def __init__(self, serving: Serving):
        self._is_off = "browser_safety" in serving.as_tf_serving
        self._any_site, self._any_origin = serving.token_file is not None, serving.cors
        self._host, self._allowed_hosts = serving.host.lower(), tuple(map(str.lower, serving.allowed_hosts))
        self._is_local = is_loopback(serving.host)

    def check_site(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse a request by its host and origin.

        Args:
            headers: the request's, with names in lower case.

        Raises:
            Failure: PERMISSION_DENIED.
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
        # No other site has an address for its name.
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
    """Return a host without its port."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")


def _refused(header: str, received: str, expected: str, setting: str) -> HttpFailure:
    message = f"{header}: expected {expected}, received {received[:100]}. The setting for others is {setting}"
    return HttpFailure(403, StatusCode.PERMISSION_DENIED, message)
