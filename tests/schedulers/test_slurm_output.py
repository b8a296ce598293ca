"""Reading what Slurm 22.05.8 printed: the texts were recorded from a real controller, asked with TZ=UTC.
The colon form of an exit code is that of `_print_job_exit_code` in Slurm 26.05; sacct's lines follow its
manual (`--parsable2 --allocations`)."""

from pathlib import Path

import pytest

from hpclaunch.schedulers import slurm_output
from hpclaunch.schedulers.contract import Busy, Refused
from hpclaunch.schedulers.slurm import filename_pattern
from hpclaunch.schedulers.slurm_advice import advice_for, in_order, kind_of
from hpclaunch.schedulers.slurm_states import STATES
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import JobStatus

SQUEUE = """\
1|FAILED|1792|n1|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:41:17|NonZeroExitCode|hpclaunch:aaa|/w|
2|FAILED|9|n1|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:41:17|JobLaunchFailure|(null)|/w|
3|COMPLETING|0|n1|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:41:20|None|(null)|/w|
5|COMPLETED|0|n1|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:41:17|None|(null)|/w|
6|PENDING|0||2026-11-21T02:41:17|N/A|N/A|JobHeldUser|a|b|/w|
7|PENDING|0||2026-11-21T02:41:17|2026-11-21T03:41:17|NONE|BeginTime|(null)|/w|
8|PENDING|0||2026-11-21T02:41:17|N/A|N/A|DependencyNeverSatisfied|(null)|/w|
26|RUNNING|0|n1|2026-11-21T03:04:46|2026-11-21T03:04:47|2026-11-21T03:05:47|None|hpclaunch:tag-timeout|/w|
27|NODE_FAIL|15|n2|2026-11-21T03:04:46|2026-11-21T03:04:47|2026-11-21T03:04:53|NodeDown|hpclaunch:tag-nodefail|/w|
28|SUSPENDED|0|n2|2026-11-21T03:04:46|2026-11-21T03:04:47|NONE|None|hpclaunch:tag-susp|/w|
29|PENDING|0||2026-11-21T03:04:48|2026-11-21T03:06:49|NONE|job requeued in held state|hpclaunch:tag-rq|/w|
"""
HETJOB = """\
9+1|RUNNING|0|h1|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:46:17|None|hpclaunch:het|/w|
9+0|RUNNING|0|a[1-2]|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:46:17|None|hpclaunch:het|/w|
12+0|PENDING|0||2026-11-21T02:41:17|N/A|N/A|Resources|hpclaunch:waits|/w|
12+1|PENDING|0||2026-11-21T02:41:17|N/A|N/A|Priority|hpclaunch:waits|/w|
"""
CANCELLED_PART = """\
14+0|FAILED|36608|a[1-2]|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:41:17|NonZeroExitCode|hpclaunch:het|/w|
14+1|CANCELLED|15|h1|2026-11-21T02:41:17|2026-11-21T02:41:17|2026-11-21T02:41:17|None|hpclaunch:het|/w|
"""
AT = "2026-11-21T02:41:17Z"


@pytest.fixture(scope="module")
def jobs() -> dict[str, JobStatus]:
    return {job_id: status for job_id, status, _ in slurm_output.parse_squeue(SQUEUE)}


def test_an_ended_job_has_its_exit_code_or_signal_and_its_times(jobs: dict[str, JobStatus]) -> None:
    failed = JobStatus("FAILED", "its script ended with an error", 7, None, "n1", AT, AT, AT)
    assert jobs["1"] == failed
    assert (jobs["2"].exit_code, jobs["2"].signal) == (None, 9)
    assert jobs["5"] == JobStatus("COMPLETED", "", 0, None, "n1", AT, AT, AT)
    assert [jobs[job_id].exit_status for job_id in ("1", "2", "5", "27")] == [7, 137, 0, 1]


def test_a_forecast_is_no_time(jobs: dict[str, JobStatus]) -> None:
    assert jobs["7"].started is None
    assert jobs["26"] == JobStatus(
        "RUNNING", "", None, None, "n1", "2026-11-21T03:04:46Z", "2026-11-21T03:04:47Z"
    )


def test_an_exit_code_is_given_only_when_the_job_has_ended(jobs: dict[str, JobStatus]) -> None:
    assert jobs["3"].state == "RUNNING"
    assert jobs["3"].exit_code is None
    assert jobs["3"].reason == "it is ending"


def test_reasons_are_plain_words_and_unknown_ones_are_quoted(jobs: dict[str, JobStatus]) -> None:
    assert "held by its user" in jobs["6"].reason
    assert "never start" in jobs["8"].reason
    assert jobs["27"].reason == "a node of it failed; a node that it needs is down"
    assert jobs["28"].reason == "it is suspended"
    assert jobs["29"].reason == "Slurm's reason: job requeued in held state"


