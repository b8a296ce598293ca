"""The launch in Slurm's words, for sites of several versions."""

from typing import Any

import msgspec
import published
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.plan.image import pyxis_form
from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

ON_NODE = {"NCCL_IB_HCA", "UCX_NET_DEVICES", "OMPI_MCA_btl_openib_if_include"}
BASE = {"name": "j", "command": ["x"], "directory": "/home/me", "image": "nvcr.io/nvidia/pytorch:24.07-py3"}


def planned(job: dict[str, Any], slurm: dict[str, Any] | None = None, **site: Any) -> LaunchPlan:
    full = {"version": "22.05", "pyxis": "0.20.0", "mpi_plugin": {"pmix": "pmix_v4"}, **(slurm or {})}
    types = [{"type": "dgx-a100", "hosts": "dgx[1-4]"}]
    here = msgspec.convert(
        {"name": "s", "scheduler": "slurm", "container": "pyxis", "node_types": types, "slurm": full, **site},
        Site,
    )
    machines = {"dgx-a100": catalogue.load("dgx-a100").value}
    return Planner(here, machines).plan(msgspec.convert({**BASE, **job}, Job))


def target(plan: LaunchPlan) -> SlurmTarget:
    assert isinstance(plan.target, SlurmTarget)
    return plan.target


def env(plan: LaunchPlan) -> dict[str, tuple[str, str]]:
    return {variable.name: (variable.value, variable.origin) for variable in plan.common.environment}


@pytest.mark.parametrize(
    ("image", "form"),
    [
        ("nvcr.io/nvidia/mxnet:21.09-py3", "nvcr.io#nvidia/mxnet:21.09-py3"),
        ("nvcr.io#nvidia/mxnet:21.09-py3", "nvcr.io#nvidia/mxnet:21.09-py3"),
        ("docker://nvcr.io/nvidia/mxnet", "nvcr.io#nvidia/mxnet"),
        ("localhost:5000/team/app", "localhost:5000#team/app"),
        ("registry:5000/app:1", "registry:5000#app:1"),
        ("ubuntu", "ubuntu"),
        ("ubuntu:22.04", "ubuntu:22.04"),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "nvidia/cuda:12.4.1-base-ubuntu22.04"),
        ("dockerd://local/app", "dockerd://local/app"),
        ("/lustre/images/app.sqsh", "/lustre/images/app.sqsh"),
        ("./app.sqsh", "/home/me/app.sqsh"),
        ("images/app.sqsh", "/home/me/images/app.sqsh"),
        ("../x/app.squashfs", "/home/x/app.squashfs"),
        (f"nvcr.io/a/b@sha256:{'0' * 64}", f"nvcr.io#a/b@sha256:{'0' * 64}"),
    ],
)
def test_image_forms(image: str, form: str) -> None:
    assert pyxis_form(image, "/home/me") == form


@pytest.mark.parametrize(
    "image", ["podman://x", "a b", "UPPER/case", "x:", "https://x", "oras://x", "x:tag with blank"]
)
def test_images_that_pyxis_does_not_take(image: str) -> None:
    with pytest.raises(InputError):
        pyxis_form(image, "/")


@given(st.text(max_size=30))
def test_no_text_breaks_the_image_reader(text: str) -> None:
    try:
        form = pyxis_form(text, "/home/me")
    except InputError:
        return
    assert form.startswith("/") or (form.isascii() and not set(form) & set(" \t\n'\"$`"))


@pytest.mark.parametrize(
    "version", ["0.2.0", "0.3.0", "0.6.0", "0.8.0", "0.11.1", "0.15.0", "0.20.0", "0.24.0"]
)
def test_no_option_is_newer_than_the_sites_pyxis(version: str) -> None:
    """Restated from the tags of Pyxis: an independent table."""
    since = {
        "container-image": (0, 1),
        "container-workdir": (0, 1),
        "container-mounts": (0, 1),
        "no-container-mount-home": (0, 3),
        "no-container-remap-root": (0, 4),
        "no-container-entrypoint": (0, 8),
        "container-writable": (0, 11),
        "container-env": (0, 15),
    }
    job = {"mounts": ["/a:/b"], "workdir": "/w", "env": {"NVIDIA_VISIBLE_DEVICES": "all"}}
    plan = planned(job, {"pyxis": version})
    given_names = {option.text.split("=")[0].removeprefix("--") for option in target(plan).pyxis}
    now = tuple(map(int, version.split(".")))
    assert given_names == {name for name, first in since.items() if first <= now}
    # What is left out is said, one by one.
    left_out = {name for name, first in since.items() if first > now}
    assert {name for name in left_out if any(name in warning for warning in plan.warnings)} == left_out


