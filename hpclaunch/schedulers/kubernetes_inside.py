"""A command in a pod of a job that runs: that of a rank, or of the launcher."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from hpclaunch.records.record import Cluster, Record
from hpclaunch.schedulers import terminal
from hpclaunch.schedulers.contract import Refused, Warn
from hpclaunch.schedulers.kubernetes import Kubernetes
from hpclaunch.schedulers.kubernetes_client import CONNECT_S, Client
from hpclaunch.schedulers.kubernetes_errors import FORBIDDEN, NOT_FOUND, Answer
from hpclaunch.schedulers.kubernetes_objects import Pod
from hpclaunch.schedulers.kubernetes_states import launcher_of, workers_of
from hpclaunch.schedulers.kubernetes_stream import PROTOCOLS, Stream
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.pods import ROLE_LABEL

_RIGHTS = (
    "That takes the verbs create and get of pods/exec: ask for the Role hpclaunch-exec, which "
    "`hpclaunch site export rbac` prints."
)


class Place(Struct, frozen=True):
    """Where a command runs: in the launcher, in worker `number` of several, or in the job's one pod (None).
    `container` is its container's name."""

    container: str
    number: int | None = None
    launcher: bool = False


def run(record: Record, place: Place, words: Sequence[str], warn: Warn) -> int:
    """Runs `words` there, with this process' own streams, and gives their exit status. Raises InputError
    where the job has no such pod that runs, Refused where you may not, and SchedulerError."""
    cluster = record.intent.cluster
    if cluster is None:
        raise InputError(f"the record of job {record.state().job_id} does not say on which cluster it is")
    try:
        [word.encode() for word in words]
    except UnicodeEncodeError:
        raise InputError("what goes to a pod must be UTF-8, and one of the words is not") from None
    pod = _pod(record, cluster, place)
    keys = terminal.is_there()
    reads = keys or not _has_no_input()
    socket = _Entry(cluster).open(pod.name, place.container, words, keys, reads)
    try:
        return Stream(socket, warn).run(keys, reads)
    finally:
        socket.close(timeout=1)


def _pod(record: Record, cluster: Cluster, place: Place) -> Pod:
    job = record.state().job_id
    pods = Kubernetes(cluster).own_pods(record)
    if place.launcher or place.number is None:
        one = launcher_of(pods)
    else:
        end = f"-worker-{place.number}"
        one = next((pod for pod in workers_of(pods) if pod.name.endswith(end)), None)
    role = "launcher" if place.launcher else "worker"
    if one is None or one.metadata.label(ROLE_LABEL) != role:
        what = "launcher" if place.launcher else f"pod of worker {place.number or 0}"
        raise InputError(
            f"job {job} has no {what} now: it has not begun or has ended, or you may not list pods"
        )
    if not one.runs:
        raise InputError(f"the pod {one.name} of job {job} does not run: `hpclaunch status {job}` tells more")
    return one


def _has_no_input() -> bool:
    """Whether there is nothing to read, and never will be."""
    try:
        return os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev
    except OSError:
        return True  # it is closed


class _Entry(Client):
    """One cluster, for a websocket into a container."""

    def open(self, pod: str, container: str, words: Sequence[str], keys: bool, reads: bool) -> Any:
        """The websocket. Raises Refused, and SchedulerError."""
        what = f"to run a command in the pod {pod}"
        try:
            opened: Any = self._ask(
                what,
                lambda api: self._call(
                    api,
                    name=pod,
                    namespace=self.cluster.namespace,
                    container=container,
                    command=[*words],
                    stdin=reads,
                    stdout=True,
                    stderr=not keys,  # a terminal is one stream
                    tty=keys,
                ),
                whole=False,
            )
        except Answer as error:
            raise _explained(error, pod, container) from error
        socket = opened.sock
        socket.settimeout(None)
        return socket

    def _call(self, api: Any, **asked: Any) -> Callable[..., Any]:
        from kubernetes.stream import stream

        api.set_default_header("sec-websocket-protocol", ",".join(PROTOCOLS))  # older clients know only v4
        method = self._library.CoreV1Api(api).connect_get_namespaced_pod_exec
        return partial(self._connected, partial(stream, method, **asked))

    def _connected(self, call: Callable[..., Any], **more: Any) -> Any:
        """What the library makes one text of is told apart: an answer, and that none came."""
        import websocket

        websocket.setdefaulttimeout(CONNECT_S)
        try:
            return call(**more)
        except self._library.ApiException as error:
            cause = error.__context__
            if isinstance(cause, websocket.WebSocketBadStatusException):
                error.status, error.body = cause.status_code, cause.resp_body
            elif isinstance(cause, websocket.WebSocketException):
                raise OSError(str(cause)) from error
            elif cause is not None:
                raise cause from None
            raise


def _explained(error: Answer, pod: str, container: str) -> SchedulerError:
    """In the words of someone who wants a command to run."""
    if error.code == FORBIDDEN:
        return Refused(f"the cluster does not allow you to run a command in the pod {pod}", _RIGHTS)
    if error.code == NOT_FOUND:
        return Refused(f"the pod {pod} is gone")
    if error.code == 400:
        return Refused(f"the container {container} of the pod {pod} takes no command: it may have just ended")
    return error
