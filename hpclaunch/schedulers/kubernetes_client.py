"""The API server, asked through the official client: what may be asked again is, for a bounded time.

Answers are read as they come, into the structs of `kubernetes_objects`: the client's own models refuse what
a newer or older server sends.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hpclaunch.records.record import Cluster
from hpclaunch.schedulers.kubernetes_errors import (
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    Answer,
    refusal,
    status_in,
    understood,
    unreachable,
)
from hpclaunch.schedulers.kubernetes_login import connect, library
from hpclaunch.schedulers.kubernetes_manifest import Kind, Manifest
from hpclaunch.schedulers.kubernetes_objects import (
    Event,
    Groups,
    JobObject,
    Listing,
    Pod,
    SecretObject,
    Version,
)

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, Retry

CONNECT_S = 10.0
READ_S = 20.0  # between two pieces of an answer
RETRIES = 4
BACKOFF_S = 0.5  # doubled from each time to the next
LONGEST_PAUSE_S = 10.0  # whatever Retry-After says
PAGE = 500
CHUNK = 65_536
UNKNOWN_USER = 401

T = TypeVar("T", bound=msgspec.Struct)
Call = Callable[..., "BaseHTTPResponse"]


class Client:
    """One cluster. Raises SchedulerError where it cannot be reached, and Answer where it says no.

    Every request may be sent again when no answer came: reading changes nothing, deleting names the one
    object by its uid, and creating finds the name taken.
    """

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self._library = library()
        from urllib3.exceptions import HTTPError

        self._no_answer = (HTTPError, OSError)
        self._known: Any = None

    @property
    def host(self) -> str:
        """The server's address, as far as it is known."""
        return str(self._known.configuration.host) if self._known else self.cluster.context

    def version(self) -> str:
        """For example "Kubernetes v1.29.3"."""
        body = self._ask("to tell its version", lambda api: self._library.VersionApi(api).get_code)
        return f"Kubernetes {understood(body.data, Version).git_version}"

    def create(self, manifest: Manifest, dry_run: bool = False) -> tuple[JobObject, list[str]]:
        """Makes the object; also the server's remarks. With `dry_run` it only checks whether it would."""
        more = {"dry_run": "All"} if dry_run else {}
        answer = self._custom(
            f"to make the {manifest.kind.name} {manifest.name} in namespace {manifest.namespace}",
            "create_namespaced_custom_object",
            manifest.kind,
            manifest.namespace,
            body=manifest.body,
            field_validation="Strict",
            field_manager="hpclaunch",
            **more,
        )
        remarks = [_remark(value) for value in answer.headers.getlist("Warning")]
        return understood(answer.data, JobObject), remarks

    def job(self, kind: Kind, name: str) -> JobObject | None:
        """The object of that name, if there is one."""
        try:
            answer = self._custom(
                f"to show the {kind.name} {name}",
                "get_namespaced_custom_object",
                kind,
                self.cluster.namespace,
                name=name,
            )
        except Answer as error:
            if error.code == NOT_FOUND:
                return None
            raise
        return understood(answer.data, JobObject)

    def jobs(self, kind: Kind, selector: str) -> list[JobObject]:
        """All objects of a kind with such labels; none where the cluster does not have the kind."""
        try:
            return self._all(
                JobObject,
                lambda **page: self._custom(
                    f"to list {kind.plural}",
                    "list_namespaced_custom_object",
                    kind,
                    self.cluster.namespace,
                    label_selector=selector,
                    **page,
                ),
            )
        except Answer as error:
            if error.code == NOT_FOUND:
                return []
            raise

    def delete(self, kind: Kind, found: JobObject) -> None:
        """Asks for the end of this very object, and of all that belongs to it before its name is free."""
        try:
            self._custom(
                f"to delete the {kind.name} {found.metadata.name}",
                "delete_namespaced_custom_object",
                kind,
                self.cluster.namespace,
                name=found.metadata.name,
                body=self._library.V1DeleteOptions(
                    propagation_policy="Foreground",
                    preconditions=self._library.V1Preconditions(uid=found.metadata.uid),
                ),
            )
        except Answer as error:
            if error.code not in (NOT_FOUND, CONFLICT):  # it is gone, and perhaps another has its name
                raise

    def pods(self, selector: str) -> list[Pod]:
        """All pods with such labels; none where you may not see pods."""
        return self._seen(Pod, "to list pods", "list_namespaced_pod", label_selector=selector)

    def events(self) -> list[Event]:
        """What lately happened in the namespace; nothing where you may not see it."""
        return self._seen(Event, "to list events", "list_namespaced_event", field_selector="type!=Normal")

    def log(self, pod: str, container: str, seconds: int | None) -> Iterator[bytes]:
        """What a container wrote in the last `seconds` (None: since its start), each line after its time."""
        answer = self._core(
            f"to show the log of {pod}",
            "read_namespaced_pod_log",
            whole=False,
            name=pod,
            container=container,
            timestamps=True,
            since_seconds=seconds,
        )
        try:
            yield from answer.stream(CHUNK)
        except self._no_answer as error:
            raise unreachable(self.host, error) from error
        finally:
            answer.release_conn()

    def make_secret(self, body: dict[str, Any]) -> SecretObject:
        """Makes a Secret."""
        what = f"to make the Secret {body['metadata']['name']} in namespace {self.cluster.namespace}"
        return understood(self._core(what, "create_namespaced_secret", body=body).data, SecretObject)

    def secret(self, name: str) -> SecretObject:
        """A Secret's name and owner; its values are not kept."""
        answer = self._core(f"to see the Secret {name}", "read_namespaced_secret", name=name)
        return understood(answer.data, SecretObject)

    def change_secret(self, name: str, change: dict[str, Any]) -> None:
        """Changes what a Secret says of itself."""
        self._core(f"to change the Secret {name}", "patch_namespaced_secret", name=name, body=change)

    def delete_secret(self, found: SecretObject) -> None:
        """Deletes this very Secret. No error where it is gone."""
        name, uid = found.metadata.name, found.metadata.uid
        options = self._library.V1DeleteOptions(preconditions=self._library.V1Preconditions(uid=uid))
        try:
            self._core(f"to delete the Secret {name}", "delete_namespaced_secret", name=name, body=options)
        except Answer as error:
            if error.code != NOT_FOUND:
                raise

    def served(self, group: str) -> list[str]:
        """The versions of a group of kinds that the cluster serves."""
        body = self._ask("to list its kinds", lambda api: self._library.ApisApi(api).get_api_versions)
        for one in understood(body.data, Groups).groups or ():
            if one.name == group:
                return [found.version for found in one.versions or ()]
        return []

    def _custom(self, what: str, call: str, kind: Kind, namespace: str, **more: Any) -> "BaseHTTPResponse":
        return self._ask(
            what,
            lambda api: partial(
                getattr(self._library.CustomObjectsApi(api), call),
                group=kind.group,
                version=kind.version,
                namespace=namespace,
                plural=kind.plural,
                **more,
            ),
        )

    def _core(self, what: str, call: str, whole: bool = True, **more: Any) -> "BaseHTTPResponse":
        namespace = self.cluster.namespace
        return self._ask(
            what,
            lambda api: partial(getattr(self._library.CoreV1Api(api), call), namespace=namespace, **more),
            whole,
        )

    def _seen(self, form: type[T], what: str, call: str, **more: Any) -> list[T]:
        try:
            return self._all(form, lambda **page: self._core(what, call, **more, **page))
        except Answer as error:
            if error.code == FORBIDDEN:
                return []
            raise

    def _all(self, form: type[T], call: Call) -> list[T]:
        found: list[T] = []
        page: dict[str, Any] = {"limit": PAGE}
        while True:
            part = understood(call(**page).data, Listing[form])  # type: ignore[valid-type]
            found.extend(part.items)
            if not part.metadata.more:
                return found
            page["_continue"] = part.metadata.more

    def _ask(self, what: str, call: Callable[[Any], Call], whole: bool = True) -> "BaseHTTPResponse":
        """One answer of the server. A login that has expired meanwhile is read anew, once."""
        fresh = self._known is None
        try:
            return self._once(what, call, whole)
        except Answer as error:
            if error.code != UNKNOWN_USER or fresh:
                raise
        self._known = None
        return self._once(what, call, whole)

    def _once(self, what: str, call: Callable[[Any], Call], whole: bool) -> "BaseHTTPResponse":
        if self._known is None:
            self._known = connect(self.cluster, _retries())
        try:
            answer = call(self._known)(_preload_content=False, _request_timeout=(CONNECT_S, READ_S))
            if whole:
                _ = answer.data  # read here, where it is known what a lost connection means
        except self._library.ApiException as error:
            if not error.status:  # the client's form of a TLS error
                raise unreachable(self.host, error) from error
            raise refusal(error.status, status_in(error.body), what) from error
        except self._no_answer as error:
            raise unreachable(self.host, error) from error
        return answer


def _retries() -> "Retry":
    """How often a request is sent again, and after how long: bounded, whatever the server asks for."""
    from urllib3 import Retry

    class Bounded(Retry):
        def get_retry_after(self, response: Any) -> float | None:
            asked = super().get_retry_after(response)
            return None if asked is None else min(asked, LONGEST_PAUSE_S)

    return Bounded(
        total=RETRIES,
        connect=2,
        read=2,
        redirect=0,
        allowed_methods=None,  # all: see Client
        status_forcelist=(429, 500, 502, 503, 504),
        backoff_factor=BACKOFF_S,
        raise_on_status=False,  # the last answer says why
    )


def _remark(header: str) -> str:
    """The text of a Warning header: 299 - "unknown field \\"spec.x\\""."""
    parts = header.split('"', 1)
    return parts[-1].rpartition('"')[0].replace('\\"', '"') if len(parts) == 2 else header
