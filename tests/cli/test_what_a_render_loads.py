"""What `hpclaunch render` imports: the parts for the other scheduler cost an import that nobody waits for."""

from pathlib import Path

import pytest
from command import loaded_by

ROOT = Path(__file__).resolve().parents[2]
OF_KUBERNETES = {
    "hpclaunch.capability.kubernetes",
    "hpclaunch.plan.kubernetes",
    "hpclaunch.rank.pod",
    "hpclaunch.render.kubelet",
    "hpclaunch.render.manifest",
    "hpclaunch.render.pods",
    "hpclaunch.render.processes",
    "hpclaunch.values.yamltext",
    "hpclaunch.spec.apiwords",
    "hpclaunch.spec.check_kubernetes",
    "hpclaunch.spec.check_kubernetes_relations",
    "hpclaunch.spec.check_volume",
}
# Templates too: to import their engine takes a quarter of a start.
OF_SLURM = {
    "hpclaunch.plan.pyxis",
    "hpclaunch.plan.slurm",
    "hpclaunch.render.quote",
    "hpclaunch.render.templates",
    "jinja2",
}


@pytest.mark.parametrize(
    ("job", "sets"),
    [
        ("bench/job.yaml", []),
        ("bench/job.yaml", ["--set", "nodes=1"]),
        ("examples/tensorflow-benchmarks-gpu-v1a2.yaml", []),
    ],
    ids=["of several nodes", "of one node", "of parts of nodes"],
)
@pytest.mark.parametrize(
    ("site", "own", "others"),
    [("superpod-a100", OF_SLURM, OF_KUBERNETES), ("k8s-superpod-a100", OF_KUBERNETES, OF_SLURM)],
)
def test_a_render_loads_one_scheduler(
    job: str, sets: list[str], site: str, own: set[str], others: set[str]
) -> None:
    loaded = loaded_by("render", job, "--site", f"site-configs/{site}.yaml", *sets, cwd=ROOT)
    assert own <= loaded
    assert not others & loaded
    assert not {"ClusterShell", "kubernetes", "hpclaunch.readback", "hpclaunch.schedulers"} & loaded
    of_long_runs = {"hpclaunch.plan.longrun", "hpclaunch.render.longrun", "hpclaunch.spec.check_longrun"}
    assert not of_long_runs & loaded
    assert not {"hpclaunch.spec.check_kubernetes_labels", "hpclaunch.spec.check_kubernetes_exports"} & loaded
