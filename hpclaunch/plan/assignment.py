"""Assignments of least total cost, exact: what each row gets, where a column may serve several rows.

Successive shortest paths with prices of rows and columns (Kuhn 1955, Munkres 1957; with Dijkstra's search as
Jonker and Volgenant 1987 have it). Costs are Python's integers, which have no limit, so that several aims,
one before the other, and the order among equals are all digits of one number.
"""

from collections.abc import Sequence

Row = Sequence[int]


def balanced(costs: Sequence[Row]) -> list[int]:
    """The column of each row. `costs` are whole numbers from 0 up, rows of one length.

    No two columns serve numbers of rows that differ by more than one. Of all such assignments it is one of
    least total cost, and of these the first in index order: row 0 has the least column that it has in any of
    them, then row 1, and so on.
    """
    rows = len(costs)
    columns = len(costs[0]) if costs else 0
    # Below each cost the row's column as a digit to base `columns`, row 0 the first: sums compare as the
    # assignments do.
    exact = [
        [cost * columns**rows + column * columns ** (rows - 1 - row) for column, cost in enumerate(of_row)]
        for row, of_row in enumerate(costs)
    ]
    each, left = divmod(rows, columns) if columns else (0, 0)
    if not left:
        return assign(exact, [each] * columns)
    # A second place in a column costs more than all else together, so the others are taken first.
    last = sum(map(max, exact)) + 1
    found = assign([row + [cost + last for cost in row] for row in exact], [each] * columns + [1] * columns)
    return [place % columns for place in found]


def assign(costs: Sequence[Row], places: Sequence[int]) -> list[int]:
    """The column of each row at least total cost, where column j has places[j] places.

    Raises ValueError where there are fewer places than rows.
    """
    if sum(places) < len(costs):
        raise ValueError(f"{len(costs)} rows, and {sum(places)} places")
    served: list[list[int]] = [[] for _ in places]
    column_of: list[int] = [-1] * len(costs)
    row_price, column_price = [0] * len(costs), [0] * len(places)
    for row, of_row in enumerate(costs):
        # How far each column is from the row, over rows that would give way, and which row was the last.
        away = [cost - price for cost, price in zip(of_row, column_price, strict=True)]
        before = [row] * len(places)
        open_columns = {column for column, number in enumerate(places) if number}
        passed: list[int] = []
        while True:
            column = min(open_columns, key=away.__getitem__)
            if len(served[column]) < places[column]:
                break
            open_columns.discard(column)
            passed.append(column)
            for other in served[column]:
                start, theirs = away[column] - row_price[other], costs[other]
                for following in open_columns:
                    distance = start + theirs[following] - column_price[following]
                    if distance < away[following]:
                        away[following], before[following] = distance, other
        row_price[row] = away[column]
        for full in passed:
            change = away[column] - away[full]
            column_price[full] -= change
            for other in served[full]:
                row_price[other] += change
        # Back along the path: each row takes the column that it led to.
        while True:
            taker = before[column]
            left = column_of[taker]
            column_of[taker] = column
            served[column].append(taker)
            if taker == row:
                break
            served[left].remove(taker)
            column = left
    return column_of
