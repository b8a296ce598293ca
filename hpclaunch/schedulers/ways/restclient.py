"""Talking to slurmrestd: HTTP over a unix socket or TCP, with a token that stays in its header."""

import http.client
import os
import pwd
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hpclaunch.schedulers.contract import Busy, Final, Refused
from hpclaunch.schedulers.slurm_advice import advice_for, kind_of
from hpclaunch.schedulers.ways import token
from hpclaunch.values.errors import SchedulerError, first_line
from hpclaunch.values.slurmaccess import RestServer

_SOCKET = "unix:"


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class RestClient:
    """One server. Whoever is behind a socket knows this user by the kernel's word; else a token says it."""

    def __init__(self, server: RestServer):
        self.server = server

    def ask(self, method: str, path: str, limit_s: float, body: Any = None) -> dict[str, Any]:
        """The answer to a request, `path` after /slurm/VERSION/. Raises Refused where the server said no or
        was never reached, and SchedulerError where it may have done what it was asked for."""
        return self._request(method, f"/slurm/{self.server.api}/{path}", limit_s, body)

    def ask_accounts(self, path: str, limit_s: float) -> dict[str, Any]:
        """The same of the accounts' API, which not every slurmrestd serves, nor every cluster has."""
        return self._request("GET", f"/slurmdb/{self.server.api}/{path}", limit_s, None)

    def check(self, limit_s: float) -> dict[str, Any]:
        """The answer to a ping. Raises Refused where slurmrestd does not get through to the controller. Of a
        submission with a token that is no good it would only say that the connection broke off."""
        try:
            return self.ask("GET", "ping", limit_s)
        except (Busy, Final, token.Ended):
            raise
        except SchedulerError as error:
            why = first_line(error)
            raise Refused(f"slurmrestd does not get through to Slurm: {why}", token.ADVICE) from error

    def served(self, limit_s: float) -> tuple[str, ...]:
        """The versions of the API that the server has. Raises as `ask` does."""
        paths = self._request("GET", "/openapi/v3", limit_s, None).get("paths") or {}
        found = {part[2] for path in paths if len(part := path.split("/")) > 2 and part[1] == "slurm"}
        return tuple(sorted(found))

    def _request(self, method: str, path: str, limit_s: float, body: Any) -> dict[str, Any]:
        """Raises Final where a token has ended that this process cannot get anew, and nothing was done."""
        used = token.token(self.server)
        try:
            return self._answer(method, path, limit_s, body, used)
        except Busy:
            raise
        except SchedulerError as error:
            ended = used.ended() if used else ""
            if not used or not ended:
                raise
            kind: type[SchedulerError] = SchedulerError
            # What asks does nothing; a submission may have been taken, should another clock be behind.
            if method == "GET" or isinstance(error, Refused):
                kind = token.Ended if used.in_file else Final
            said = f"the token in {used.source} ended {ended} (slurmrestd says: {first_line(error)})"
            raise kind(said, used.renewal()) from error

    def _answer(
        self, method: str, path: str, limit_s: float, body: Any, used: token.Token | None
    ) -> dict[str, Any]:
        headers = {"Accept": "application/json", **self._identity(used)}
        data = None
        if body is not None:
            data, headers["Content-Type"] = msgspec.json.encode(body), "application/json"
        connection = self._connection(limit_s)
        try:
            try:
                connection.connect()
            except ssl.SSLError as error:
                advice = "Set slurm.rest.ca_file to the authorities that the site's servers are signed by."
                raise Refused(f"{self.server.url} is not trusted: {error}", advice) from error
            except OSError as error:
                advice = "Is slurmrestd running there? See slurm.rest.url in the site file."
                raise Busy(f"{self.server.url} cannot be reached: {error}", advice) from error
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                status, text = answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                what = str(error) or type(error).__name__
                raise SchedulerError(f"{self.server.url} broke the connection off: {what}") from error
        finally:
            connection.close()
        return self._understood(status, text, used)

    def _connection(self, limit_s: float) -> http.client.HTTPConnection:
        if self.server.url.startswith(_SOCKET):
            return _SocketConnection(self.server.url.removeprefix(_SOCKET), limit_s)
        parts = urlsplit(self.server.url)
        assert parts.hostname
        if parts.scheme == "https":
            try:
                trust = ssl.create_default_context(cafile=self.server.ca_file)
            except OSError as error:
                raise Refused(f"the site's slurm.rest.ca_file cannot be used: {error}") from error
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=limit_s, context=trust)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=limit_s)

    def _identity(self, used: token.Token | None) -> dict[str, str]:
        if used is None:
            return {}
        user = self.server.user or pwd.getpwuid(os.getuid()).pw_name
        return {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": used.text}

    def _understood(self, status: int, text: bytes, used: token.Token | None) -> dict[str, Any]:
        if status in (401, 403):
            # Another one may come into the file, but not into this process's environment.
            kind = Refused if used is not None and used.in_file else Final
            raise kind(f"slurmrestd does not know this user (HTTP {status})", token.ADVICE)
        if status == 404 and not text.lstrip().startswith(b"{"):
            raise Refused(
                f"slurmrestd does not serve the API {self.server.api}",
                "`hpclaunch doctor --site SITE` lists what it serves: set slurm.rest.api.",
            )
        try:
            answer = msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SchedulerError(f"the answer of slurmrestd (HTTP {status}) is not understood") from error
        said = [_words(error) for error in answer.get("errors") or ()]
        # What was submitted is, whatever is said beside its id ("Job is in held state").
        if (said or status >= 400) and not answer.get("job_id"):
            message = "; ".join(dict.fromkeys(filter(None, said))) or f"slurmrestd answered HTTP {status}"
            # Of a token that is no good slurmrestd knows no more than of a controller that is away.
            advice = advice_for(message) or (token.ADVICE if used and status >= 500 else "")
            raise kind_of(message)(message, advice)
        return answer


def _words(error: Any) -> str:
    """An entry of `errors`: its fields differ by version, and repeat one another."""
    if not isinstance(error, dict):
        return str(error)
    parts = (error.get("error"), error.get("description"))
    words = [part for part in parts if isinstance(part, str) and part and part != "Unspecified error"]
    return ": ".join(dict.fromkeys(words))
