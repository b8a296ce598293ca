"""What somebody's hand, or a mistake of ours, changes in a manifest is found, and nothing else is said."""

import re
from typing import Any

import pytest
import rendered
from rendered import CLUSTER, JOB, Change, changed, container, replaced, setting, side

from hpclaunch.readback.place import Place, Side

Whole = dict[str, Any]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Place]:
    return rendered.render(tmp_path_factory.mktemp("breaks"), JOB, CLUSTER)


def args(manifest: Whole) -> list[str]:
    words: list[str] = container(manifest, "Launcher")["args"]
    return words


def halve(needle: str) -> Change:
    """One `$` for each `$$` of the word with `needle`, as if the kubelet did not expand it."""

    def change(manifest: Whole) -> None:
        words = args(manifest)
        index = next(index for index, word in enumerate(words) if needle in word)
        words[index] = words[index].replace("$$", "$")

    return change


def more_text(role: str) -> Change:
    def change(manifest: Whole) -> None:
        container(manifest, role)["command"][2] += "\n:"

    return change


def word(old: str, new: str | None) -> Change:
    return lambda manifest: replaced(args(manifest), old, new)


def swap(name: str, mark: str = ";") -> Change:
    return lambda manifest: setting(args(manifest), name, lambda each: [each[1], each[0], *each[2:]], mark)


def worker(**fields: Any) -> Change:
    return lambda manifest: container(manifest, "Worker").update(fields)


def pod(role: str, **fields: Any) -> Change:
    return lambda manifest: manifest["spec"]["mpiReplicaSpecs"][role]["template"]["spec"].update(fields)


def spec(path: str, value: Any) -> Change:
    def change(manifest: Whole) -> None:
        *above, last = path.split(".")
        at = manifest["spec"]
        for key in above:
            at = at[key]
        at[last] = value

    return change


def more_env(role: str, name: str) -> Change:
    entry = {"name": name, "value": "x"}
    return lambda manifest: container(manifest, role).setdefault("env", []).append(entry)


def one_hca_fewer(manifest: Whole) -> None:
    setting(args(manifest), "hcas", lambda each: each[:-1], "\n")
    setting(args(manifest), "near", lambda each: [re.sub(",7|7,", "", entry) for entry in each], ";")


def mount(target: str, **fields: Any) -> Change:
    def change(manifest: Whole) -> None:
        mounts = container(manifest, "Worker")["volumeMounts"]
        each = next(each for each in mounts if each["mountPath"] == target)
        each.update(fields)

    return change


def volume(name: str, value: Whole) -> Change:
    def change(manifest: Whole) -> None:
        volumes = manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["volumes"]
        index = next(index for index, each in enumerate(volumes) if each["name"] == name)
        volumes[index] = {"name": name, **value}

    return change


def limit(name: str, amount: str | None) -> Change:
    def change(manifest: Whole) -> None:
        limits = container(manifest, "Worker")["resources"]["limits"]
        limits.pop(name)
        if amount is not None:
            limits[name] = amount

    return change


def env(role: str, name: str, value: str | None) -> Change:
    def change(manifest: Whole) -> None:
        entries = container(manifest, role)["env"]
        index = next(index for index, each in enumerate(entries) if each["name"] == name)
        entries[index : index + 1] = [] if value is None else [{"name": name, "value": value}]

    return change


