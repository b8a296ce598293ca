"""A cluster in which nothing is lacking, behind the server of `apiserver`: objects by their path, the kinds
of each group, and the cluster's opinion of who may do what."""

import json
from typing import Any

from apiserver import ApiServer, Refusal, Request

Object = dict[str, Any]

ADAS = "/api/v1/namespaces/adas"
NODES = "/api/v1/nodes"
RESOURCES = {
    "nvidia.com/gpu": "8",
    "cpu": "79500m",
    "memory": "480Gi",
    "hugepages-2Mi": "2Gi",
    **{f"rdma/shared_ib{number}": "100" for number in range(4)},
}


def node(name: str, **labels: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "gpu": "here", **labels}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": dict(RESOURCES),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def named(name: str, **more: Any) -> Object:
    return {"metadata": {"name": name}, **more}


class Cluster:
    """What the server answers, to be changed by tests. `denied` are (verb, resource) that reviews deny, and
    `hidden` parts of paths that may not be seen."""

    def __init__(self, server: ApiServer) -> None:
        self.release = "v1.29.3+k3s1"
        self.kinds = {
            "kubeflow.org/v2beta1": ["mpijobs", "mpijobs/status"],
            "kueue.x-k8s.io/v1beta1": ["localqueues"],
            "scheduling.volcano.sh/v1beta1": ["queues"],
        }
        self.objects: dict[str, Object] = {
            ADAS: named("adas"),
            f"{ADAS}/serviceaccounts/mpi": named("mpi"),
            f"{ADAS}/secrets/ngc": named("ngc", kind="Secret", type="kubernetes.io/dockerconfigjson"),
            f"{ADAS}/secrets/wandb": named("wandb", kind="Secret", data={"token": "c2VjcmV0"}),
            f"{ADAS}/configmaps/topology": named("topology"),
            f"{ADAS}/persistentvolumeclaims/data": named(
                "data",
                spec={"accessModes": ["ReadWriteMany"], "storageClassName": "static"},
                status={"phase": "Bound"},
            ),
            "/apis/storage.k8s.io/v1/storageclasses/static": named("static", volumeBindingMode="Immediate"),
            "/apis/kueue.x-k8s.io/v1beta1/namespaces/adas/localqueues/gpu": named(
                "gpu", status={"conditions": [{"type": "Active", "status": "True"}]}
            ),
            "/apis/scheduling.volcano.sh/v1beta1/queues/batch": named("batch"),
            "/apis/scheduling.k8s.io/v1/priorityclasses/high": named("high"),
            "/apis/k8s.cni.cncf.io/v1/namespaces/adas/network-attachment-definitions/ib0": named("ib0"),
        }
        self.lists: dict[str, list[Object]] = {
            NODES: [node("dgx01"), node("dgx02"), named("master", spec={}, status={})],
            f"{ADAS}/resourcequotas": [],
            f"{ADAS}/limitranges": [],
        }
        self.denied: set[tuple[str, str]] = set()
        self.hidden: set[str] = set()
        self.reviews: list[Object] = []
        self._server_answers = server.answer
        server.answer = self.answer  # type: ignore[method-assign]

    def answer(self, request: Request) -> tuple[int, Any]:
        path = request.path.rstrip("/")
        if any(part in path for part in self.hidden):
            raise Refusal(403, "Forbidden", f"{path} is forbidden")
        if path == "/version":
            return 200, {"gitVersion": self.release}
        if path.endswith("reviews"):
            return 201, self._review(path, request.body)
        group = path.removeprefix("/apis/")
        if group in self.kinds:
            return 200, {"resources": [{"name": name} for name in self.kinds[group]]}
        if path in self.lists:
            return 200, self._page(self.lists[path], request.query)
        if path in self.objects:
            return 200, self.objects[path]
        raise Refusal(404, "NotFound", f"{path} not found")

    def _review(self, path: str, body: Object) -> Object:
        assert path.startswith(f"/apis/{body['apiVersion']}/")
        assert path.endswith(f"/{body['kind'].lower()}s")
        self.reviews.append(body)
        asked = body["spec"]["resourceAttributes"]
        return {**body, "status": {"allowed": (asked["verb"], asked["resource"]) not in self.denied}}

    def _page(self, items: list[Object], query: dict[str, str]) -> Object:
        start, limit = int(query.get("continue", 0)), int(query["limit"])
        more = {"continue": str(start + limit)} if start + limit < len(items) else {}
        return {"items": json.loads(json.dumps(items[start : start + limit])), "metadata": more}
