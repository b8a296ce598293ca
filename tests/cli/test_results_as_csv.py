"""The table of `hpclaunch results --csv` as a reader of CSV has it."""

import csv
import io

from hypothesis import example, given
from hypothesis import strategies as st

from hpclaunch.cli import results

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(st.lists(st.tuples(TEXT, st.none() | TEXT), min_size=1, max_size=3))
@example([("plain", "0.25\r")])
@example([("a\rb", None), ("x", "1,5")])
@example([('"', "\n")])
def test_each_row_is_read_back_as_it_is(pairs: list[tuple[str, str | None]]) -> None:
    """Values are a user's, and metrics are cut from logs, in which progress bars write carriage returns."""
    rows = [
        {
            "job_id": f"7_{point}",
            "point": point,
            "values": {"env.LR": value},
            "state": "COMPLETED",
            "exit_code": 0,
            "signal": None,
            "seconds": None,
            "metrics": {"loss": metric},
        }
        for point, (value, metric) in enumerate(pairs)
    ]
    text = results._csv(rows, ["env.LR"], ["loss", "absent"])
    header, *read = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert header == [
        "job_id",
        "point",
        "env.LR",
        "state",
        "exit_code",
        "signal",
        "seconds",
        "loss",
        "absent",
    ]
    assert read == [
        [f"7_{point}", str(point), value, "COMPLETED", "0", "", "", metric or "", ""]
        for point, (value, metric) in enumerate(pairs)
    ]
