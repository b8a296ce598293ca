"""Init containers -> stage_in or setup where it is clear what they do, else left with what to do.

One with `restartPolicy: Always` goes on as long as its pod
(https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers).
"""

import re
import shlex

from hpclaunch.convert.draft import Draft, shown
from hpclaunch.convert.manifests.objects.workload import COMMAND, Pod, Workload
from hpclaunch.convert.manifests.pods.volumes import short_name
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.values.conversion import Place

_COPY = re.compile(
    r"(?:mkdir -p \S+ *(?:&&|;) *)?"
    r"(?:cp -(?:[aR]|r[vp]?|av|Rv) (?P<all>/[\w./-]+/\.)|rsync -[vhqPz]*a[vhqPz]* (?P<source>/[\w./-]+/\.?))"
    r" (?P<target>/[\w./-]+)"
)


def put(workload: Workload, draft: Draft) -> None:
    """The init containers of all pods."""
    image = workload.ranks.container.get("image")
    own = image.text() if image is not None else ""
    first = workload.ranks.spec.get("initContainers")
    of_first = [each.plain() for each in first.items()] if first is not None else []
    left: list[object] = []  # those of the first pods that no step does
    for pod in (workload.ranks, *([workload.starter] if workload.is_apart else []), *workload.others):
        found = pod.spec.get("initContainers")
        for container in found.items() if found is not None else []:
            if pod in workload.others and container.plain() in of_first:
                container.take()
                is_left = container.plain() in left
                same = f"that of the {workload.ranks.of} is the same, and"
                why = f"{same} it is not carried" if is_left else f"{same} all nodes of a job do what it does"
                what = f"an init container of the {pod.of}"
                draft.say("left" if is_left else "carried", [container.place], what, why=why)
            elif not _one(container, pod, own, workload, draft):
                left.append(container.plain())


def _one(container: Field, pod: Pod, own: str, workload: Workload, draft: Draft) -> bool:
    """Whether the job does what it does."""
    name, image = container.get("name"), container.get("image")
    label = f"the init container {name.text() if name is not None else ''}".strip()
    words = [word.text() for key in COMMAND if (field := container.get(key)) for word in field.items()]
    mounts = _mounts(container, pod)
    place = container.place
    container.take()
    policy = container.get("restartPolicy")
    if policy is not None and policy.peek() == "Always":
        of = image.text() if image is not None else "no image"
        why = "it goes on beside the others (a sidecar), and a setup step has to end before the ranks start"
        limits = container.get("resources", "limits")
        asked = [f"{key}: {field.peek()}" for key, field in limits.fields() if "gpu" in key] if limits else []
        why += f"; {asked[0]} is its own, and not in the job's GPUs" if asked else ""
        todo = "start what it does from the job's command, or leave it to the site"
        draft.say("left", [place], f"{label} ({of})", why=why, todo=todo)
        return False
    if pod is not workload.ranks:
        of_nodes = "the nodes of a job are alike" if pod in workload.others else "a job has no such pod"
        why = f"it ran in the {pod.of}'s pod, and {of_nodes}"
        todo = "if the ranks need what it does, add it to setup"
        draft.say("left", [place], label, why=why, todo=todo)
        return False
    text = words[-1] if len(words) == 3 and words[1].endswith("c") else " ".join(words)
    copy = _COPY.fullmatch(text.strip().rstrip(";"))
    if copy and _stage(copy["all"] or copy["source"], copy["target"], mounts, place, label, draft):
        return True
    if words and image is not None and image.text() == own:
        run: str | list[str] = (
            text if len(words) == 3 and words[0] in ("sh", "/bin/sh") and words[1] == "-c" else words
        )
        run = _with_variables(container, pod, run, label, draft)
        why = "once on each node, in the job's container"
        draft.add("setup", {"run": run, "name": name.text() if name else "setup"}, [place], label, why=why)
        return True
    of = image.text() if image is not None else "no image"
    what = f"{label} ({of}: {shown(text, 80) or 'its entrypoint'})"
    why = "it has another image than the ranks, and a job has one"
    todo = "where the job's image can do it, add it to setup; data to bring near is stage_in"
    draft.say("left", [place], what, why=why, todo=todo)
    return False


def _with_variables(
    container: Field, pod: Pod, run: str | list[str], label: str, draft: Draft
) -> str | list[str]:
    """The step with the variables that the init container has beside those of the ranks' own; it is said of
    those that no step is told."""
    there = pod.container.get("env")
    others = {name: each for each in (there.items() if there else ()) if (name := _name_of(each))}
    own: dict[str, str] = {}
    left: list[tuple[str, Field]] = []
    given = container.get("env")
    for each in given.items() if given is not None else ():
        name, value, twin = _name_of(each), each.get("value"), others.get(_name_of(each))
        if twin is not None and twin.plain() == each.plain():
            continue
        if name and value is not None and "$(" not in value.text() and not is_secret(name):
            own[name] = value.text()
        else:
            left.append((name, each))
    whole = container.get("envFrom")
    if whole is not None:
        from_there = pod.container.get("envFrom")
        if from_there is None or from_there.plain() != whole.plain():
            left.append(("envFrom", whole))
    for name, each in left:
        why = "a step has the variables of the job, and this is none of the ranks'"
        todo = "add it to env or secrets where the step needs it, which gives it to the ranks too"
        draft.say("left", [each.place], f"{name} of {label}", why=why, todo=todo)
    if not own:
        return run
    words = [f"{name}={value}" for name, value in own.items()]
    return f"export {shlex.join(words)}; {run}" if isinstance(run, str) else ["env", *words, *run]


def _name_of(variable: Field) -> str:
    name = variable.get("name")
    return name.text() if name is not None else ""


def _mounts(container: Field, pod: Pod) -> dict[str, str]:
    """Target -> what stage_in calls it: a path of the host, or the site's name of a volume."""
    volumes = pod.spec.get("volumes")
    kinds: dict[str, str] = {}
    for volume in volumes.items() if volumes is not None else []:
        name, claim, host = (volume.get(key) for key in ("name", "persistentVolumeClaim", "hostPath"))
        source = (
            claim.get("claimName") if claim is not None else host.get("path") if host is not None else None
        )
        if name is not None and source is not None:
            kinds[name.text()] = source.text() if host is not None else short_name(source.text())
    found = {}
    mounts = container.get("volumeMounts")
    for mount in mounts.items() if mounts is not None else []:
        name, target = mount.get("name"), mount.get("mountPath")
        if name is not None and target is not None and name.text() in kinds and mount.get("subPath") is None:
            found[target.text().rstrip("/")] = kinds[name.text()]
    return found


def _stage(source: str, target: str, mounts: dict[str, str], place: Place, label: str, draft: Draft) -> bool:
    """Copy all of a whole volume to another with `stage_in`. False where one of both is no whole volume."""
    bare = source.removesuffix("/.").rstrip("/")
    if bare not in mounts or target.rstrip("/") not in mounts:
        return False
    sides = {"source": mounts[bare], "target": mounts[target.rstrip("/")]}
    draft.add("stage_in", sides, [place], label, why="copied on each node, where it is not there yet")
    return True
