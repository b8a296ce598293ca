"""Which cluster, and as whom: kubeconfig files or a pod's own account, read by the official client."""

import logging
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import yaml

from hpclaunch.records.record import Cluster
from hpclaunch.schedulers.kubernetes_manifest import parsed
from hpclaunch.values.errors import SchedulerError

NO_CLUSTER = "Set KUBECONFIG to the file that your site gave you, or log in (on OpenShift: `oc login`)."


def resolve(namespace: str, context: str | None, environ: Mapping[str, str]) -> Cluster:
    """The cluster that a submission from this shell goes to: `context`, else the current one, of the files in
    KUBECONFIG, else of ~/.kube/config, else the cluster of the pod that this runs in.

    Raises SchedulerError where there is none.
    """
    paths = _kubeconfig(environ)
    if not paths:
        if environ.get("KUBECONFIG"):
            raise SchedulerError(f"KUBECONFIG names no file that exists: {environ['KUBECONFIG']}", NO_CLUSTER)
        if environ.get("KUBERNETES_SERVICE_HOST") and context is None:
            return Cluster(namespace)
        raise SchedulerError("this shell knows of no Kubernetes cluster", NO_CLUSTER)
    contents = [_content(path) for path in paths]
    # The first file that names one wins, as with kubectl; the client's own merging takes the last.
    chosen = context or next((name for one in contents if (name := one.get("current-context"))), None)
    known = [one.get("name") for content in contents for one in content.get("contexts") or ()]
    where = os.pathsep.join(paths)
    if chosen is None:
        raise SchedulerError(
            f"{where} has no current context",
            "Set `kubernetes: {context: ...}` in the site file, or use `kubectl config use-context`.",
        )
    if chosen not in known:
        raise SchedulerError(
            f"{where} has no context {chosen!r}: it has {', '.join(map(str, known)) or 'none'}",
            "Set `kubernetes: {context: ...}` in the site file to one of them.",
        )
    return Cluster(namespace, str(chosen), where)


def library() -> Any:
    """The official client, which is an extra. Raises SchedulerError where it is not installed."""
    try:
        from kubernetes import client
    except ImportError:
        raise SchedulerError(
            "the Python package kubernetes is not installed, which talks to the cluster",
            "Install it: pip install 'hpclaunch[kubernetes]'",
        ) from None
    return client


def connect(cluster: Cluster, retries: Any) -> Any:
    """A client that is set up and has sent nothing yet. Raises SchedulerError where the kubeconfig does not
    have what is needed."""
    client: Any = library()
    from kubernetes import config as untyped

    config: Any = untyped
    # urllib3's remarks on retries, and on certificates that the kubeconfig says not to check, are not for
    # the user's terminal.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message="Unverified HTTPS request")
    # Configuration() gives a copy of a default that other code in the process may have set.
    settings: Any = type.__call__(client.Configuration)
    try:
        if cluster.kubeconfig:
            _all_exist(cluster)
            config.load_kube_config(cluster.kubeconfig, cluster.context or None, settings)
        else:
            config.load_incluster_config(settings)
        _through_proxy(settings, cluster)
        settings.retries = retries
        made = client.ApiClient(settings)
    except SchedulerError:
        raise
    except Exception as error:  # values of odd types, and logins that fail, give errors of any kind
        where = cluster.kubeconfig or "the pod's own account"
        raise SchedulerError(f"{where} cannot be used: {' '.join(str(error).split())}", NO_CLUSTER) from error
    if not all(one.isascii() and one.isprintable() for one in map(str, settings.api_key.values())):
        # Else the library's own error shows it.
        raise SchedulerError(
            f"the token of {cluster.kubeconfig or 'the pod'} has a line break, or another character that no "
            "token has",
            NO_CLUSTER,
        )
    return made


def _all_exist(cluster: Cluster) -> None:
    paths = cluster.kubeconfig.split(os.pathsep)
    if not any(map(os.path.exists, paths)):
        raise SchedulerError(
            f"the kubeconfig with which the job was submitted is gone: {cluster.kubeconfig}", NO_CLUSTER
        )


def _through_proxy(settings: Any, cluster: Cluster) -> None:
    """The `proxy-url` of the kubeconfig, which counts for every host, or HTTPS_PROXY and NO_PROXY of the
    shell. Older clients read neither."""
    proxies = getproxies()
    own = _proxy_url(cluster)
    if own:
        settings.proxy, settings.no_proxy = own, ""
    else:
        settings.proxy = proxies.get(urlsplit(settings.host).scheme)
        settings.no_proxy = proxies.get("no")


def _proxy_url(cluster: Cluster) -> str | None:
    paths = [path for path in cluster.kubeconfig.split(os.pathsep) if path and os.path.exists(path)]
    contents = [_content(path) for path in paths]
    context = _named(contents, "contexts", cluster.context).get("context") or {}
    return (_named(contents, "clusters", context.get("cluster")).get("cluster") or {}).get("proxy-url")


def _named(contents: list[dict[str, Any]], part: str, name: str | None) -> dict[str, Any]:
    found = (one for content in contents for one in content.get(part) or () if one.get("name") == name)
    return next(found, {})


def _kubeconfig(environ: Mapping[str, str]) -> list[str]:
    """The files that exist, as absolute paths."""
    text = environ.get("KUBECONFIG") or os.path.join(environ.get("HOME") or "~", ".kube", "config")
    paths = [os.path.abspath(os.path.expanduser(one)) for one in text.split(os.pathsep) if one]
    return [path for path in paths if os.path.exists(path)]


def _content(path: str) -> dict[str, Any]:
    try:
        content = parsed(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SchedulerError(f"{path} cannot be read: {' '.join(str(error).split())}", NO_CLUSTER) from error
    if not isinstance(content, dict):
        raise SchedulerError(f"{path} is not a kubeconfig", NO_CLUSTER)
    for part in ("contexts", "clusters", "users"):
        entries = content.get(part) or []
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise SchedulerError(f"{path} is not a kubeconfig: {part} must be a list of names", NO_CLUSTER)
    return content