def test_a_cancelled_job_waits_for_nothing() -> None:
    line = "4|{}|0|n1|N/A|N/A|N/A|{}|c|/w|\n"
    for state, reason, expected in (
        ("CANCELLED", "JobHeldUser", ""),
        ("CANCELLED", "AssocGrpCpuLimit", ""),
        ("CANCELLED", "DependencyNeverSatisfied", "it will never start"),
        ("PENDING", "JobHeldUser", "scontrol release"),
    ):
        ((_, status, _),) = slurm_output.parse_squeue(line.format(state, reason))
        assert status.reason.endswith(expected)
        assert bool(status.reason) == bool(expected)


def test_the_later_form_of_an_exit_code() -> None:
    line = "4|{}|{}|n1|N/A|N/A|N/A|None|c|/w|\n"
    for text, expected in (("7:0", (7, None)), ("0:9", (None, 9)), ("", (None, None))):
        ((_, status, _),) = slurm_output.parse_squeue(line.format("FAILED", text))
        assert (status.exit_code, status.signal) == expected


def test_remarks_between_the_lines_are_no_jobs() -> None:
    assert slurm_output.parse_squeue("slurm_load_jobs error: Invalid job id specified\n\nMon Nov 21|\n") == []


def test_a_state_that_nobody_knows_is_unknown() -> None:
    ((_, status, _),) = slurm_output.parse_squeue("4|SLEEPY|0||N/A|N/A|N/A|None|c|/w|\n")
    assert status.state == "UNKNOWN"
    assert "SLEEPY" in status.reason


def test_no_word_of_slurm_stands_for_two_states() -> None:
    words = [word for pair in STATES for word in pair]
    assert len(words) == len(set(words))


def test_a_job_number_that_an_older_cluster_gave_away_is_nobodys() -> None:
    rows = slurm_output.parse_squeue(SQUEUE)
    found = slurm_output.by_tag(rows, {"aaa": "1", "bbb": "2", "tag-susp": "1", "tag-rq": None})
    assert {tag: job_id for tag, (job_id, _) in found.items()} == {"aaa": "1", "tag-rq": "29"}


def test_a_tag_in_the_working_folder_is_enough_where_a_site_rewrites_comments() -> None:
    rows = slurm_output.parse_squeue("4|RUNNING|0|n1|N/A|N/A|N/A|None|project x|/h/jobs/s/ddd/work|\n")
    assert slurm_output.by_tag(rows, {"ddd": "4"})["ddd"][1].state == "RUNNING"


def test_what_a_job_waited_for_is_no_reason_of_its_end() -> None:
    rows = slurm_output.parse_squeue(
        "7+0|COMPLETED|0|n2|N/A|N/A|N/A|Dependency|h/jobs/s/a/work|\n"
        "7+1|COMPLETED|0|n1|N/A|N/A|N/A|None|h/jobs/s/a/work|\n"
        "9+0|CANCELLED|0||N/A|N/A|N/A|None|h/jobs/s/b/work|\n"
        "9+1|CANCELLED|0||N/A|N/A|N/A|DependencyNeverSatisfied|h/jobs/s/b/work|\n"
    )
    (_, done, _), (_, never, _) = rows
    assert (done.reason, done.nodes) == ("", "n2,n1")
    assert never.reason == "the job that it waits for ended otherwise: it will never start"


def test_an_ended_job_waits_for_nothing_whatever_it_waited_for() -> None:
    line = "4|{}|1:0|n1|N/A|N/A|N/A|{}|c|/w|\n"
    waited = (
        *("QOSMaxGRESPerUser", "AssocGrpNodeRunMinutes", "MaxMemPerLimit", "NvidiaImexChannels"),
        *("ReqNodeNotAvail, UnavailableNodes:n[1-2]", "ReqNodeNotAvail, May be reserved for other job"),
        *("JobHoldMaxRequeue", "ReservationDeleted", "Priority"),
    )
    for state in ("FAILED", "COMPLETED"):
        for reason in waited:
            ((_, status, _),) = slurm_output.parse_squeue(line.format(state, reason))
            assert status.reason == ""
    for reason in (*waited, "NonZeroExitCode", "InvalidQOS", "PartitionDown", "JobLaunchFailure"):
        state = "PENDING" if reason in waited else "FAILED"
        ((_, status, _),) = slurm_output.parse_squeue(line.format(state, reason))
        assert status.reason


def test_sacct_says_who_cancelled_and_the_same_fields() -> None:
    text = (
        "31|CANCELLED by 0|0:15|n1|2026-11-21T03:00:00|Unknown|2026-11-21T03:00:09|None|/h/ttt/work\n"
        "32|OUT_OF_MEMORY|0:125|n[1-2]|2026-11-21T03:00:00|Unknown|Unknown||/h/uuu/work\n"
    )
    (_, cancelled, folder), (_, memory, _) = slurm_output.parse_sacct(text)
    assert (cancelled.state, cancelled.reason) == ("CANCELLED", "by root")
    assert cancelled.ended == "2026-11-21T03:00:09Z"
    assert folder == "/h/ttt/work"
    assert (memory.state, memory.ended, memory.exit_status) == ("OUT_OF_MEMORY", None, 1)


