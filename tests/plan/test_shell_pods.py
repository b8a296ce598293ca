"""What a shell's pod has of its job."""

import msgspec

from hpclaunch.plan.kubernetes.interactive import one_pod
from hpclaunch.spec.job import Job

# As the job has them. `command` and `time` are set where the job has none; all other keys are set anew.
KEPT = {
    *("version", "image", "container", "workdir", "directory", "mounts", "secrets", "env", "inherit"),
    *("gpus_per_node", "gpu_type", "ranks_per_node", "mpi", "bind", "locality", "fabric"),
    *("sites", "command", "time", "rendezvous"),
}


def test_of_each_key_it_is_decided_whether_a_shell_has_it() -> None:
    """A new key of jobs stands in KEPT, or is set anew by `one_pod`."""
    marks = {each.name: object() for each in msgspec.structs.fields(Job) if each.name != "name"}
    pod = one_pod(Job(name="train", **marks), "1a2b")  # type: ignore[arg-type]
    assert {name for name, mark in marks.items() if getattr(pod, name) is mark} == KEPT


def test_what_it_has_not_is_as_in_a_job_that_does_not_say_it() -> None:
    marks = {each.name: object() for each in msgspec.structs.fields(Job) if each.name != "name"}
    pod = one_pod(Job(name="train", **marks), "1a2b")  # type: ignore[arg-type]
    plain = Job(name=pod.name)
    assert all(getattr(pod, name) == getattr(plain, name) for name in marks if name not in KEPT)
