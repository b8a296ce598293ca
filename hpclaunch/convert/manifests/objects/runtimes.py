"""The runtime that a TrainJob names: it has what the TrainJob does not say itself, and starts nothing alone.

Which fields count over which: kubeflow/trainer 2.0, pkg/apis/trainer/v1alpha1/trainjob_types.go and
trainingruntime_types.go; what its trainer is among the jobs of the runtime, pkg/constants/constants.go.
"""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object

# The one is of a namespace, the other of the cluster, and a TrainJob that tells no kind has the latter.
_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
_GROUP = "trainer.kubeflow.org/"
_JOBS = ("spec", "template", "spec", "replicatedJobs")
NODES = ("spec", "mlPolicy", "numNodes")
_POD = ("template", "spec", "template", "spec")
_STEP = ("template", "metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step")
_OF_RANKS = ("node", "trainer")  # the container, and what the label says of its job


def is_runtime(given: Object) -> bool:
    """Whether it is one: a TrainJob is started with it."""
    return given.kind in _KINDS and given.version.startswith(_GROUP)


def last(found: Sequence[Object]) -> list[Object]:
    """The objects with the runtimes behind those that are launches."""
    return sorted(found, key=is_runtime)


def named_by(given: Object, others: Sequence[Object]) -> Object | None:
    """That of a TrainJob among other objects."""
    reference = given.root.get("spec", "runtimeRef")
    if reference is None or (name := reference.get("name")) is None:
        return None
    kind = reference.get("kind")
    wanted = kind.peek() if kind is not None else _KINDS[0]
    for each in others:
        own = each.root.get("metadata", "name")
        if is_runtime(each) and each.kind == wanted and own is not None and own.peek() == name.peek():
            return each
    return None


def of_ranks(runtime: Object) -> tuple[Field, Field] | None:
    """The spec and the container of the pods in which it has ranks start."""
    jobs = runtime.root.get(*_JOBS)
    for job in jobs.items() if jobs is not None and jobs.is_list else ():
        step, spec = job.get(*_STEP), job.get(*_POD)
        called = job.get("name")
        marks = [each.peek() for each in (step, called) if each is not None]
        listed = spec.get("containers") if spec is not None else None
        containers = listed.items() if listed is not None and listed.is_list else []
        if spec is not None and containers and not set(_OF_RANKS).isdisjoint(marks):
            named = ((each, each.get("name")) for each in containers)
            mine = [each for each, name in named if name is not None and name.peek() in _OF_RANKS]
            return spec, (mine or containers)[0]
    return None


def beside(given: Object, draft: Draft) -> None:
    """Say what a runtime is, beside the object that starts something."""
    given.root.take()
    why = "what a TrainJob is started with, where that does not say it itself; it starts nothing alone"
    todo = "see what else it has: GPUs and ranks of each node, variables, mounts"
    draft.say("left", [given.root.place], f"{given.name} ({given.version})", why=why, todo=todo)
