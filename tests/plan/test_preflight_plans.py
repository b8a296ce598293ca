"""What is planned of a check before the ranks start."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hpclaunch.cli.planning import plan_job
from hpclaunch.plan.origins import Sources, origins, said
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget
from hpclaunch.values.preflight import Links


def plan(
    folder: Path, site: str = "superpod-a100", own: dict[str, Any] | None = None, **job: Any
) -> LaunchPlan:
    path = folder / "job.yaml"
    full = {"name": "a", "command": "true", "nodes": 4, "preflight": {"spares": 2}, **job}
    path.write_text(yaml.safe_dump({key: value for key, value in full.items() if value is not None}))
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
    floors = {"all_reduce_gbs": 200, "between_nodes_gbs": 150}
    for key in floors:
        assert any(f"preflight.{key}" in each for each in of_nccl)
    with_floors = plan(tmp_path, own={"preflight": floors}, preflight={"nccl": True})
    assert not any("_gbs" in each for each in with_floors.warnings)
    none = plan(tmp_path, gpus_per_node=0, preflight={"nccl": True}).warnings
    assert [each for each in none if "preflight.gpu has no effect" in each]
    assert [each for each in none if "preflight.nccl has no effect" in each]


def test_a_check_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is to be checked"):
        plan(tmp_path, nodes=1, gpus_per_node=1, preflight={"gpu": False, "hca": False, "nccl": True})


def test_nodes_of_several_types_are_refused(tmp_path: Path) -> None:
    two = {"node_types": [{"type": name, "hosts": f"{name}[1-9]"} for name in ("dgx-a100", "dgx-h100")]}
    with pytest.raises(InputError, match="nodes of several types"):
        plan(tmp_path, own=two)


def links(made: LaunchPlan) -> Links | None:
    assert isinstance(made.target, SlurmTarget)
    assert made.target.preflight is not None
    return made.target.preflight.links


def test_nodes_are_measured_together_by_the_ranks_own_means(tmp_path: Path) -> None:
    """The plugin, the network and all GPUs of a node are those of the job."""
    sharp = {"fabric": {"sharp": {"network": "sharp"}}, "preflight": {"between_nodes_gbs": 150}}
    made = plan(tmp_path, own=sharp, mpi="pmi2", fabric={"sharp": True}, preflight={"nccl": True})
    found = links(made)
    assert found is not None
    assert isinstance(made.target, SlurmTarget)
    ranks = {each.text for each in made.target.srun}
    options = {each.text for each in found.options}
    assert options - ranks == set()
    assert {"--mpi=pmi2", "--network=sharp", "--kill-on-bad-exit=1"} <= options
    assert (found.floor, found.command[-2:]) == (150, ("-g", "8"))


def test_a_job_without_mpi_is_measured_by_what_the_site_has(tmp_path: Path) -> None:
    found = links(plan(tmp_path, mpi="none", preflight={"nccl": True}))
    assert found is not None
    assert "--mpi=pmix" in [each.text for each in found.options]
    bare = {
        "name": "bare",
        "scheduler": "slurm",
        "node_types": [{"type": "dgx-a100", "hosts": "dgx[1-9]"}],
        "slurm": {"version": "22.05"},
    }
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump(bare))
    without = plan(tmp_path, str(tmp_path / "bare.yaml"), mpi="none", preflight={"nccl": True})
    assert links(without) is None
    assert [each for each in without.warnings if "nothing is measured between nodes" in each]


def test_between_nodes_nothing_is_measured_where_there_is_one(tmp_path: Path) -> None:
    assert links(plan(tmp_path, nodes=1, preflight={"nccl": True, "spares": 1})) is None


def test_groups_have_the_spare_nodes_together(tmp_path: Path) -> None:
    groups = {"a": {"nodes": 1}, "b": {"nodes": 2}}
    made = plan(tmp_path, nodes=None, groups=groups)
    assert isinstance(made.target, SlurmTarget)
    assert "--nodes=5" in [each.text for each in made.target.sbatch]


def test_explain_names_what_is_checked_and_who_says_so(tmp_path: Path) -> None:
    job, site = tmp_path / "job.yaml", tmp_path / "site.yaml"
    job.write_text("name: a\ncommand: 'true'\nnodes: 4\npreflight:\n  nccl: true\n  spares: 2\n")
    site.write_text(
        "name: own\nextends: superpod-a100\npreflight:\n  between_nodes_gbs: 150\n  command: [measure]\n"
    )
    planned = plan_job(str(job), str(site), ())
    sources = Sources(planned.job, planned.site, planned.machines)
    rows = {row.what: (row.value, said(row, sources)) for row in origins(sources, planned.plan)}
    found = {what: row for what, row in rows.items() if what.startswith("preflight")}
    assert found == {
        "preflight": ("gpus, hcas, memlock", f"{job}:5"),
        "preflight.spares": ("2, of 6 nodes", f"{job}:6"),
        "preflight.limit": ("120 s", "default"),
        "preflight.all_reduce_gbs": ("any bandwidth, by measure", f"default; {site}:5"),
        "preflight.between_nodes_gbs": ("150 GB/s, by measure", f"{site}:4; {site}:5"),
    }
