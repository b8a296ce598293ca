"""What a running Kubernetes cluster says of itself, through the same client as submissions."""

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hpclaunch.schedulers.kubernetes_client import PAGE, Call, Client
from hpclaunch.schedulers.kubernetes_errors import FORBIDDEN, NOT_FOUND, Answer, understood
from hpclaunch.values.clusterstate import Question, Reply

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

# The client has a method for each kind of the core API, and general ones for all other groups.
_CORE = {
    "namespaces": "namespace",
    "nodes": "node",
    "serviceaccounts": "namespaced_service_account",
    "secrets": "namespaced_secret",
    "configmaps": "namespaced_config_map",
    "persistentvolumeclaims": "namespaced_persistent_volume_claim",
    "resourcequotas": "namespaced_resource_quota",
    "limitranges": "namespaced_limit_range",
}


class Reader(Client):
    """One cluster, of which nothing is changed. Raises SchedulerError where it cannot be reached."""

    def ask(self, question: Question) -> Reply:
        """The answer; what is not there or may not be seen is one too."""
        what = f"to show {question.plural}{f' {question.name}' if question.name else ''}"
        try:
            if question.review:
                what = f"to say what {question.plural} are about"
                return Reply(200, _body(self._request(what, question)))
            if question.name:
                return Reply(200, _without_values(_body(self._request(what, question))))
            return Reply(200, {"items": self._every(what, question)})
        except Answer as error:
            if error.code in (FORBIDDEN, NOT_FOUND):
                return Reply(error.code)
            raise

    def kinds(self, group: str, version: str) -> tuple[str, ...]:
        """The plural names of the kinds in a version of a group, () where it is not served."""
        try:
            answer = self._ask(
                f"to list the kinds of {group}/{version}",
                lambda api: partial(self._library.CustomObjectsApi(api).get_api_resources, group, version),
            )
        except Answer as error:
            if error.code == NOT_FOUND:
                return ()
            raise
        return tuple(kind["name"] for kind in _body(answer).get("resources") or ())

    def _every(self, what: str, question: Question) -> list[Any]:
        items: list[Any] = []
        page: dict[str, Any] = {"limit": PAGE}
        while True:
            part = _body(self._request(what, question, **page))
            items += part.get("items") or ()
            more = (part.get("metadata") or {}).get("continue")
            if not more:
                return items
            page["_continue"] = more

    def _request(self, what: str, question: Question, **more: Any) -> "BaseHTTPResponse":
        if question.namespaced:
            more["namespace"] = self.cluster.namespace
        if question.name:
            more["name"] = question.name
        return self._ask(what, lambda api: self._call(api, question, more))

    def _call(self, api: Any, question: Question, more: dict[str, Any]) -> Call:
        if question.group == "":
            verb = "read" if question.name else "list"
            return partial(getattr(self._library.CoreV1Api(api), f"{verb}_{_CORE[question.plural]}"), **more)
        verb = "create" if question.review else "get" if question.name else "list"
        where = "namespaced" if question.namespaced else "cluster"
        if question.review:
            more = {**more, "body": msgspec.json.decode(question.review)}
        return partial(
            getattr(self._library.CustomObjectsApi(api), f"{verb}_{where}_custom_object"),
            group=question.group,
            version=question.version,
            plural=question.plural,
            **more,
        )


def _body(answer: "BaseHTTPResponse") -> dict[str, Any]:
    return understood(answer.data, dict[str, Any])


def _without_values(body: dict[str, Any]) -> dict[str, Any]:
    """A Secret with its keys alone: nobody here has a use for what is in it."""
    if body.get("kind") == "Secret":
        return {**body, "data": dict.fromkeys(body.get("data") or {}, "")}
    return body
