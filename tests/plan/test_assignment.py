"""Every GPU's HCA at least total distance and even load: against a search of all assignments, and scipy's
solver."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import machines
from solvers import least_total, searched, total

from hpclaunch.plan import assignment, hcas
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model

PAIRINGS = ("index", "switch")
WITH_HCAS = [name for name in catalogue.names() if model.named_hcas(catalogue.load(name).value, None)]


def costs_of(machine: NodeType, pairing: str) -> list[list[int]]:
    """How far each HCA is from each GPU, apart from the planner's own: a switch that is not in common counts
    more than all that comes after it."""
    found = model.named_hcas(machine, None)
    paths = {spec.pci: spec.switch.split("/") for spec in machine.hcas}
    depth = 3 if pairing == "switch" else 1
    rows = []
    for gpu in machine.gpus:
        row = []
        for hca in found:
            mine, theirs = gpu.switch.split("/"), paths[hca.pci]
            cost = 0
            for level in range(1, depth + 1):
                shared = mine[:level] == theirs[:level] and len(mine) >= level and mine[0] != ""
                cost = cost * 1000 + (not shared)
            row.append(cost * 1000 + model.distance(machine, gpu.numa, hca.numa))
        rows.append(row)
    return rows


def planned(machine: NodeType, pairing: str) -> list[int]:
    costs = hcas.gpu_costs(machine, model.named_hcas(machine, None), pairing)  # type: ignore[arg-type]
    return [order[0] for order in hcas.orders(costs)]


def is_balanced(chosen: Sequence[int], columns: int) -> bool:
    load = Counter(chosen)
    return max(load.values()) - min(load[column] for column in range(columns)) <= 1


@settings(deadline=None)
@given(machine=machines(gpus=(1, 8), hcas=(1, 9)), pairing=st.sampled_from(PAIRINGS))
def test_the_best_of_all_assignments(machine: NodeType, pairing: str) -> None:
    costs = costs_of(machine, pairing)
    chosen = planned(machine, pairing)
    assert is_balanced(chosen, len(costs[0]))
    assert chosen == searched(costs)


@settings(deadline=None, max_examples=25)
@given(machine=machines(gpus=(9, 16), hcas=(1, 40)), pairing=st.sampled_from(PAIRINGS))
def test_larger_machines_against_another_solver(machine: NodeType, pairing: str) -> None:
    check_against_scipy(costs_of(machine, pairing), planned(machine, pairing))


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("name", WITH_HCAS)
def test_every_node_type(name: str, pairing: str) -> None:
    machine = catalogue.load(name).value
    check_against_scipy(costs_of(machine, pairing), planned(machine, pairing))


def check_against_scipy(costs: list[list[int]], chosen: list[int]) -> None:
    assert is_balanced(chosen, len(costs[0]))
    least = least_total(costs)
    assert total(costs, chosen) == least
    # No row could have an earlier HCA at this cost, those before it kept.
    for row, column in enumerate(chosen):
        for earlier in range(column):
            assert least_total(costs, [*chosen[:row], earlier]) != least


@settings(deadline=None)
@given(data=st.data(), rows=st.integers(1, 7), columns=st.integers(1, 7))
def test_any_costs(data: st.DataObject, rows: int, columns: int) -> None:
    numbers = st.integers(0, data.draw(st.sampled_from((1, 3, 10**30))))
    costs = data.draw(
        st.lists(st.lists(numbers, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    assert assignment.balanced(costs) == searched(costs)


def test_columns_with_places_of_their_own() -> None:
    # The second row keeps the only place that it is near to, and the first gives way.
    assert assignment.assign([[0, 1, 9], [0, 9, 9], [5, 0, 1]], [1, 1, 1]) == [1, 0, 2]
    assert assignment.assign([[3, 1], [1, 3], [1, 3]], [0, 3]) == [1, 1, 1]
    assert assignment.balanced([]) == []
    with pytest.raises(ValueError, match="3 rows, and 2 places"):
        assignment.assign([[1, 1]] * 3, [1, 1])
