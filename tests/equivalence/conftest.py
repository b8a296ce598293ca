"""A sandbox and a Kubernetes site for the same made-up image and the same two DGX A100."""

import os
from collections.abc import Iterator
from pathlib import Path

import pods_here
import pytest
import recorded_ranks
import yaml
from both_sides import SYSTEM_PATH, Place
from realslurm import Slurm, sandbox

from hpclaunch.sandbox import updown
from hpclaunch.sandbox.layout import at

# What images have: paths, and values that a shell, a kubelet or an mpirun might touch.
IMAGE_ENV = {
    "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    "OMPI_MCA_coll_hcoll_enable": "0",
    "UCX_TLS": "all",
    "OF_THE_IMAGE": "two\nlines, 'quotes' \"and\" $HOME $(KUBERNETES_PORT) $$ `id` \\ ; # = : Grüße 世界",
    "OF_THE_IMAGE_EMPTY": "",
    "OF_THE_IMAGE_BLANK": "  two  blanks ",
    "REPLACED": "by the site, the job or the submitter's shell, else the image's",
}
SITE_ENV = {"OF_THE_SITE": '$(OF_THE_IMAGE) `$` "x"'}
# Those of the examples.
VOLUMES = {
    name: {"path": f"/{name}", "claim": name}
    for name in ("adas-data", "bert", "coco", "data", "efs", "home", "imagenet", "scratch")
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("sandbox")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Both sites."""
    obstacle = updown.obstacle() or pods_here.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    folder = tmp_path_factory.mktemp("equivalence")
    image = folder / "image"
    env = {"PATH": f"{image}/bin:{SYSTEM_PATH}", **IMAGE_ENV}
    _make_image(image, env)
    up = sandbox(
        "up", "--dir", folder / "slurm", "--nodes", "2", "--node-type", "dgx-a100", "--name", "slurm"
    )
    assert up.returncode == 0, up.stderr
    try:
        layout = at(folder / "slurm")
        (image / "out" / "tasks").symlink_to(layout.tasks)
        plugins = layout.folder / "etc" / "plugstack.conf"
        plugins.write_text(
            plugins.read_text(encoding="utf-8").rstrip("\n") + f" image={image}\n", encoding="utf-8"
        )
        conf = layout.slurm_conf
        slurm = Slurm(layout.folder, layout.site, conf, {**os.environ, "SLURM_CONF": str(conf)})
        here = yaml.safe_load(layout.site.read_text(encoding="utf-8"))
        (folder / "slurm.yaml").write_text(yaml.safe_dump(here | {"env": SITE_ENV, "volumes": VOLUMES}))
        there = {
            "version": 1,
            "name": "pods",
            "scheduler": "kubernetes",
            "node_types": [{"type": "dgx-a100", "count": 2, "selector": {"made-up": "dgx-a100"}}],
            "kubernetes": {"namespace": "made-up", "mpi_operator": "0.8.0"},
            "network": {"socket_ifname": "eth0"},
            "env": SITE_ENV,
            "volumes": VOLUMES,
        }
        (folder / "pods.yaml").write_text(yaml.safe_dump(there))
        (folder / "scratch").mkdir()
        yield Place(slurm, image, env, folder / "slurm.yaml", folder / "pods.yaml", folder / "scratch")
    finally:
        down = sandbox("down", "--dir", folder / "slurm")
        assert down.returncode == 0, down.stderr


def _make_image(image: Path, env: dict[str, str]) -> None:
    for name in ("workdir", "bin", "out", "machine", "stand-ins", "root"):
        (image / name).mkdir(parents=True)
    (image / "out").chmod(0o777)
    (image / "env").write_bytes(
        b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items())
    )
    # A shell that sshd starts reads this; Slurm starts none.
    (image / "root" / ".bashrc").write_text(
        "export OF_A_BASHRC=1 REPLACED=bashrc PATH=/nowhere:$PATH\n", encoding="ascii"
    )
    recorded_ranks.build(image / "out", image)
    # An image has one MPI, and this machine's mpiexec is the other's.
    (image / "bin" / "mpiexec").symlink_to("/usr/bin/mpiexec.hydra")
    (image / "bin" / "hydra_pmi_proxy").symlink_to("/usr/bin/hydra_pmi_proxy")
