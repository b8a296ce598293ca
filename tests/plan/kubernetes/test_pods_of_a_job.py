"""The pods of a job: labels, environment, secrets, what starts the ranks; and jobs of one pod."""

from itertools import pairwise
from typing import Any

import pytest
from pod_plans import limits, planned, target, warned

from hpclaunch.values.pods import KubernetesTarget, Pod
from hpclaunch.values.words import Option

EXEC = {"mpi_operator": "0.2.3", "mpijob": {"api": "v1alpha2"}}
ROOTLESS = {"profile": "rootless", "run_as": {"user": 1000, "home": "/home/mpi"}}


def launcher(pods: KubernetesTarget) -> Pod:
    assert pods.launcher is not None
    return pods.launcher


def env(pod: Pod) -> dict[str, str]:
    found = {variable.name: variable.value for variable in pod.env}
    assert len(found) == len(pod.env)
    return found


def settings(options: tuple[Option, ...]) -> dict[str, str]:
    pairs = [option.text.split("=", 1) for option in options]
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


def test_labels_by_which_pods_are_found() -> None:
    site = {"labels": {"team": "adas"}, "annotations": {"example.com/a": "b"}}
    pods = target(planned({"sites": {"s": {"queue": "own"}}}, {**site, "queue": "sites"}))
    for pod, role in ((pods.worker, "worker"), (launcher(pods), "launcher")):
        assert dict(pod.labels) == {"hpclaunch/job": "j", "hpclaunch/role": role, "team": "adas"}
        assert dict(pod.annotations) == {"example.com/a": "b"}
    assert dict(pods.labels) == {
        "hpclaunch/job": "j",
        "app.kubernetes.io/managed-by": "hpclaunch",
        "kueue.x-k8s.io/queue-name": "own",
        "team": "adas",
    }
    assert dict(target(planned({}, {"queue": "sites"})).labels)["kueue.x-k8s.io/queue-name"] == "sites"
    assert "kueue.x-k8s.io/queue-name" not in dict(target(planned()).labels)


def test_networks_are_the_workers() -> None:
    pods = target(planned({}, {"networks": ["ibp12s0", "other/ibp18s0"]}))
    assert dict(pods.worker.annotations) == {"k8s.v1.cni.cncf.io/networks": "ibp12s0,other/ibp18s0"}
    assert launcher(pods).annotations == ()


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_namespace_is_the_jobs_before_the_sites(nodes: int) -> None:
    site = {"namespace": "theirs", "service_account": "mpi", "image_pull_secrets": ["a", "b"]}
    job: dict[str, Any] = {"nodes": nodes}
    assert target(planned(job)).namespace == "default"
    assert target(planned(job, site)).namespace == "theirs"
    pods = target(planned({**job, "sites": {"s": {"namespace": "mine"}}}, site))
    assert pods.namespace == "mine"
    for pod in (pods.worker, pods.launcher):
        if pod is not None:
            assert (pod.service_account, pod.image_pull_secrets) == ("mpi", ("a", "b"))


def test_the_launcher_has_no_gpu_and_needs_no_node_of_theirs() -> None:
    site = {"launcher": {"cpu": 1, "memory": "2Gi", "selector": {"role": "service"}}}
    types = [{"type": "dgx-a100", "hosts": "dgx[1-2]", "selector": {"gpu": "a100"}}]
    pod = launcher(target(planned({"sites": {"s": {"nodelist": "dgx[1-2]"}}}, site, node_types=types)))
    assert limits(pod) == {"cpu": "1", "memory": "2Gi"} == dict(pod.requests)
    assert dict(pod.nodes.selector) == {"role": "service"}
    assert (pod.nodes.hosts, pod.apart) == ((), ())