@pytest.mark.parametrize(
    ("text", "job_id"),
    [
        ("4711\n", "4711"),
        ("4711;cluster\n", "4711"),
        ("Welcome! 3 news\n4711\n", "4711"),
        ("", None),
        ("x\n", None),
    ],
)
def test_the_job_id_that_sbatch_prints(text: str, job_id: str | None) -> None:
    assert slurm_output.parse_submitted(text) == job_id


# What sbatch 22.05.8 said, and the name that must appear in the advice.
REFUSALS = [
    ("sbatch: error: invalid partition specified: nope\n", "sinfo -s"),
    ("sbatch: error: Batch job submission failed: Invalid feature specification", "constraint"),
    ("sbatch: error: Invalid generic resource (gres) specification", "GPUs"),
    ("sbatch: error: Batch job submission failed: Requested node configuration is not available", "sinfo -N"),
    ("sbatch: error: Batch job submission failed: Invalid node name specified", "nodelist"),
    ("sbatch: unrecognized option '--nonsense'", "Slurm version in the site file"),
    ("sbatch: error: Batch job submission failed: Requested reservation is invalid", "show reservation"),
    ("sbatch: error: Batch job submission failed: Invalid license specification", "licenses"),
    ("sbatch: error: Invalid --time specification", "`time`"),
    ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
     "scontrol ping"),
    ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
     "account"),
    ("sbatch: fatal: Unable to process configuration file", "SLURM_CONF"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "named"), REFUSALS)
def test_each_refusal_has_advice_that_fits_it(message: str, named: str) -> None:
    assert named in advice_for(message)
    assert issubclass(kind_of(message), Refused)
    assert (kind_of(message) is Busy) == ("connect failure" in message)


@pytest.mark.parametrize(
    "message",
    [
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Protocol authentication error",
        "sbatch: error: Batch job submission failed: Unexpected missing socket error",
        "sbatch: error: Batch job submission failed: Broken pipe",
        "sbatch: error: slurm_receive_msg: Zero Bytes were transmitted or received\n"
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
    ],
)
def test_a_broken_conversation_leaves_a_submission_open(message: str) -> None:
    assert kind_of(message) is SchedulerError


# As sbatch 22.05 says it when munged is killed.
UNSIGNED = """\
sbatch: error: If munged is up, restart with --num-threads=10
sbatch: error: Munge encode failed: Failed to connect to "/run/munge.socket": Connection refused
sbatch: error: If munged is up, restart with --num-threads=10
sbatch: error: Munge encode failed: Failed to connect to "/run/munge.socket": Connection refused
sbatch: error: slurm_send_node_msg: auth_g_create: REQUEST_SUBMIT_BATCH_JOB has authentication error
sbatch: error: Batch job submission failed: Protocol authentication error"""


def test_a_request_that_was_never_signed_leaves_nothing_open() -> None:
    assert kind_of(UNSIGNED) is Refused
    assert "munge -n | unmunge" in advice_for(UNSIGNED)
    told = in_order(UNSIGNED).splitlines()
    assert told[0].startswith("sbatch: error: Munge encode failed: ")
    assert (len(told), set(told) < set(UNSIGNED.splitlines())) == (3, True)
    earlier = "sbatch: error: slurm_receive_msg: Socket timed out on send/recv operation"
    assert kind_of(f"{earlier}\n{UNSIGNED}") is SchedulerError


def test_a_controller_that_has_too_much_to_do_took_nothing() -> None:
    """As slurmctld says it from 23.02 on where its rate is limited."""
    for when in ("momentarily", "later"):
        assert kind_of(f"Batch job submission failed: Rate limit exceeded, please retry {when}") is Busy


def test_a_log_path_means_itself_to_slurm() -> None:
    assert filename_pattern(Path("/h/50%j/out.log")) == "/h/50%%j/out.log"
    assert filename_pattern(Path("/h/a\\b%j/out.log")) == "/h/a\\\\b%j/out.log"


@pytest.mark.parametrize("wanted", [None, "9"])
def test_a_heterogeneous_job_is_its_first_component_on_the_nodes_of_all(wanted: str | None) -> None:
    rows = slurm_output.parse_squeue(HETJOB)
    assert [job_id for job_id, _, _ in rows] == ["9", "12"]
    (found,) = slurm_output.by_tag(rows, {"het": wanted}).values()
    assert (found[0], found[1].state) == ("9", "RUNNING")
    assert sorted(found[1].nodes.split(",")) == ["a[1-2]", "h1"]
    assert rows[1][1].nodes == ""
    assert rows[1][1].state == "PENDING"


def test_a_heterogeneous_job_of_which_one_part_is_cancelled_is_cancelled() -> None:
    ((job_id, status, _),) = slurm_output.parse_squeue(CANCELLED_PART)
    assert (job_id, status.state, status.reason, status.nodes) == ("14", "CANCELLED", "", "a[1-2],h1")
    assert status.exit_status == 1
    failed = CANCELLED_PART.replace("CANCELLED|15", "FAILED|36608")
    ((_, status, _),) = slurm_output.parse_squeue(failed)
    assert (status.state, status.exit_code) == ("FAILED", 143)
