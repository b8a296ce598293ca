"""`topo discover --site` through a real srun: what a node shows becomes the node type that it is."""

from pathlib import Path

from command import hpclaunch
from realslurm import Slurm

from hpclaunch.spec.nodetype import HcaSpec, NodeType
from hpclaunch.spec.read import read_node_type
from hpclaunch.topology import catalogue, model


def hcas(machine: NodeType) -> list[tuple[object, ...]]:
    def facts(hca: HcaSpec) -> tuple[object, ...]:
        return (hca.pci, hca.numa, hca.switch, hca.use == "compute", hca.link_layer, hca.port)

    return [facts(hca) for hca in machine.hcas]


def test_the_nodes_are_what_the_sandbox_made_them(
    slurm_a100: Slurm, slurm_h100: Slurm, tmp_path: Path
) -> None:
    for slurm, name in ((slurm_a100, "dgx-a100"), (slurm_h100, "dgx-h100")):
        done = hpclaunch("topo", "discover", "--site", slurm.site)
        assert done.returncode == 0, done.stderr
        assert "read: dgx1 (sysfs capture)" in done.stderr
        file = tmp_path / f"{name}.yaml"
        file.write_text(done.stdout)
        found, machine = read_node_type(file).value, catalogue.load(name).value
        assert found.name == name
        assert [(node.node, node.socket) for node in found.numa] == [(n.node, n.socket) for n in machine.numa]
        for node in machine.numa:
            assert model.cores(found, node.node) == model.cores(machine, node.node)
        assert found.distances == machine.distances
        assert found.gpus == machine.gpus
        assert hcas(found) == hcas(machine)
        default = next(variant for variant in machine.variants.values() if variant.default)
        assert found.variants["captured"].names == default.names


def test_a_folder_gets_a_file_for_each_kind(slurm_a100: Slurm, tmp_path: Path) -> None:
    folder = tmp_path / "types"
    done = hpclaunch("topo", "discover", "--site", slurm_a100.site, "-o", folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [file.name for file in folder.iterdir()] == ["dgx-a100.yaml"]
    again = hpclaunch("topo", "discover", "--site", slurm_a100.site, "-o", folder)
    assert again.returncode == 2
    assert "dgx-a100.yaml is there already" in again.stderr


def test_a_partition_that_is_not_there(slurm_a100: Slurm) -> None:
    done = hpclaunch("topo", "discover", "--site", slurm_a100.site, "--partition", "none-such")
    assert (done.returncode, done.stdout) == (3, "")
    assert "Slurm has no node in the partition none-such" in done.stderr


def test_nodes_that_cannot_run_anything(slurm_a100: Slurm) -> None:
    for node in ("dgx1", "dgx2"):
        slurm_a100.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=test", check=True)
    try:
        done = hpclaunch("topo", "discover", "--site", slurm_a100.site)
        assert (done.returncode, done.stdout) == (3, "")
        assert "no node is free to run on, of the kind: 2x64x2 sockets, cores, threads" in done.stderr
    finally:
        for node in ("dgx1", "dgx2"):
            slurm_a100.run("scontrol", "update", f"nodename={node}", "state=resume", check=True)
        slurm_a100.run("srun", "--nodes=2", "true", check=True)  # they are not free at once
