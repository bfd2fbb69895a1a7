"""Requests of JSON to the server of a model: tried again where that may help, bounded in time and size, not redirected.

A key stands in a header and nowhere else: not in an address, a message or a file.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ctxarc.errors import BadUsage, ServerRefused, ServerUnreachable
from ctxarc.operations.models.model import Waits

RESPONSE_LIMIT = 256 << 20
"""Bytes of an answer; 2,048 vectors of 4,096 numbers have 170 MB as decimals."""
_AGAIN = {408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
"""Statuses after which a request may succeed when it is made again."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
_PATIENCE = 600.0
"""Seconds that a server may ask to wait for; one that asks for more is not waited for."""
_HURRY = 3.0
"""Seconds that a request may take when the user wants an end."""
_PIECE = 1 << 16
_SHOWN = 300
"""Characters of a server's words that a message has."""
_FAULTS = (OSError, http.client.HTTPException)
"""What a connection that fails raises."""


class Reach(NamedTuple):
    """How a server is reached.

    Attributes:
        timeout: seconds that a request may take.
        retries: how often a request that failed is made again.
        key: sent as a bearer token; never shown.
        proxies: by scheme, as ``urllib`` takes them; none is used for this machine itself.

    """

    timeout: float = 120.0
    retries: int = 5
    key: str | None = None
    proxies: Mapping[str, str] = {}


class HttpStatus(Exception):
    """A server's answer that is no result: its status, and its own words."""

    def __init__(self, status: int, words: str, wait: str | None) -> None:
        super().__init__(words)
        self.status, self.words, self.wait = status, words, wait


def server_url(url: str) -> str:
    """The address of a server as it is used: http or https, with a host, no user, question or fragment.

    Raises:
        BadUsage: it is none, or would carry a secret into messages and files.

    """
    hint = "an address is http://HOST:PORT, or https://HOST/PATH"
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        parts, fine = urlsplit(""), False
    if "@" in parts.netloc:  # before anything shows it
        raise BadUsage("the address of a server has a user or a password in it", hint="give a key with --key-env NAME")
    if not fine or any(char.isspace() or not char.isprintable() for char in url):
        raise BadUsage(f"{url!r} is no address of a server", hint=hint)
    if parts.query or parts.fragment:
        raise BadUsage(f"{url!r} has more than a path", hint=hint)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine itself."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: texts and key are for the host that was named."""

    def redirect_request(self, *_: object) -> None:
        """No other request."""
        return


def _never(_status: HttpStatus) -> bool:
    return False


