"""Where and as whom pods run -> hints for the site, or for the user's part of the job."""

import json
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft, shown
from hpclaunch.convert.manifests.objects.workload import Pod, Workload
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.values.conversion import Place

_HOSTNAME = "kubernetes.io/hostname"
_NETWORKS = "k8s.v1.cni.cncf.io/networks"
_QUEUES = ("kueue.x-k8s.io/queue-name",)
_PRIORITIES = ("kueue.x-k8s.io/priority-class",)
# Seconds that a job, or the nodes that are made for it, may last: kueue.sigs.k8s.io/docs/concepts/workload,
# "Maximum execution time"; cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest.
LONGEST_OF_KUEUE = {
    "kueue.x-k8s.io/max-exec-time-seconds": "labels",
    "provreq.kueue.x-k8s.io/maxRunDurationSeconds": "annotations",
}
_VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"
_GANGS = {"volcano": "volcano", "scheduler-plugins-scheduler": "scheduler-plugins"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def put(workload: Workload, draft: Draft) -> None:
    """Everything of the object and its pods that chooses nodes, queues, accounts and networks."""
    _namespace(workload, draft)
    seen: set[tuple[str, str]] = set()
    pods = [workload.ranks, *([workload.starter] if workload.is_apart else []), *workload.others]
    hosts = _hosts(workload)
    for number, pod in enumerate(pods):
        _meta(pod.template.get("metadata") if pod.template is not workload.root else None, draft, seen)
        _accounts(pod, draft, seen)
        if number == 0:
            _nodes(pod, hosts, draft)
            _say_few_machines(workload, draft)
            _scheduler(pod, draft)
        else:
            _elsewhere(pod, workload.ranks, hosts, draft)


def _hosts(workload: Workload) -> list[str]:
    """The machines to which the templates of the ranks are bound, where each is bound to one of its own."""
    found = [_host(pod.spec) for pod in (workload.ranks, *workload.others)]
    names = [field.text() for field in found if field is not None]
    return names if len(set(names)) == len(found) > 1 else []


def _host(spec: Field) -> Field | None:
    return spec.get("nodeName") or spec.get("nodeSelector", _HOSTNAME)


def keeps_apart(workload: Workload) -> tuple[Place, str] | None:
    """The lines that keep pods of the job on different machines and what they are, None where nothing
    does."""
    pods = (workload.ranks, *workload.others)
    first = _host(workload.ranks.spec)
    if first is not None and len(_hosts(workload)) == workload.nodes.value:
        return first.at, "a machine for each pod by its name"
    # Those of one template keep from all that its selector finds.
    return next((found for pod in pods if (found := _keeps_apart(pod)) is not None), None)


def _keeps_apart(pod: Pod) -> tuple[Place, str] | None:
    anti = pod.spec.get("affinity", "podAntiAffinity", _REQUIRED)
    for term in anti.items() if anti is not None else []:
        key = term.get("topologyKey")
        if key is not None and key.text() == _HOSTNAME:
            assert anti is not None
            anti.take()
            return anti.place, "podAntiAffinity by host name"
    spread = pod.spec.get("topologySpreadConstraints")
    for rule in spread.items() if spread is not None else []:
        texts = {name: field.peek() for name, field in rule.fields()}
        # One more than elsewhere, and there are more machines than pods: each has one.
        wanted = {"topologyKey": _HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": "1"}
        if spread is not None and wanted.items() <= texts.items():
            spread.take()
            return spread.place, "topologySpreadConstraints by host name"
    return None


def _namespace(workload: Workload, draft: Draft) -> None:
    meta = workload.root.get("metadata")
    if meta is None:
        return
    namespace = meta.get("namespace")
    if namespace is not None:
        draft.of_user("namespace", namespace.text(), [namespace.at], "metadata.namespace")
    _meta(meta, draft, set())


def _meta(meta: Field | None, draft: Draft, seen: set[tuple[str, str]]) -> None:
    if meta is None:
        return
    for kind in ("labels", "annotations"):
        group = meta.get(kind)
        for key, field in group.fields() if group is not None else ():
            text = field.text()
            if (key, text) in seen:
                continue
            seen.add((key, text))
            _label(kind, key, text, field, draft)


def _label(kind: str, key: str, text: str, field: Field, draft: Draft) -> None:
    places = [field.place]
    if key in _QUEUES:
        draft.of_user("queue", text, places, key)
    elif LONGEST_OF_KUEUE.get(key) == kind and "spec" not in field.path:
        return  # the job's time, with what else limits it
    elif key in _PRIORITIES:
        draft.of_user("priority_class", text, places, key)
    elif key == _NETWORKS:
        _networks(text, places, draft)
    elif key == _VOLCANO_QUEUE:
        draft.hint("kubernetes.gang", {"scheduler": "volcano", "queue": text}, places, key)
    elif key == "kubectl.kubernetes.io/last-applied-configuration":
        draft.say("without effect", places, key, why="kubectl writes it for itself")
    else:
        todo = f"a site can give it to all pods: kubernetes.{kind}: {{{key}: {shown(text, 40)}}}"
        draft.say(
            "left",
            places,
            f"{kind[:-1]} {key}",
            why="it is for people and controllers of one cluster",
            todo=todo,
        )


def _networks(text: str, places: Sequence[Place], draft: Draft) -> None:
    """Names, with their namespace before a / and their interface behind an @, or a list of objects with both
    (the NetworkSelectionElement of Multus)."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    more: set[str] = set()
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
            names = [
                f"{row['namespace']}/{row['name']}" if row.get("namespace") else row["name"] for row in rows
            ]
            more = {str(key) for row in rows for key in row} - {"name", "namespace"}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            why = "networks in JSON that cannot be read: name them in kubernetes.networks of the site"
            draft.say("left", places, _NETWORKS, why=why, todo=f"they are {shown(text)}")
            return
    draft.hint("kubernetes.networks", names, places, _NETWORKS)
    if more:
        why = "a site names networks, and nothing else of them"
        draft.say("left", places, f"{', '.join(sorted(more))} of {_NETWORKS}", why=why)


def _accounts(pod: Pod, draft: Draft, seen: set[tuple[str, str]]) -> None:
    found = [field for key in ("serviceAccountName", "serviceAccount") if (field := pod.spec.get(key))]
    for field in found:
        text = field.text()
        if ("account", text) not in seen:
            seen.add(("account", text))
            draft.hint("kubernetes.service_account", text, [each.at for each in found], str(field.path[-1]))
    secrets = pod.spec.get("imagePullSecrets")
    if secrets is not None:
        names = [name.text() for item in secrets.items() if (name := item.get("name")) is not None]
        if ("pull", " ".join(names)) not in seen:
            seen.add(("pull", " ".join(names)))
            draft.hint("kubernetes.image_pull_secrets", names, [secrets.place], "imagePullSecrets")


def _nodes(pod: Pod, hosts: Sequence[str], draft: Draft) -> None:
    """`hosts` are those of all templates, where each has its own."""
    name = pod.spec.get("nodeName")
    if name is not None:
        why = "by its label, so that the scheduler counts the GPUs; nodeName passed it by"
        draft.of_user("nodelist", ",".join(hosts) or name.text(), [name.at], "nodeName", why)
    selector = pod.spec.get("nodeSelector")
    if selector is not None:
        labels = {}
        for key, field in selector.fields():
            if key == _HOSTNAME:
                names = ",".join(hosts) or field.text()
                draft.of_user("nodelist", names, [field.at], f"nodeSelector {key}")
            else:
                labels[key] = field.text()
        if labels:
            draft.hint("node_types.selector", labels, [selector.place], "nodeSelector")
    affinity = pod.spec.get("affinity", "nodeAffinity")
    if affinity is not None:
        _node_affinity(affinity, draft)
    tolerations = pod.spec.get("tolerations")
    if tolerations is not None:
        items = [_toleration(item) for item in tolerations.items()]
        draft.hint("node_types.tolerations", items, [tolerations.place], "tolerations")


def _say_few_machines(workload: Workload, draft: Draft) -> None:
    """More pods than machines that may have them."""
    hosts = next(
        (found for fact in draft.facts.values() if fact.key[-1] == "nodelist" and (found := fact.value)), None
    )
    hosts = hosts or draft.hints.get("nodelist")
    pods = workload.nodes.value or 0
    count = hosts.count(",") + 1 if isinstance(hosts, str) and hosts else pods
    is_first_alone = not _hosts(workload) and any(
        _machine(pod) != _machine(workload.ranks) for pod in workload.others
    )
    if count < pods and is_first_alone:
        why = f"pods of the {workload.ranks.of} alone are bound to it, and the job has {pods} nodes"
        todo = "name the hosts of all nodes in nodelist, or leave it out"
        draft.say("left", workload.nodes.places, f"nodelist {shown(hosts, 60)}", why=why, todo=todo)
    elif count < pods:
        where = "that machine" if count == 1 else f"these {count} machines"
        why = f"Kubernetes puts {pods} pods onto {where}, and under Slurm a job's nodes are different ones"
        times = f"{pods} times the" if count == 1 else "the sum of the pods'"
        todo = f"for Slurm write nodes: {count}, with {times} GPUs and ranks on each"
        draft.say("left", workload.nodes.places, f"{pods} pods on {shown(hosts, 60)}", why=why, todo=todo)


def _machine(pod: Pod) -> tuple[str, object]:
    """What binds pods to machines, for a comparison."""
    host = _host(pod.spec)
    return host.peek() if host is not None else "", _which_nodes("affinity", pod.spec.get("affinity"))


def _node_affinity(affinity: Field, draft: Draft) -> None:
    labels: dict[str, str] = {}
    clear = True
    terms = affinity.get(_REQUIRED, "nodeSelectorTerms")
    items = terms.items() if terms is not None else []
    for term in items:
        expressions = term.get("matchExpressions")
        clear = clear and len(items) == 1 and term.get("matchFields") is None
        for expression in expressions.items() if expressions is not None else []:
            key, operator, values = (expression.get(each) for each in ("key", "operator", "values"))
            texts = [value.text() for value in values.items()] if values is not None else []
            name = key.text() if key is not None else ""
            if operator is None or operator.text() != "In" or not texts:
                clear = False
            elif name == _HOSTNAME:
                draft.of_user(
                    "nodelist",
                    ",".join(texts),
                    [expression.place],
                    "nodeAffinity by host name",
                )
            elif len(texts) == 1:
                labels[name] = texts[0]
            else:
                clear = False
    affinity.take()
    if labels and clear:
        draft.hint("node_types.selector", labels, [affinity.place], "nodeAffinity")
    if not clear or affinity.get(_PREFERRED) is not None:
        todo = "describe the nodes that are meant in the site's node_types: hosts, or selector"
        draft.say(
            "left",
            [affinity.place],
            "nodeAffinity",
            why="a site's nodes are chosen by labels that they have",
            todo=todo,
        )


def _toleration(item: Field) -> dict[str, str]:
    found = {}
    for key in ("key", "operator", "value", "effect"):
        field = item.get(key)
        if field is not None:
            found[key] = field.text()
    # The API's default is Equal, the site file's Exists.
    if "operator" not in found and "value" in found:
        found["operator"] = "Equal"
    seconds = item.get("tolerationSeconds")
    if seconds is not None:
        seconds.take()
    return found


def _scheduler(pod: Pod, draft: Draft) -> None:
    name = pod.spec.get("schedulerName")
    if name is not None:
        text = name.text()
        if text in _GANGS:
            draft.hint("kubernetes.gang", {"scheduler": _GANGS[text]}, [name.at], "schedulerName")
        elif text != "default-scheduler":
            todo = "where it places whole jobs, the site's kubernetes.gang names it"
            draft.say(
                "left",
                [name.at],
                f"schedulerName {text}",
                why="a scheduler that hpclaunch does not know",
                todo=todo,
            )
    priority = pod.spec.get("priorityClassName")
    if priority is not None:
        draft.of_user("priority_class", priority.text(), [priority.at], "priorityClassName")
    anti = pod.spec.get("affinity", "podAntiAffinity", _PREFERRED)
    if anti is not None:
        anti.take()
        why = "a wish binds nobody: nodes are different machines unless the hint says share_nodes"
        draft.say("replaced", [anti.place], "preferred podAntiAffinity", why=why)
    together = pod.spec.get("affinity", "podAffinity")
    if together is not None:
        together.take()
        todo = "for nodes under the same switches say locality: unit"
        draft.say(
            "left", [together.place], "podAffinity", why="pods of a job have nodes of their own", todo=todo
        )
    spread = pod.spec.get("topologySpreadConstraints")
    if spread is not None and not spread.book.is_taken(spread.path):
        spread.take()
        todo = "for nodes under the same switches say locality: unit"
        draft.say(
            "left",
            [spread.place],
            "topologySpreadConstraints",
            why="a job's nodes are different machines",
            todo=todo,
        )


def _elsewhere(pod: Pod, first: Pod, hosts: Sequence[str], draft: Draft) -> None:
    """Of the launcher, and of a second template. `hosts`: as of `_nodes`."""
    host = _host(pod.spec)
    for key in ("nodeName", "nodeSelector", "affinity", "tolerations", "schedulerName", "priorityClassName"):
        field = pod.spec.get(key)
        if field is None:
            continue
        field.take()
        what = f"{key} of the {pod.of}"
        if pod.of == "launcher":
            why = "where launchers run is the site's (kubernetes.launcher: selector, tolerations)"
            draft.say("replaced", [field.place], what, why=why)
        elif hosts and host is not None and host.text() in hosts and _is_host_alone(key, field):
            draft.say("carried", [host.at], what, became="site hint nodelist", key="nodelist")
        elif _which_nodes(key, field) == _which_nodes(key, first.spec.get(key)):
            why = "all nodes of a job are alike: those of the first template count"
            draft.say("replaced", [field.place], what, why=why)
        else:
            has = "has none" if first.spec.get(key) is None else "has another"
            why = f"the {first.of} {has}, and all nodes of a job are alike: the {first.of} counts"
            todo = "see which nodes are meant, and describe them in the site's node_types"
            draft.say("left", [field.place], what, why=why, todo=todo)


def _is_host_alone(key: str, field: Field) -> bool:
    """Whether it binds pods to a machine, and says nothing else."""
    return key == "nodeName" or (
        key == "nodeSelector" and [name for name, _ in field.fields()] == [_HOSTNAME]
    )


def _which_nodes(key: str, field: Field | None) -> object:
    """For a comparison: of affinity what is about nodes, and not about other pods."""
    part = field.get("nodeAffinity") if key == "affinity" and field is not None else field
    return part.plain() if part is not None else None
