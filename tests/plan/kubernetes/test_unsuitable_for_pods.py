"""What a job asks for and Kubernetes cannot give, and what of it has no effect."""

from typing import Any

import pytest
from pod_plans import A100, planned, refused, target, warned


@pytest.mark.parametrize(
    ("job", "path", "said"),
    [
        ({"image": None}, ("image",), "needs an image"),
        ({"image": "/lustre/app.sqsh"}, ("image",), "squashfs"),
        ({"image": "./app.sqsh"}, ("image",), "squashfs"),
        ({"image": "images/app.squashfs"}, ("image",), "squashfs"),
        ({"image": "dockerd://app"}, ("image",), "daemon"),
        ({"image": "podman://app"}, ("image",), "reference"),
        ({"image": "Team/App"}, ("image",), "reference"),
        ({"image": "app:tag:tag"}, ("image",), "reference"),
        ({"container": {"mount_home": True}}, ("container", "mount_home"), "home"),
        ({"container": {"entrypoint": True}}, ("container", "entrypoint"), "`command`"),
        ({"container": {"save": "out.sqsh"}}, ("container", "save"), "saved"),
        ({"fabric": {"sharp": True}}, ("fabric", "sharp"), "SHARP"),
        ({"workdir": "train"}, ("workdir",), "must begin with /"),
        ({"inherit": ["LD_PRELOAD"]}, ("inherit", 0), "LD_PRELOAD"),
        ({"secrets": ["PATH"]}, ("secrets", 0), "PATH"),
        # In env its value would be in the manifest.
        ({"secrets": ["HOME"]}, ("secrets", 0), "give the secret another name"),
        ({"inherit": ["HOME"]}, ("inherit", 0), "set it in env"),
        ({"inherit": ["LANG", "PATH"]}, ("inherit", 1), "PATH"),
        ({"inherit": ["RANK"], "rendezvous": "torch"}, ("inherit", 0), "RANK"),
        ({"inherit": ["NCCL_IB_HCA"]}, ("inherit", 0), "NCCL_IB_HCA"),
        ({"inherit": ["OMPI_MCA_plm_rsh_args"]}, ("inherit", 0), "OMPI_MCA_plm_rsh_args"),
        ({"gpu_type": "h100"}, ("gpu_type",), "it has: a100"),
        ({"nodes": 5}, ("nodes",), "has 4"),
        ({"gpus_per_node": 9}, ("gpus_per_node",), "9 GPUs per node"),
    ],
)
def test_what_cannot_be(job: dict[str, Any], path: tuple[str | int, ...], said: str) -> None:
    found = refused(job)
    assert list(found) == [("job", path)]
    assert said in found["job", path]


@pytest.mark.parametrize(
    "job",
    [
        {"inherit": ["RANK", "MASTER_ADDR"], "rendezvous": "none"},
        {"inherit": ["NCCL_IB_HCA"], "bind": {"hcas": "none"}},
        {"inherit": ["PATH"], "env": {"PATH": "/opt/bin"}},
    ],
)
def test_names_that_are_free(job: dict[str, Any]) -> None:
    common = planned(job).common
    assert set(job["inherit"]) <= {*common.inherit, *(variable.name for variable in common.environment)}


def test_all_of_it_is_said_at_once() -> None:
    job = {
        "image": "dockerd://app",
        "container": {"mount_home": True, "entrypoint": True, "save": "x"},
        "fabric": {"sharp": True},
        "mounts": ["nowhere:/data"],
    }
    assert {path[0:2] for _, path in refused(job)} == {
        ("image",),
        ("container", "mount_home"),
        ("container", "entrypoint"),
        ("container", "save"),
        ("fabric", "sharp"),
        ("mounts", 0),
    }


def test_several_slices_for_one_pod() -> None:
    """CUDA shows a process the first of them alone."""
    cut = {"node_types": [{**A100, "mig": {"1g.5gb": 56}}]}
    found = refused({"gpu_type": "1g.5gb", "gpus_per_node": 2}, **cut)
    assert list(found) == [("job", ("gpus_per_node",))]
    assert "share_nodes" in found["job", ("gpus_per_node",)]
    several = planned({"gpu_type": "1g.5gb", "gpus_per_node": 1, "ranks_per_node": 3}, **cut)
    assert several.common.ranks_per_node == 3


@pytest.mark.parametrize(
    ("image", "form"),
    [
        ("nvcr.io/nvidia/mxnet:21.09-py3", "nvcr.io/nvidia/mxnet:21.09-py3"),
        ("nvcr.io#nvidia/mxnet:21.09-py3", "nvcr.io/nvidia/mxnet:21.09-py3"),
        ("docker://nvcr.io/nvidia/mxnet", "nvcr.io/nvidia/mxnet"),
        ("docker://$oauthtoken@nvcr.io#nvidia/mxnet", None),
        ("oauth@nvcr.io#nvidia/mxnet", "nvcr.io/nvidia/mxnet"),
        ("localhost:5000#team/app", "localhost:5000/team/app"),
        ("registry:5000/app:1", "registry:5000/app:1"),
        ("ubuntu", "ubuntu"),
        (f"nvcr.io/a/b@sha256:{'0' * 64}", f"nvcr.io/a/b@sha256:{'0' * 64}"),
        (f"nvcr.io#a/b@sha256:{'0' * 64}", f"nvcr.io/a/b@sha256:{'0' * 64}"),
    ],
)
def test_images_as_the_kubelet_takes_them(image: str, form: str | None) -> None:
    if form is None:
        assert ("job", ("image",)) in refused({"image": image})
        return
    pods = target(planned({"image": image}))
    assert pods.launcher is not None
    assert (pods.worker.image, pods.launcher.image) == (form, form)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"locality": "unit"}, "locality: unit has no effect"),
        ({"container": {"env": ["A"]}}, "container.env has no effect"),
        ({"container": {"hcas": "compute"}}, "container.hcas has no effect"),
        ({"sites": {"s": {"account": "adas"}}}, "sites.s.account means nothing to Kubernetes"),
        ({"sites": {"s": {"partition": "batch"}}}, "sites.s.partition means nothing to Kubernetes"),
        ({"sites": {"s": {"reservation": "x"}}}, "sites.s.reservation means nothing to Kubernetes"),
        ({"sites": {"s": {"mail": "me@example.com"}}}, "sites.s.mail means nothing to Kubernetes"),
        ({"sites": {"s": {"sbatch": ["--x"]}}}, "sites.s.sbatch means nothing to Kubernetes"),
        ({"env": {"NVIDIA_VISIBLE_DEVICES": "0"}}, "NVIDIA_VISIBLE_DEVICES"),
        ({"env": {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}}, "env.CUDA_DEVICE_ORDER"),
    ],
)
def test_what_has_no_effect_is_said(job: dict[str, Any], said: str) -> None:
    assert warned(planned(job), said)
    assert not [warning for warning in planned().warnings if said in warning]


@pytest.mark.parametrize(
    "hints",
    [
        {"namespace": "theirs"},
        {"queue": "q"},
        {"priority_class": "p"},
        {"nodelist": "dgx[1-3]"},
        {"exclude": "dgx1"},
        {"node_type": "dgx-a100"},
        {"share_nodes": True},
    ],
)
def test_what_has_an_effect_is_not_said_to_have_none(hints: dict[str, Any]) -> None:
    plan = planned({"sites": {"s": hints}})
    assert not [warning for warning in plan.warnings if "means nothing" in warning]
    assert plan.target != planned().target or hints == {"node_type": "dgx-a100"}
