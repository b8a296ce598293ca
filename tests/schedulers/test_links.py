"""The state of a chain, from what Slurm says of its links and what the last one's script says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.schedulers.links import FILE, whole
from hpclaunch.values.job import JobStatus, State

C, F, T, X, P, R = "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "PENDING", "RUNNING"


def tasks(*states: State) -> dict[int, JobStatus]:
    codes = {"COMPLETED": 0, "FAILED": 75}
    return {link: JobStatus(state, exit_code=codes.get(state)) for link, state in enumerate(states)}


CASES = [
    ((R, P, P), "", (R, "link 0 of 3 runs")),
    ((T, P, P), "", (P, "link 1 of 3 is next")),
    ((T, R, P), "", (R, "link 1 of 3 runs")),
    ((F, T, R), "", (R, "link 2 of 3 runs")),
    ((T, C, P), "done 1 0", (C, "link 1 of 3 was done")),
    ((T, C, R), "done 1 0", (R, "link 2 of 3 runs")),  # it has not looked yet
    ((T, F, X), "failed 1 7", (F, "link 1 of 3 failed")),
    ((T, F, C), "failed 1 7", (F, "link 1 of 3 failed")),
    ((T, C, X), "", (C, "link 1 of 3 was done")),
    ((T, T, T), "", (T, "link 2 of 3 was the last, and not done")),
    ((T, T, F), "", (F, "link 2 of 3 was the last, and not done")),
    ((T, X, X), "", (T, "link 0 of 3 was the last, and not done")),
    ((X, X, X), "", (X, "link 2 of 3 was the last, and not done")),
    ((T, P, P), "nonsense", (P, "link 1 of 3 is next")),
    ((T, P, P), "done 9 0", (P, "link 1 of 3 is next")),
]


@pytest.mark.parametrize(("states", "said", "expected"), CASES)
def test_a_chain_is_where_its_links_are(
    tmp_path: Path, states: tuple[State, ...], said: str, expected: tuple[State, str]
) -> None:
    if said:
        (tmp_path / FILE).write_text(said + "\n")
    seen = whole(tmp_path, tasks(*states))
    assert (seen.state, seen.reason) == expected


def test_the_exit_status_is_that_of_the_link_that_failed(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("failed 1 7\n")
    assert whole(tmp_path, tasks("TIMEOUT", "FAILED", "CANCELLED")).exit_status == 7


STATES = st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "PENDING", "RUNNING", "UNKNOWN"])


@given(st.lists(STATES, min_size=2, max_size=6))
def test_nothing_has_ended_while_a_link_may_follow(states: list[State]) -> None:
    seen = whole(Path("/nowhere"), tasks(*states))
    goes_on = any(state in ("PENDING", "RUNNING", "UNKNOWN") for state in states)
    assert seen.has_ended == (not goes_on)
