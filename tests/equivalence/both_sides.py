"""One job file on two sites: the script in the sandbox's Slurm, and the manifest in pods on this machine."""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import operator_v08
import yaml
from command import hpclaunch
from msgspec import Struct
from realslurm import Slurm
from recorded_ranks import Process, Rank, bound, processes

from hpclaunch.sandbox import recorded
from hpclaunch.sandbox.layout import at
from hpclaunch.values import cpulist

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
Given = Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]
# The CPUs and GPUs of two whole DGX A100.
EVERYTHING: Given = {node: (tuple(range(256)), tuple(range(8))) for node in range(2)}
# Of Open MPI's mpirun, and of Hydra.
_RANKS = (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK")
_LOCAL_RANKS = (b"OMPI_COMM_WORLD_LOCAL_RANK", b"MPI_LOCALRANKID")


class Place(Struct, frozen=True):
    """Where things lie: `image` is the made-up image (env, workdir, bin, out), `slurm` the sandbox, and
    `sites` are the files of the two sites; `scratch` is for the pods."""

    slurm: Slurm
    image: Path
    image_env: Mapping[str, str]
    slurm_site: Path
    pods_site: Path
    scratch: Path


class Submitted(Struct, frozen=True):
    """A job on both sites before it ran: its number under Slurm, and the manifest."""

    number: int
    manifest: Mapping[str, Any]
    secrets: Mapping[tuple[str, str], str]


class Ran(Struct, frozen=True):
    """How a job ended on one side, its ranks in their order, and the CPUs and GPUs that it was given on each
    node. `said` is what it wrote."""

    status: int
    ranks: list[Rank]
    given: Given
    said: str


def submit(
    place: Place, job: Path, more: Sequence[str] = (), shell: Mapping[str, str] | None = None
) -> Submitted:
    """The job as `hpclaunch submit` sends it to Slurm, and as `hpclaunch render` writes it for Kubernetes.
    `shell` is added to the environment of the shell that submits."""
    env = {**place.slurm.env, "HPCLAUNCH_HOME": str(place.scratch / "home"), **(shell or {})}
    sent = hpclaunch("submit", job, "--site", place.slurm_site, *more, env=env)
    assert sent.returncode == 0, sent.stderr
    written = hpclaunch("render", job, "--site", place.pods_site, *more, env=env)
    assert written.returncode == 0, written.stderr
    manifest = yaml.safe_load(written.stdout)
    return Submitted(int(sent.stdout), manifest, _secrets(manifest, shell or {}))


def _secrets(manifest: Mapping[str, Any], shell: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """What a submission puts into its Secret: the shell's values, of names that are set there."""
    name = f"{manifest['metadata']['name']}-env"
    return {(name, variable): value for variable, value in shell.items()}


def under_slurm(place: Place, job: Submitted) -> Ran:
    """Waits for the job's end."""
    status = place.slurm.wait(job.number)
    number = str(job.number).encode()
    mine = [each for each in processes(place.image / "out") if each.env.get(b"SLURM_JOB_ID") == number]
    bindings = recorded.bound(place.slurm.folder, job.number)
    by_rank = {task.rank: got for task, got in bindings.items() if task.step == "0"}
    ranks, given = {}, {}
    for rank, ran in _grouped(mine, lambda process: int(process.env[b"SLURM_PROCID"])).items():
        node, granted = int(ran[0].env[b"SLURM_NODEID"]), cpulist.parse(ran[0].granted)
        got = by_rank[rank]
        memory = (got.policy, got.mems) if got.policy else None
        ranks[rank] = Rank(node, int(ran[0].env[b"SLURM_LOCALID"]), ran, got.cpus or granted, memory)
        given[node] = granted, cpulist.parse(ran[0].env.get(b"SLURM_STEP_GPUS", b"").decode())
    return Ran(status, _in_order(ranks), given, _slurm_log(place, job.number))


def in_pods(place: Place, job: Submitted, given: Given) -> Ran:
    """Runs the job's pods, on nodes whose kubelet gives each pod these CPUs and GPUs."""
    folder = place.scratch / f"job-{job.number}"
    (folder / "pods").mkdir(parents=True)
    files = [_node(place, folder, index, *given[index]) for index in sorted(given)]
    machines = at(place.slurm.folder).machines
    image = operator_v08.Image(
        env={**place.image_env, "HPCLAUNCH_ROOT": str(place.image / "machine")},
        workdir=str(place.image / "workdir"),
        mounts=(
            (place.image, str(place.image)),
            (place.image / "root", "/root"),
            (machines, str(machines)),
        ),
    )
    try:
        status, said = operator_v08.run(job.manifest, job.secrets, image, files, folder / "pods")
        ranks: dict[int, Rank] = {}
        for index, (granted, _) in given.items():
            out = folder / f"out-{index}"
            for rank, ran in _grouped(processes(out), lambda process: _number(process, _RANKS)).items():
                assert rank not in ranks, said
                cpus, memory = bound(out, ran[0])
                ranks[rank] = Rank(index, _number(ran[0], _LOCAL_RANKS), ran, cpus or granted, memory)
        return Ran(status, _in_order(ranks), given, said)
    finally:
        shutil.rmtree(folder)


def _grouped(found: Iterable[Process], rank_of: Callable[[Process], int]) -> dict[int, tuple[Process, ...]]:
    """By rank, those of one rank in the order of their arguments."""
    ranks: dict[int, list[Process]] = {}
    for process in sorted(found, key=lambda process: process.argv):
        ranks.setdefault(rank_of(process), []).append(process)
    return {rank: tuple(ran) for rank, ran in ranks.items()}


def _in_order(ranks: Mapping[int, Rank]) -> list[Rank]:
    assert sorted(ranks) == list(range(len(ranks)))
    return [ranks[number] for number in sorted(ranks)]


def _number(process: Process, names: Iterable[bytes]) -> int:
    """Of the first of these that is set; the only rank of a pod has none of them."""
    return next((int(process.env[name]) for name in names if name in process.env), 0)


def _slurm_log(place: Place, number: int) -> str:
    shown = place.slurm.run("scontrol", "show", "job", "--oneliner", str(number)).stdout
    path = re.search(r" StdOut=(.*?)(?: [A-Z]\w+=|$)", shown)
    assert path, shown
    return Path(path[1]).read_text(encoding="utf-8", errors="replace")


def _node(
    place: Place, folder: Path, index: int, cpus: tuple[int, ...], gpus: tuple[int, ...]
) -> tuple[tuple[Path, str], ...]:
    """The files that a pod sees of its node: the machine, as the sandbox's node has it, with the pod's own
    devices and CPUs, and the stand-ins for what this machine cannot do."""
    like = at(place.slurm.folder).machines / f"dgx{index + 1}"
    machine = folder / f"machine-{index}"
    (machine / "dev").mkdir(parents=True)
    for name in ("self", "sys/kernel"):
        (machine / "proc" / name).mkdir(parents=True)
    (machine / "sys").symlink_to(like / "sys")
    for name in ("driver", "meminfo", "self/limits"):
        (machine / "proc" / name).symlink_to(like / "proc" / name)
    for name in ("self/numa_maps", "sys/kernel/hostname"):  # the pod's own
        (machine / "proc" / name).symlink_to(f"/proc/{name}")
    (machine / "dev" / "infiniband").symlink_to(like / "dev" / "infiniband")
    for minor in gpus:
        (machine / "dev" / f"nvidia{minor}").symlink_to(like / "dev" / f"nvidia{minor}")
    status = f"Name:\tsh\nCpus_allowed_list:\t{cpulist.format_list(cpus)}\n"
    (machine / "proc" / "self" / "status").write_text(status, encoding="utf-8")
    out = folder / f"out-{index}"
    out.mkdir(mode=0o777)
    tools = [
        (place.image / "stand-ins" / tool, os.path.realpath(shutil.which(tool) or ""))
        for tool in ("taskset", "numactl")
    ]
    return (
        (machine, str(place.image / "machine")),
        (out, str(place.image / "out")),
        *tools,
    )