def test_what_an_old_pyxis_cannot_do_is_refused_all_at_once() -> None:
    job = {"container": {"remap_root": True, "mount_home": True, "save": "/x", "env": ["A"]}}
    with pytest.raises(InputError) as caught:
        planned(job, {"pyxis": "0.2.0"})
    assert {problem.path[-1] for problem in caught.value.problems} == {
        "remap_root",
        "mount_home",
        "save",
        "env",
    }


def test_the_mpi_plugin_is_the_sites() -> None:
    assert "--mpi=pmix_v4" in [option.text for option in target(planned({"mpi": "pmix"})).srun]
    assert "--mpi=none" in [option.text for option in target(planned({})).srun]
    with pytest.raises(InputError, match=r"pmi2.*it has: pmix"):
        planned({"mpi": "pmi2"})


def test_how_pmix_waits_is_the_jobs_then_the_sites_then_ours() -> None:
    def fence(job: dict[str, Any], **site: Any) -> list[tuple[str, str]]:
        found = target(planned({"mpi": "pmix", **job}, **site)).host_env
        return [(each.value, each.origin) for each in found if each.name == "SLURM_PMIX_FENCE"]

    own, of_site = {"env": {"SLURM_PMIX_FENCE": "mixed"}}, {"env": {"SLURM_PMIX_FENCE": "tree"}}
    assert fence({}) == [("ring", "hpclaunch")]
    assert fence({}, **of_site) == [("tree", "site")]
    assert fence(own, **of_site) == [("mixed", "job")]
    assert fence({**own, "mpi": "none"}) == []


def test_layers_of_the_environment() -> None:
    plan = planned(
        {"env": {"A": "job", "NCCL_IB_HCA": "mine"}, "rendezvous": "torch"},
        env={"A": "site", "B": "site", "CUDA_DEVICE_ORDER": "FASTEST_FIRST", "MASTER_PORT": "1"},
    )
    got = env(plan)
    assert got["A"] == ("job", "job")
    assert got["B"] == ("site", "site")
    assert got["CUDA_DEVICE_ORDER"] == ("PCI_BUS_ID", "hpclaunch")
    assert got["NCCL_IB_HCA"] == ("mine", "job")
    assert "MASTER_PORT" not in got  # the wrapper's is above the site's
    assert [warning for warning in plan.warnings if "NCCL_IB_HCA" in warning]


def test_the_jobs_own_rendezvous_is_kept_and_said() -> None:
    plan = planned({"env": {"MASTER_PORT": "29500"}, "rendezvous": "torch"})
    assert env(plan)["MASTER_PORT"] == ("29500", "job")
    assert [warning for warning in plan.warnings if "MASTER_PORT" in warning]


def settings(plan: LaunchPlan) -> dict[str, str]:
    pairs = [option.text.split("=", 1) for option in target(plan).wrapper]
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


def test_hcas_are_a_matter_of_the_node() -> None:
    plan = planned({"mpi": "pmix"}, env=dict.fromkeys(ON_NODE, "site"))
    assert not ON_NODE & set(env(plan))  # the wrapper's are above the site's
    entries = [entry.split("/") for entry in settings(plan)["hcas"].split()]
    assert entries[0] == ["mlx5_0", "0000:0c:00.0", "1", "InfiniBand"]
    assert [name for name, *_ in entries] == list(published.A100_HCAS)
    near = [(count, order.split(",")) for count, _, order in map(_parted, settings(plan)["near"].split(";"))]
    assert [(count, order[0]) for count, order in near] == [("1", str(gpu)) for gpu in range(8)]
    assert near[1][1] == list("10234567")  # its own, its switch's, its socket's, the rest
    assert near[6][1] == list("67450123")
    assert settings(plan)["openib"] == "1"
    assert "openib" not in settings(planned({}))
    assert settings(planned({"bind": {"hcas": "strict"}}))["strict"] == "1"
    assert not {"hcas", "near", "openib", "strict"} & set(settings(planned({"bind": {"hcas": "none"}})))


