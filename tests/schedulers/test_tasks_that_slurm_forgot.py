"""What is said of a task of a job array that neither the controller nor the accounts have."""

from pathlib import Path

import pytest

from hpclaunch.records import tasks
from hpclaunch.records.record import Record
from hpclaunch.schedulers import arrays
from hpclaunch.values.job import JobStatus

PENDING, DONE = JobStatus("PENDING"), JobStatus("COMPLETED", exit_code=0)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Of an array of three tasks, whose id is 7."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path))
    texts = {"site_yaml": "", "job_yaml": "", "script": "", "plan": b"", "directory": "/"}
    made = Record.create(
        site="here", scheduler="slurm", name="n", argv=(), scheduler_version="22.05", tasks=3, **texts
    )
    made.submitted("7")
    return made


@pytest.mark.parametrize(
    ("rows", "logs", "state"),
    [
        pytest.param([("7_0", DONE), ("7_[1]", PENDING)], {"output-0.log"}, "CANCELLED", id="scancel 7_2"),
        pytest.param([("7_0", DONE), ("7_[1]", PENDING)], {"output-2.log"}, "UNKNOWN", id="it ran"),
        pytest.param([("7_0", DONE), ("7_[1]", PENDING)], None, "UNKNOWN", id="its log is out of sight"),
        pytest.param([], set(), "UNKNOWN", id="a controller that lost the array"),
        pytest.param([("7_0", DONE), ("7_[1,...%2]", PENDING)], set(), "UNKNOWN", id="cut short"),
        pytest.param([("7_N/A", PENDING), ("7_0", DONE)], set(), "UNKNOWN", id="no numbers"),
        pytest.param([("7_0", DONE), ("8_2", PENDING)], set(), "CANCELLED", id="another array's"),
        pytest.param([("7_[0-2%1]", PENDING)], set(), "PENDING", id="it waits"),
    ],
)
def test_a_task_that_left_the_queue_before_it_began_was_cancelled(
    record: Record, rows: list[tuple[str, JobStatus]], logs: set[str] | None, state: str
) -> None:
    told = [(job_id, status, f"hpclaunch:{record.tag}") for job_id, status in rows]
    found = arrays.refresh([record], lambda ids: told, lambda ids: [], lambda record: logs)[record.tag]
    assert list(found) == [0, 1, 2]
    assert found[2].state == state
    # What is cancelled stays so once the controller has forgotten the others too.
    assert (2 in tasks.ended(record)) == (state == "CANCELLED")