BREAKS: dict[str, tuple[Change, set[str]]] = {
    "a variable dropped": (word("NCCL_DEBUG=INFO", None), {"environment NCCL_DEBUG"}),
    "the site's variable dropped": (
        word("NCCL_SOCKET_IFNAME=eth0", None),
        {"environment NCCL_SOCKET_IFNAME"},
    ),
    "the site's variable changed": (
        word("NCCL_SOCKET_IFNAME=eth0", "NCCL_SOCKET_IFNAME=eth1"),
        {"environment NCCL_SOCKET_IFNAME"},
    ),
    "dollars halved in a value": (halve("PRICE="), {"environment PRICE"}),
    "dollars halved in the command": (halve("costs"), {"command, word 3"}),
    "dollars halved in the rank wrapper": (halve("hl_fail"), {"text beside each rank"}),
    "another launcher": (more_text("Launcher"), {"the launcher's text"}),
    "other workers": (more_text("Worker"), {"the workers' text"}),
    "a secret dropped": (env("Launcher", "TOKEN", None), {"environment TOKEN", "outside the ranks TOKEN"}),
    "a secret in clear": (env("Launcher", "TOKEN", "x"), {"environment TOKEN", "outside the ranks TOKEN"}),
    "the runtime's variable changed": (
        env("Worker", "NVIDIA_DRIVER_CAPABILITIES", "compute"),
        {"outside the ranks NVIDIA_DRIVER_CAPABILITIES"},
    ),
    "a mount read-write": (mount("/data", readOnly=False), {"mount /data: access"}),
    "a mount elsewhere": (mount("/data", mountPath="/datum"), {"mount /data", "mount /datum"}),
    "another folder of the claim": (mount("/data", subPath="sets/2"), {"mount /data"}),
    "another claim": (volume("data", {"persistentVolumeClaim": {"claimName": "other"}}), {"mount /data"}),
    "another export": (volume("scratch", {"nfs": {"server": "nfs1", "path": "/t"}}), {"mount /scratch"}),
    "an unknown kind of volume": (
        volume("scratch", {"flexVolume": {"driver": "x"}}),
        {"mount /scratch", "not understood"},
    ),
    "HCAs swapped": (
        swap("near"),
        {f"local rank {rank}: {what}" for rank in (0, 1) for what in ("HCAs", "HCAs in reserve")},
    ),
    "cores swapped": (swap("cpus"), {"local rank 0: cores", "local rank 1: cores"}),
    "memory swapped": (
        lambda manifest: setting(args(manifest), "membind", lambda each: [each[-1], *each[1:]], ";"),
        {"local rank 0: memory"},
    ),
    "one HCA fewer": (
        one_hca_fewer,
        {"compute HCAs of a node", "local rank 7: HCAs"}
        | {f"local rank {rank}: HCAs in reserve" for rank in range(8)},
    ),
    "one HCA's device fewer": (limit("rdma/ib9", None), {"devices of rdma/ib9", "limit rdma/ib9"}),
    "one GPU fewer": (limit("nvidia.com/gpu", "7"), {"GPUs on a node", "no other job on the nodes"}),
    "ranks over nodes": (word("slot", "node"), {"numbering of ranks over nodes"}),
    "ranks numbered over nodes": (
        lambda manifest: args(manifest).insert(args(manifest).index("--map-by"), "--rank-by=node"),
        {"numbering of ranks over nodes"},
    ),
    "half the ranks": (
        word("16", "8"),
        {"numbering of ranks over nodes", "8 ranks"},
    ),
    "bound by mpirun": (word("none", "core"), {"mpirun --bind-to core"}),
    "goes on after a failure": (
        lambda manifest: args(manifest).insert(args(manifest).index("--map-by"), "--continuous"),
        {"one failing rank ends all"},
    ),
    "an option that is not known": (
        lambda manifest: args(manifest).insert(args(manifest).index("--map-by"), "--frobnicate"),
        {"not understood"},
    ),
    "anti-affinity removed": (
        pod("Worker", affinity={}),
        {"each part of the job on a node of its own", "no other job on the nodes"},
    ),
    "anti-affinity by zone": (
        lambda manifest: manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"][
            "podAntiAffinity"
        ]["requiredDuringSchedulingIgnoredDuringExecution"][0].update(
            topologyKey="topology.kubernetes.io/zone"
        ),
        {"each part of the job on a node of its own", "no other job on the nodes"},
    ),
    "anti-affinity to another label": (
        lambda manifest: manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"].update(
            labels={}
        ),
        {"each part of the job on a node of its own", "no other job on the nodes"},
    ),
    "backoffLimit 3": (spec("runPolicy.backoffLimit", 3), {"retries after a failure"}),
    "started again": (
        spec("mpiReplicaSpecs.Launcher.restartPolicy", "OnFailure"),
        {"retries after a failure"},
    ),
    "workers start again": (
        spec("mpiReplicaSpecs.Worker.restartPolicy", "OnFailure"),
        {"workers with restartPolicy OnFailure"},
    ),
    "hosts for another MPI": (spec("mpiImplementation", "MPICH"), {"mpiImplementation for mpich"}),
    "another account": (pod("Worker", serviceAccountName="admin"), {"serviceAccountName"}),
    "another time": (spec("runPolicy.activeDeadlineSeconds", 1801), {"time limit"}),
    "one node more": (
        spec("mpiReplicaSpecs.Worker.replicas", 4),
        {"nodes", "numbering of ranks over nodes", "16 ranks"},
    ),
    "another image": (
        worker(image="registry.example.com/team/train:1.3"),
        {"image", "the launcher's image registry.example.com/team/train:1.2"},
    ),
    "an argument after the list": (
        lambda manifest: args(manifest).append("--more"),
        {"command from word 4 on"},
    ),
    "another folder": (word("/work", "/tmp"), {"working folder"}),
    "privileged": (
        lambda manifest: container(manifest, "Worker")["securityContext"].update(privileged=True),
        {"rights: privileged"},
    ),
    "requests below the limits": (
        lambda manifest: container(manifest, "Worker")["resources"]["requests"].update(cpu="1"),
        {"pods that are not Guaranteed"},
    ),
    "no /dev/shm": (
        lambda manifest: container(manifest, "Worker")["volumeMounts"].pop(),
        {"no /dev/shm in memory", "limit /dev/shm"},
    ),
    "a small /dev/shm": (
        volume("dshm", {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}),
        {"limit /dev/shm"},
    ),
    "other nodes": (pod("Worker", nodeSelector={"gpu": "v100"}), {"nodeSelector"}),
    "a variable of the workers' sshd": (more_env("Worker", "LD_PRELOAD"), {"outside the ranks LD_PRELOAD"}),
    "a variable of Hydra": (more_env("Launcher", "HYDRA_X"), {"outside the ranks HYDRA_X"}),
    "a variable that is carried": (
        more_env("Launcher", "MORE"),
        {"environment MORE", "outside the ranks MORE"},
    ),
    "a second container": (
        lambda manifest: manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"][
            "containers"
        ].append({"name": "side", "image": "x", "resources": container(manifest, "Worker")["resources"]}),
        {"the container side"},
    ),
    "an init container": (
        pod("Worker", initContainers=[{"name": "first", "resources": {"limits": {"cpu": 1, "memory": 1}}}]),
        {"the init container first"},
    ),
    "a field that no model has": (pod("Worker", hostAliases=[{"ip": "1"}]), {"not understood"}),
    "less memory to pin": (word("memlock=1048576", "memlock=1"), {"setting memlock"}),
    "ranks that look elsewhere": (
        word("from=openmpi", "from=slurm"),
        {"text beside each rank", "the rank wrapper's from=slurm"},
    ),
    "waits for somebody": (spec("runPolicy.suspend", True), {"suspend"}),
}


# Slurm's script has nothing to hold these against: a pod's amounts, its nodes, and what its launcher sees of
# what ranks are given too.
ONLY_BETWEEN_PODS = {
    "limit rdma/ib9",
    "limit /dev/shm",
    "nodeSelector",
    "serviceAccountName",
    "outside the ranks MORE",
    "outside the ranks TOKEN",
}


@pytest.fixture(scope="module")
def on_slurm(tmp_path_factory: pytest.TempPathFactory) -> Side:
    return rendered.on_slurm(tmp_path_factory.mktemp("slurm"), JOB)


def test_the_manifest_is_the_same_as_itself(manifest: tuple[str, Place]) -> None:
    text, where = manifest
    assert rendered.compare(side(text, where), side(changed(text, lambda _: None), where)) == ()


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found_and_nothing_else(name: str, manifest: tuple[str, Place]) -> None:
    change, expected = BREAKS[name]
    assert rendered.found_both_ways(manifest, change) == (expected, expected)


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found_beside_the_script_for_slurm(
    name: str, manifest: tuple[str, Place], on_slurm: Side
) -> None:
    change, expected = BREAKS[name]
    assert rendered.found_beside(on_slurm, manifest, change) == (set(), expected - ONLY_BETWEEN_PODS)
