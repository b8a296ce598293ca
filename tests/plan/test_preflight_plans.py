"""What is planned of a check before the ranks start."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hpclaunch.cli.planning import plan_job
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget


def plan(
    folder: Path, site: str = "superpod-a100", own: dict[str, Any] | None = None, **job: Any
) -> LaunchPlan:
    path = folder / "job.yaml"
    full = {"name": "a", "command": "true", "nodes": 4, "preflight": {"spares": 2}, **job}
    path.write_text(yaml.safe_dump(full))
    if own is not None:
        file = folder / "site.yaml"
        file.write_text(yaml.safe_dump({"name": "own", "extends": site, **own}))
        site = str(file)
    return plan_job(str(path), site, ()).plan


def test_the_ranks_get_the_nodes_of_the_job_and_the_allocation_has_the_spare_ones(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert isinstance(made.target, SlurmTarget)
    assert made.common.nodes == 4
    assert [each.text for each in made.target.sbatch if "--nodes" in each.text] == ["--nodes=6"]
    assert [each.text for each in made.target.srun if "--nodes" in each.text] == ["--nodes=4"]
    check = made.target.preflight
    assert check is not None
    settings = dict(each.text.split("=", 1) for each in check.on_host)
    assert settings["gpus"] == "8"
    # As many as the ranks have, with the rate that the node type knows.
    hcas = [entry.split("/") for entry in settings["hcas"].split()]
    assert [entry[:4] for entry in hcas] == [
        [hca.name, hca.pci, str(hca.port), hca.link_layer] for hca in made.common.shape.hcas
    ]
    assert {entry[4] for entry in hcas} == {"200"}


def test_a_site_must_have_the_spare_nodes_too(tmp_path: Path) -> None:
    small = {"node_types": [{"type": "dgx-a100", "hosts": "dgx[1-5]"}]}
    with pytest.raises(InputError, match="6 nodes, and site own has 5"):
        plan(tmp_path, own=small)
    assert plan(tmp_path, own=small, preflight={"spares": 1}).common.nodes == 4


def test_a_ceiling_counts_them_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="6 nodes are more than the 5"):
        plan(tmp_path, own={"limits": {"nodes": 5}})


def test_what_is_not_checked_is_warned_of(tmp_path: Path) -> None:
    (warning,) = (
        each for each in plan(tmp_path, "k8s-superpod-a100", image="a:1").warnings if "preflight" in each
    )
    assert "no effect" in warning
    of_nccl = plan(tmp_path, preflight={"nccl": True}).warnings
    assert any("all_reduce_gbs" in each for each in of_nccl)
    with_floor = plan(tmp_path, own={"preflight": {"all_reduce_gbs": 200}}, preflight={"nccl": True})
    assert not any("all_reduce_gbs" in each for each in with_floor.warnings)
    none = plan(tmp_path, gpus_per_node=0, preflight={"nccl": True}).warnings
    assert [each for each in none if "preflight.gpu has no effect" in each]
    assert [each for each in none if "preflight.nccl has no effect" in each]


def test_nodes_of_several_types_are_refused(tmp_path: Path) -> None:
    two = {"node_types": [{"type": name, "hosts": f"{name}[1-9]"} for name in ("dgx-a100", "dgx-h100")]}
    with pytest.raises(InputError, match="nodes of several types"):
        plan(tmp_path, own=two)