@pytest.mark.parametrize(
    ("job", "left"),
    [
        # No rank of a whole node has one of its own, so nothing replaces what the site sets of the ranks'.
        ({"mpi": "pmix", "bind": {"hcas": [""] * 8}}, ON_NODE - {"NCCL_IB_HCA"}),
        ({"mpi": "pmix", "bind": {"hcas": "none"}}, ON_NODE),
        ({"mpi": "pmix", "gpus_per_node": 0}, set()),
        ({"mpi": "pmix", "gpus_per_node": 2}, set()),
    ],
)
def test_the_sites_variables_stay_where_the_wrapper_sets_none(job: dict[str, Any], left: set[str]) -> None:
    assert ON_NODE & set(env(planned(job, env=dict.fromkeys(ON_NODE, "site")))) == left


def _parted(text: str) -> tuple[str, str, str]:
    return text.partition(":")


def test_sockets_are_the_sites() -> None:
    named = env(planned({"mpi": "pmix"}, network={"socket_ifname": "ib0"}))
    assert {name: named[name][0] for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")} == {
        "NCCL_SOCKET_IFNAME": "ib0",
        "GLOO_SOCKET_IFNAME": "ib0",
    }
    assert named["OMPI_MCA_btl_tcp_if_include"][0] == "ib0"
    excluded = env(planned({}, network={"exclude": ["lo", "docker0"]}))
    assert excluded["NCCL_SOCKET_IFNAME"][0] == "^lo,docker0"


def test_masks_are_only_for_a_node_that_the_job_has_to_itself() -> None:
    whole = target(planned({}))
    assert "--exclusive" in [option.text for option in whole.sbatch]
    breaking = ("-c", "--cpus-per-task", "--exclusive", "--exact")
    assert not [option for option in whole.srun if option.text.startswith(breaking)]
    part = planned({"gpus_per_node": 4})
    options = [option.text for option in target(part).sbatch]
    assert "--exclusive" not in options
    assert "--cpus-per-task=32" in options  # half of 256 CPUs for 4 ranks
    assert (target(part).cpu_masks, target(part).mem_masks) == ((), ())
    forced = target(planned({"gpus_per_node": 4}, {"exclusive": True}))
    assert "--exclusive" in [option.text for option in forced.sbatch]


def test_what_the_site_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="5 nodes, and site s has 4"):
        planned({"nodes": 5})
    with pytest.raises(InputError, match="runs no containers"):
        planned({}, container="none")


@pytest.mark.parametrize(
    ("minutes", "text"), [(1, "00:01:00"), (90, "01:30:00"), (1440, "1-00:00:00"), (0, "UNLIMITED")]
)
def test_the_time_limit(minutes: int, text: str) -> None:
    assert f"--time={text}" in [option.text for option in target(planned({"time": minutes})).sbatch]


def test_cores_far_from_the_gpus_are_asked_for_where_slurm_would_lose_them() -> None:
    def asked(plan: LaunchPlan) -> list[str]:
        return [option.text for option in target(plan).srun if "cpus-per-gpu" in option.text]

    spread = {"bind": {"cpus": "spread"}}
    assert asked(planned(spread, {"version": "23.11"})) == ["--cpus-per-gpu=32"]
    assert asked(planned({"ranks_per_node": 33}, {"version": "24.05.1"})) == ["--cpus-per-gpu=32"]
    assert asked(planned({"bind": {"cpus": "none"}}, {"version": "25.11"})) == ["--cpus-per-gpu=32"]
    assert asked(planned({}, {"version": "23.11"})) == []
    assert asked(planned(spread, {"version": "23.02"})) == []
    # 250 CPUs do not divide among 8 GPUs.
    types = [{"type": "dgx-a100", "hosts": "dgx[1-4]", "reserved_cpus": "0-2,128-130"}]
    plan = planned(spread, {"version": "23.11"}, node_types=types)
    assert [warning for warning in plan.warnings if "far from the GPUs" in warning]


def test_a_raw_option_that_breaks_masks_is_taken_where_there_are_none() -> None:
    sites = {"s": {"srun": ["--threads-per-core=1"]}}
    with pytest.raises(InputError, match="masks"):
        planned({"sites": sites})
    plan = planned({"sites": sites, "bind": {"cpus": "none", "memory": "none"}})
    assert [option.why for option in target(plan).srun if option.text == "--threads-per-core=1"] == [
        "not checked"
    ]
    assert [warning for warning in plan.warnings if "--threads-per-core=1" in warning]
