"""What an API server refuses, and why it cannot be reached, in one plain line with what to do.

Codes and messages: k8s.io/apimachinery/pkg/api/errors and the API conventions ("HTTP Status codes").
"""

import http.client
from typing import TypeVar

import msgspec

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.kubernetes_objects import ApiStatus, Details
from hpclaunch.values.errors import SchedulerError

CONFLICT = 409
FORBIDDEN = 403
NOT_FOUND = 404

RIGHTS = "Ask for the rights: `hpclaunch site export rbac` prints what the administrator applies."
QUOTA = "Ask for less, wait for other jobs' ends, or ask the administrator for more."
LATER = "Try again in a minute."
REACH = (
    "Check the network, HTTPS_PROXY and NO_PROXY, and the context: `kubectl config get-contexts` lists them."
)

T = TypeVar("T")


class Answer(Refused):
    """The server's no. `code` is HTTP's, and `kind` what the server says it is about."""

    def __init__(self, code: int, message: str, advice: str = "", kind: str = "", reason: str = ""):
        self.code = code
        self.kind = kind
        self.reason = reason
        super().__init__(message, advice)


def understood(body: bytes, form: type[T]) -> T:
    """An answer of the server as an object. Raises SchedulerError where it is none."""
    try:
        return msgspec.json.decode(body, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SchedulerError(
            f"the cluster's answer is not understood: {error}", "Is the kubeconfig's server an API server?"
        ) from error


def status_in(body: bytes | str | None) -> ApiStatus:
    """The API's own account of a refusal. A proxy's or a web server's page has none: its text then."""
    text = body.encode() if isinstance(body, str) else body or b""
    try:
        return msgspec.json.decode(text, type=ApiStatus)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = " ".join(text.decode("utf-8", "replace").split())
        return ApiStatus(message="" if said.startswith("<") else said[:300])


def refusal(code: int, status: ApiStatus, what: str) -> SchedulerError:
    """An answer that is not what was asked for. `what` was to be done: "to make the MPIJob train". A server
    that failed may have done it all the same, so that is no refusal."""
    said = status.message or f"HTTP {code}"
    details = status.details or Details()
    if code >= 500 or code == 408:
        return SchedulerError(f"the cluster failed {what}: {said} ({code})", LATER)
    message, advice = _words(code, said, details, what)
    return Answer(code, message, advice, details.kind, status.reason or "")


def _words(code: int, said: str, details: Details, what: str) -> tuple[str, str]:
    if code == 401:
        return (
            f"the cluster does not know who you are: {said}",
            "Log in again as your site does it (on OpenShift: `oc login`), and see `kubectl auth whoami`.",
        )
    if code == FORBIDDEN and "exceeded quota" in said:
        return f"the namespace's quota does not allow {what}: {said}", QUOTA
    if code == FORBIDDEN:
        return f"the cluster does not allow you {what}: {said}", RIGHTS
    if code == 400 and "strict decoding" in said:
        return (
            f"the cluster does not know fields of the manifest: {said}",
            "The site file's `mpi_operator` or `version` is newer than what the cluster runs.",
        )
    if code in (400, 422):
        causes = [f"{one.field}: {one.message}" if one.field else one.message for one in details.causes or ()]
        return f"the cluster refuses the manifest: {'; '.join(causes) or said}", ""
    if code == 429:
        return f"the cluster has too much to do {what}: {said}", LATER
    return f"the cluster refused {what}: {said} ({code})", ""


def unreachable(host: str, error: BaseException) -> SchedulerError:
    """No answer. The library's own text is long, repeats the URL and may show a proxy's password, so only
    what kind of trouble it is counts."""
    from urllib3 import exceptions

    while isinstance(error, exceptions.MaxRetryError) and error.reason is not None:
        error = error.reason
    text = str(error)
    if isinstance(error, exceptions.ProxyError):
        why, advice = "the proxy does not let it through", "Check HTTPS_PROXY, NO_PROXY and `proxy-url`."
    elif isinstance(error, exceptions.SSLError) or "CERTIFICATE" in text or "SSL" in text:
        why = f"no trusted connection ({_tail(text)})"
        advice = "Check the certificates in the kubeconfig, and whether the login has expired."
    elif isinstance(error, exceptions.NameResolutionError) or "resolve" in text:
        why, advice = "nobody knows its name", REACH
    elif isinstance(error, exceptions.NewConnectionError):  # before the next: it was one of them once
        why, advice = f"it takes no connection ({_tail(text)})", REACH
    elif isinstance(error, exceptions.ConnectTimeoutError):
        why, advice = "it takes no connection in time", REACH
    elif isinstance(error, exceptions.ReadTimeoutError):
        why, advice = "it does not answer in time", LATER
    elif isinstance(error, exceptions.LocationValueError):
        why, advice = "that is no address of an API server", REACH
    elif isinstance(error, exceptions.ResponseError):
        why, advice = "it sends to other addresses, as a page to log in does", REACH
    else:
        why, advice = f"the connection was lost ({_lost(error)})", LATER
    return SchedulerError(f"the cluster at {host} cannot be reached: {why}", advice)


def _lost(error: BaseException) -> str:
    """What ended a connection. Bytes that came in place of an answer are not shown: they may be anything."""
    cause = next((one for one in reversed(error.args) if isinstance(one, Exception)), error)
    if isinstance(cause, OSError):
        return cause.strerror or str(cause)
    if isinstance(cause, http.client.IncompleteRead):
        return "its answer was cut off"
    if isinstance(cause, http.client.HTTPException):
        return "what came is no HTTP"
    return _tail(str(cause))


def _tail(text: str) -> str:
    """The end of a message that begins with an object's address."""
    return text.rstrip(")").rsplit(": ", 1)[-1].strip(" '\",") or "no more is known"
