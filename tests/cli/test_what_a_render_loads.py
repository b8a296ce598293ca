"""What `hpclaunch render` imports: the parts for the other scheduler cost an import that nobody waits for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_KUBERNETES = {
    "hpclaunch.capability.kubernetes",
    "hpclaunch.plan.kubernetes",
    "hpclaunch.rank.pod",
    "hpclaunch.render.kubelet",
    "hpclaunch.render.manifest",
    "hpclaunch.values.yamltext",
    "hpclaunch.spec.apiwords",
    "hpclaunch.spec.check_kubernetes",
    "hpclaunch.spec.check_volume",
}
OF_SLURM = {"hpclaunch.plan.pyxis", "hpclaunch.plan.slurm", "hpclaunch.render.quote"}


@pytest.mark.parametrize(
    ("site", "own", "others"),
    [("superpod-a100", OF_SLURM, OF_KUBERNETES), ("k8s-superpod-a100", OF_KUBERNETES, OF_SLURM)],
)
def test_a_render_loads_one_scheduler(site: str, own: set[str], others: set[str]) -> None:
    words = ["render", "bench/job.yaml", "--site", f"site-configs/{site}.yaml"]
    program = (
        "import sys\nfrom hpclaunch.cli.main import hpclaunch\n"
        f"hpclaunch({words}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.splitlines()[-1].split())
    assert own <= loaded
    assert not others & loaded
    assert not {"ClusterShell", "kubernetes", "hpclaunch.readback", "hpclaunch.schedulers"} & loaded
    of_long_runs = {"hpclaunch.plan.longrun", "hpclaunch.render.longrun", "hpclaunch.spec.check_longrun"}
    assert not of_long_runs & loaded