def test_who_reads_a_variable_before_the_rank_has_it() -> None:
    """The container runtime those of its hooks, where the GPUs are; mpirun its own."""
    variables = {
        "A": "1",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "MELLANOX_X": "2",
        "OMPI_MCA_btl": "^openib",
        "PMIX_MCA_gds": "hash",
        "NVIDIA_VISIBLE_DEVICES": "all",
    }
    plan = planned({"env": variables})
    pods = target(plan)
    hooks = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "MELLANOX_X": "2"}
    daemons = {"OMPI_MCA_btl": "^openib", "PMIX_MCA_gds": "hash"}
    # The device plugin says which GPUs a pod has; `all` of the pod's own would show those of others.
    assert (env(pods.worker), env(launcher(pods))) == (hooks, daemons)
    assert env(target(planned({"env": variables, "nodes": 1})).worker) == {**hooks, **daemons}
    ranks = {variable.name: variable.value for variable in plan.common.environment}
    assert ranks.items() >= variables.items()
    assert warned(plan, "NVIDIA_VISIBLE_DEVICES reaches the ranks and not the pod")


def secrets(pod: Pod) -> dict[str, tuple[str, str, bool]]:
    return {each.variable: (each.name, each.key, each.optional) for each in pod.secrets}


def test_secrets_are_names_of_secrets() -> None:
    job = {
        "secrets": ["WANDB_API_KEY", "TOKEN"],
        "inherit": ["HTTPS_PROXY", "SET_HERE"],
        "env": {"SET_HERE": "x"},
    }
    site = {"secrets": {"TOKEN": {"name": "shared", "key": "token"}}}
    for nodes in (1, 2):
        pods = target(planned({**job, "nodes": nodes}, site))
        # The process that starts the ranks has them, and hands them on.
        assert secrets(pods.launcher or pods.worker) == {
            "HTTPS_PROXY": ("j-env", "HTTPS_PROXY", True),  # unset in the submitter's shell: unset in the job
            "WANDB_API_KEY": ("j-env", "WANDB_API_KEY", False),
            "TOKEN": ("shared", "token", False),
        }
        assert pods.variables_secret == "j-env"
    assert pods.worker.secrets == ()
    only = target(planned({"secrets": ["TOKEN"]}, site))
    assert only.variables_secret == ""
    assert set(secrets(launcher(only))) == {"TOKEN"}
    assert target(planned()).variables_secret == ""


@pytest.mark.parametrize("name", ["x" * 128, "X_" + "y" * 60])
def test_the_secret_of_a_long_name_is_one_that_the_api_takes(name: str) -> None:
    pods = target(planned({"name": name, "secrets": ["TOKEN"]}))
    assert pods.variables_secret.startswith(pods.name[:20])
    assert len(pods.variables_secret) <= 63
    assert pods.variables_secret != pods.name


@pytest.mark.parametrize(
    ("mpi", "first", "ranks", "per_node", "hosts"),
    [
        ("openmpi", "mpirun", ("-np", "16"), None, "--hostfile"),
        ("intel", "mpiexec.hydra", ("-n", "16"), "8", "-f"),
        ("mpich", "mpiexec", ("-n", "16"), "8", "-f"),
    ],
)
def test_what_starts_the_ranks(
    mpi: str, first: str, ranks: tuple[str, str], per_node: str | None, hosts: str
) -> None:
    pods = target(planned({"container": {"mpi": mpi}, "workdir": "/a b"}))
    words = pods.starter
    assert words[0] == first
    options = dict(pairwise(words))
    assert options[ranks[0]] == ranks[1]
    assert options[hosts] == "/etc/mpi/hostfile"
    assert options.get("-ppn") == per_node
    assert options["-wdir"] == "/a b"
    assert settings(pods.launch)["mpi"] == mpi
    assert settings(pods.wrapper)["from"] == ("openmpi" if mpi == "openmpi" else "hydra")
    assert pods.mpi_job is not None
    assert (pods.mpi_job.workers, pods.mpi_job.slots) == (2, 8)


def test_ranks_are_in_blocks_and_bound_by_the_wrapper_alone() -> None:
    words = target(planned()).starter
    options = dict(pairwise(words))
    assert (options["--map-by"], options["--bind-to"]) == ("slot", "none")
    intel = target(planned({"container": {"mpi": "intel"}})).starter
    assert intel[intel.index("I_MPI_PIN") - 1 :][:3] == ("-genv", "I_MPI_PIN", "off")
    assert "-wdir" not in words