class Http:
    """A server at ``url``."""

    def __init__(self, url: str, reach: Reach, waits: Waits) -> None:
        self.url = server_url(url)
        self._reach, self._waits = reach, waits
        if reach.key is not None and not (reach.key.isascii() and reach.key.isprintable() and reach.key.strip()):
            raise BadUsage("the key is empty, or has characters that no key has", hint="look at its variable")
        proxies = {} if is_loopback(self.url) else dict(reach.proxies)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirect())
        self._answered = False

    def hurry(self) -> None:
        """Try once from now on, and not for long."""
        self._reach = self._reach._replace(timeout=min(self._reach.timeout, _HURRY), retries=0)

    def get(self, path: str) -> Any:  # noqa: ANN401 - any JSON value
        """The JSON at a path."""
        return self.request(path, None)

    def request(self, path: str, body: object, final: Callable[[HttpStatus], bool] = _never) -> Any:  # noqa: ANN401
        """The JSON that answers a GET, or a POST of ``body`` where that is not ``None``.

        ``final`` says of a refusal whether it would be the same again.

        Raises:
            ServerUnreachable: nobody answers, or not to the end.
            HttpStatus: the server refuses, and would again.
            ServerRefused: its answer is too long, or no JSON.

        """
        data = None if body is None else json.dumps(body).encode()
        tries = 0
        while True:
            try:
                found = self._once(path, data)
            except HttpStatus as status:
                if status.status not in _AGAIN or tries >= self._reach.retries or final(status):
                    raise
                wait = self._asked(status)
            except _FAULTS as fault:
                if tries >= self._reach.retries or (not self._answered and _hopeless(fault)):
                    raise self._unreachable(path, fault, tries + 1) from fault
                wait = 0.0
            else:
                return self._parsed(path, found)
            self._waits.sleep(max(wait, self._back_off(tries)))
            tries += 1

    def _back_off(self, tries: int) -> float:
        """Twice as long each time, and never quite as long as another client waits."""
        return float(min(_FIRST_WAIT * 2**tries, _LONGEST_WAIT) * (0.5 + self._waits.chance() / 2))

    def _asked(self, status: HttpStatus) -> float:
        """Seconds that the server asked to wait for."""
        text = (status.wait or "").strip()
        try:
            wait = float(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - self._waits.now()
        except ValueError:
            return 0.0
        if wait > _PATIENCE:
            message = f"{self.url} answers {status.status} and asks to wait for {wait:,.0f} s"
            raise ServerRefused(message, url=self.url, status=status.status, retry_after=wait) from status
        return max(wait, 0.0)

    def _once(self, path: str, data: bytes | None) -> bytes:
        headers = {"Accept": "application/json", "User-Agent": "ctxarc"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data, headers)  # noqa: S310 - http or https, see server_url
        if self._reach.key is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._reach.key}")
        end = self._waits.clock() + self._reach.timeout
        try:
            with self._opener.open(request, timeout=self._reach.timeout) as response:
                found = self._all(response, end)
        except urllib.error.HTTPError as error:
            self._answered = True
            with error:
                raise HttpStatus(error.code, self._words(error), error.headers.get("Retry-After")) from error
        except urllib.error.URLError as error:
            raise error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason)) from error
        self._answered = True
        return found

    def _all(self, response: http.client.HTTPResponse, end: float) -> bytes:
        """The whole body, within its limits."""
        parts, size = [], 0
        while part := response.read1(_PIECE):
            parts.append(part)
            size += len(part)
            if size > RESPONSE_LIMIT:
                raise ServerRefused(f"{self.url} answers with more than {RESPONSE_LIMIT:,} bytes", url=self.url)
            if self._waits.clock() > end:
                message = f"the answer is not complete after {self._reach.timeout:g} s"
                raise TimeoutError(message)
        if response.length:  # fewer bytes came than were announced
            raise http.client.IncompleteRead(b"", response.length)
        return b"".join(parts)

    def _words(self, error: urllib.error.HTTPError) -> str:
        """What the server says of a fault."""
        try:
            text = error.read(_PIECE).decode("utf-8", "replace")
        except _FAULTS:
            return ""
        return _message(text)

    def shown(self, text: str) -> str:
        """A server's words as a message has them: without the key, in one line, not too long."""
        if self._reach.key:
            text = text.replace(self._reach.key, "[key]")
        text = " ".join(text.split())
        return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

    def refused(self, path: str, status: HttpStatus) -> ServerRefused:
        """The refusal that stands for a server's answer."""
        words = self.shown(status.words)
        message = f"{self.url}{path} answers {status.status}" + (f": {words}" if words else "")
        hint = None
        if status.status in {401, 403}:
            hint = "give the server's key with --key-env NAME, the variable that it is in"
        return ServerRefused(message, hint=hint, url=self.url, status=status.status)

    def _unreachable(self, path: str, fault: Exception, tries: int) -> ServerUnreachable:
        timed_out = isinstance(fault, TimeoutError)
        why = (
            f"no answer within {self._reach.timeout:g} s"
            if timed_out
            else self.shown(getattr(fault, "strerror", None) or str(fault) or repr(fault))
        )
        message = f"{self.url}{path}: {why}" + (f", {tries} times" if tries > 1 else "")
        return ServerUnreachable(message, url=self.url, tries=tries)

    def _parsed(self, path: str, data: bytes) -> Any:  # noqa: ANN401 - any JSON value
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            message = f"{self.url}{path} answers with no JSON: {self.shown(data[:_SHOWN].decode('utf-8', 'replace'))}"
            raise ServerRefused(message, url=self.url) from error


def _hopeless(fault: Exception) -> bool:
    """Whether a first request that fails so will fail again: nobody listens, no such host, or not who it should be."""
    return isinstance(fault, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError))


def _message(text: str) -> str:
    """The words in a server's answer, wherever its kind of API has them."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return value if isinstance(value, str) else json.dumps(value)
