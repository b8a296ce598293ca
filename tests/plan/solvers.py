"""Two other ways to the least total cost, to hold the planner's own against."""

from collections.abc import Sequence

import numpy
from scipy.optimize import linear_sum_assignment

Costs = Sequence[Sequence[int]]


def searched(costs: Costs) -> list[int]:
    """The columns of the rows, by trying every balanced assignment in index order. What cannot be better than
    the best so far, at the least cost of each row left, is cut off."""
    rows, columns = len(costs), len(costs[0])
    least_after = [sum(min(row) for row in costs[start:]) for start in range(rows + 1)]
    best: list[int] = []
    best_cost = float("inf")
    load = [0] * columns

    def search(chosen: list[int], cost: int) -> None:
        nonlocal best, best_cost
        row = len(chosen)
        if cost + least_after[row] >= best_cost:
            return
        if row == rows:
            best, best_cost = list(chosen), cost
            return
        for column in range(columns):
            load[column] += 1
            # Whoever has the fewest must be able to come within one of the most.
            missing = sum(max(load) - 1 - number for number in load if number < max(load) - 1)
            if missing <= rows - row - 1:
                search([*chosen, column], cost + costs[row][column])
            load[column] -= 1

    search([], 0)
    return best


def total(costs: Costs, chosen: Sequence[int]) -> int:
    return sum(row[column] for row, column in zip(costs, chosen, strict=True))


def least_total(costs: Costs, fixed: Sequence[int] = ()) -> int | None:
    """The least cost of a balanced assignment whose first rows have the columns `fixed`, None where there is
    none: scipy's modified Jonker-Volgenant on a column for each place."""
    rows, columns = len(costs), len(costs[0])
    each, left = divmod(rows, columns)
    # All places but the last of each column are taken first.
    last = 1 + sum(max(row) for row in costs)
    places = [
        (column, last * (number == each))
        for column in range(columns)
        for number in range(each + (1 if left else 0))
    ]
    table = numpy.array([[row[column] + more for column, more in places] for row in costs], dtype=float)
    assert table.max() * rows < 2**53  # every sum is exact
    of_column = numpy.array([column for column, _ in places])
    for row, column in enumerate(fixed):
        table[row, of_column != column] = numpy.inf
    try:
        chosen = linear_sum_assignment(table)[1]
    except ValueError:
        return None
    cost = int(table[range(rows), chosen].sum()) - last * left
    return cost if cost < last else None
