"""Jobs planned for machines of the catalogue get the placement that was published for these machines."""

from collections.abc import Callable
from pathlib import Path

import published
import pytest
from published import address

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue
from hpclaunch.values import cpulist
from hpclaunch.values.placement import NodeShape, Seat

SITE = """\
version: 1
name: here
scheduler: slurm
node_types: [{{type: {name}, hosts: "n[1-4]"{variant}}}]
slurm: {{version: "22.05", mpi_plugin: {{pmix: pmix}}}}
"""
JOB = """\
version: 1
name: job
command: [hostname]
bind: {{{bind}}}
"""


Plan = Callable[..., NodeShape]


@pytest.fixture
def planned(tmp_path: Path) -> Plan:
    """The node of a job with one rank for each GPU, on a site that has nodes of this type alone."""

    def plan(name: str, bind: str = "", variant: str = "") -> NodeShape:
        file = tmp_path / "here.yaml"
        file.write_text(SITE.format(name=name, variant=variant and f", variant: {variant}"))
        job = parse_job(JOB.format(bind=bind), "job.yaml", "/").value
        machines = {name: catalogue.load(name).value}
        return Planner(read_site(str(file)).value, machines).plan(job).common.shape

    return plan


def cpus(seat: Seat) -> str:
    return cpulist.format_list(seat.cpus)


def names(shape: NodeShape) -> list[str]:
    """The HCA of each rank."""
    found = []
    for seat in shape.seats:
        (name,) = seat.hcas
        found.append(name)
    return found


def test_dgx_1(planned: Plan) -> None:
    shape = planned("dgx-1v")
    rows = [(cpus(seat), *seat.mems, *seat.hcas) for seat in shape.seats]
    assert rows == list(published.DGX1_RANKS)


@pytest.mark.parametrize(("name", "variant"), [("dgx-2h", ""), ("dgx-2", "from-mlx5_1")])
def test_dgx_2_with_the_names_of_circe(planned: Plan, name: str, variant: str) -> None:
    shape = planned(name, variant=variant)
    rows = [(cpus(seat), *seat.mems, *seat.hcas) for seat in shape.seats]
    assert rows == list(published.DGX2_RANKS)


@pytest.mark.parametrize("name", ["dgx-2", "dgx-2h"])
@pytest.mark.parametrize("variant", list(published.DGX2_NAMES))
def test_dgx_2_has_three_published_numberings(planned: Plan, name: str, variant: str) -> None:
    pairs = [f"mlx5_{number}" for number in published.DGX2_NAMES[variant] for _ in range(2)]
    assert names(planned(name, variant=variant)) == pairs


def test_a_dgx_2_is_numbered_from_0_unless_said_otherwise(planned: Plan) -> None:
    assert names(planned("dgx-2")) == names(planned("dgx-2", variant="from-mlx5_0"))


def test_dgx_a100(planned: Plan) -> None:
    shape = planned("dgx-a100")
    assert [(*seat.mems, cpus(seat)) for seat in shape.seats] == list(published.A100_RANKS)
    assert names(shape) == list(published.A100_HCAS)


def test_dgx_a100_without_smt(planned: Plan) -> None:
    shape = planned("dgx-a100", "smt: false")
    assert [cpus(seat) for seat in shape.seats] == list(published.A100_NO_SMT)
    assert [seat.mems for seat in shape.seats] == [(numa,) for numa in published.A100_MEMS]


def test_dgx_a100_in_the_order_of_the_inner_switches(planned: Plan) -> None:
    assert names(planned("dgx-a100", "pairing: switch")) == list(published.A100_SAME_SWITCH)


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-h200"])
def test_dgx_h100_and_h200(planned: Plan, name: str) -> None:
    shape = planned(name)
    hcas = {hca.name: hca.pci for hca in shape.hcas}
    rows = [
        (shape.gpus[rank].pci, hcas[name], name, *shape.seats[rank].mems)
        for rank, name in enumerate(names(shape))
    ]
    assert rows == [(address(gpu), address(hca), name, numa) for gpu, hca, name, numa in published.H100_ROWS]


@pytest.mark.parametrize("variant", list(published.B200_NAMES))
def test_dgx_b200_is_a_dgx_h100_with_other_names(planned: Plan, variant: str) -> None:
    shape = planned("dgx-b200", variant=variant)
    assert names(shape) == [f"mlx5_{number}" for number in published.B200_NAMES[variant]]
    addresses = [(address(gpu), address(hca)) for gpu, hca, _, _ in published.H100_ROWS]
    assert [(gpu.pci, hca.pci) for gpu, hca in zip(shape.gpus, shape.hcas, strict=True)] == addresses


@pytest.mark.parametrize(
    ("name", "rows"),
    [("azure-ndm-a100-v4", published.NDV4_ROWS), ("azure-nd-h100-v5", published.NDV5_ROWS)],
)
def test_azure_has_one_hca_for_each_gpu(
    planned: Plan, name: str, rows: tuple[tuple[str, str, int, str], ...]
) -> None:
    shape = planned(name)
    hcas = {hca.name: hca for hca in shape.hcas}
    found = [
        (shape.gpus[rank].pci, hcas[name].pci, hcas[name].numa, name)
        for rank, name in enumerate(names(shape))
    ]
    assert found == [(f"{gpu}:00:00.0", f"{hca}:00:00.0", numa, name) for gpu, hca, numa, name in rows]
    assert [seat.mems for seat in shape.seats] == [(numa,) for _, _, numa, _ in rows]


def test_azure_ndv2_has_one_hca_for_all(planned: Plan) -> None:
    shape = planned("azure-ndv2")
    assert names(shape) == ["mlx5_ib0"] * 8
    assert [seat.mems for seat in shape.seats] == [(0,)] * 4 + [(1,)] * 4
    owned = [cpus(seat) for seat in shape.seats]
    assert (owned[0], owned[3], owned[4], owned[7]) == ("0-4", "15-19", "20-24", "35-39")


def test_gb200_tray(planned: Plan) -> None:
    shape = planned("gb200-tray")
    hcas = {hca.name: hca.pci for hca in shape.hcas}
    found = [(shape.gpus[rank].pci, hcas[name], name) for rank, name in enumerate(names(shape))]
    assert found == [(f"{gpu}:01:00.0", f"{hca}:03:00.0", name) for gpu, hca, name in published.GB200_ROWS]


@pytest.mark.parametrize("name", list(published.SHARED))
def test_ranks_divide_the_cpus_that_published_launchers_share(planned: Plan, name: str) -> None:
    """The launcher gives all ranks of a NUMA node all its CPUs; here each has its own part of just these."""
    smt, rows = published.SHARED[name]
    shape = planned(name, "" if smt else "smt: false")
    assert [seat.mems for seat in shape.seats] == [(numa,) for _, numa in rows]
    for shared in {text for text, _ in rows}:
        owners = [seat for seat, (text, _) in zip(shape.seats, rows, strict=True) if text == shared]
        given = sorted(cpu for seat in owners for cpu in seat.cpus)
        assert given == sorted(cpulist.parse(shared))


@pytest.mark.parametrize("name", ["dell-dss8440-8", "dell-r750xa", "supermicro-4029gp-tvrt", "hpe-xl675d"])
def test_a_machine_without_known_hcas_has_none_chosen(planned: Plan, name: str) -> None:
    assert {seat.hcas for seat in planned(name).seats} == {()}