def test_how_workers_are_reached() -> None:
    ssh = target(planned({}, {"sshd": {"port": 22}}))
    assert settings(ssh.launch)["ssh"] == settings(ssh.serve)["port"] == "22"
    assert settings(ssh.serve)["keys"] == "/root/.ssh"
    assert ssh.worker.ready_port == 22
    rootless = target(planned({}, ROOTLESS))
    for found in (settings(rootless.launch), settings(rootless.serve)):
        assert (found["keys"], found["home"]) == ("/home/mpi/.ssh", "/home/mpi")
    exec_ = target(planned({}, {**EXEC, "worker_wait": 60}))
    assert settings(exec_.launch) == {"mpi": "openmpi", "hosts": "/etc/mpi/hostfile", "wait": "60"}
    assert exec_.serve == ()


def test_one_pod_of_one_rank_is_the_rank() -> None:
    pods = target(planned({"nodes": 1, "ranks_per_node": 1, "workdir": "/w"}))
    assert (pods.mpi_job, pods.launcher, pods.starter, pods.launch, pods.serve) == (None, None, (), (), ())
    found = settings(pods.wrapper)
    assert (found["from"], found["rank"], found["ranks"]) == ("local", "0", "1")
    assert pods.worker.working_dir == "/w"
    assert pods.worker.apart == ()
    assert limits(pods.worker)["nvidia.com/gpu"] == "8"


def test_one_pod_of_several_ranks_starts_them_itself() -> None:
    pods = target(planned({"nodes": 1}))
    assert (pods.mpi_job, pods.launcher) == (None, None)
    assert pods.starter[:3] == ("mpirun", "-np", "8")
    assert "/etc/mpi/hostfile" not in pods.starter
    assert settings(pods.launch) == {"mpi": "openmpi"}
    assert settings(pods.wrapper)["from"] == "openmpi"
    intel = target(planned({"nodes": 1, "container": {"mpi": "intel"}}))
    assert intel.starter[:3] == ("mpiexec.hydra", "-n", "8")
    assert not {"-f", "-ppn"} & set(intel.starter)


def test_one_pod_is_scheduled_by_the_gangs_scheduler_where_the_site_names_it() -> None:
    named = {"gang": {"scheduler": "scheduler-plugins", "scheduler_name": "gangs"}}
    assert target(planned({"nodes": 1}, named)).worker.scheduler_name == "gangs"
    # Of an MPIJob's pods the operator names it.
    assert target(planned({}, named)).worker.scheduler_name == ""


def test_the_wrapper_has_the_tables_of_slurm() -> None:
    """The same ranks on the same cores; only where a rank's number comes from differs, and what pods lack."""
    slurm = planned(
        {"rendezvous": "torch", "mpi": "pmix"},
        scheduler="slurm",
        container="pyxis",
        slurm={"version": "22.05", "pyxis": "0.20.0", "mpi_plugin": {"pmix": "pmix"}},
    )
    pods = planned({"rendezvous": "torch", "mpi": "pmix"})
    here, there = settings(pods.target.wrapper), settings(slurm.target.wrapper)
    assert {name: here[name] for name in ("hcas", "near", "memlock", "openib", "rendezvous")} == {
        name: there[name] for name in ("hcas", "near", "memlock", "openib", "rendezvous")
    }
    assert pods.common.shapes == slurm.common.shapes
    assert pods.common.environment == slurm.common.environment
    seats = pods.common.shape.seats
    assert len(here["cpus"].split(";")) == len(seats) == 8
    assert here["besteffort"] == "1"
    assert here["port"].isdigit()


@pytest.mark.parametrize(
    ("bind", "asked"), [({}, True), ({"cpus": "none"}, True), ({"cpus": "none", "memory": "none"}, False)]
)
@pytest.mark.parametrize("gpus", [8, 3])
def test_a_binding_that_a_pod_may_forbid_is_asked_for_gently(
    bind: dict[str, str], asked: bool, gpus: int
) -> None:
    found = settings(target(planned({"bind": bind, "gpus_per_node": gpus})).wrapper)
    assert ("besteffort" in found) == asked
