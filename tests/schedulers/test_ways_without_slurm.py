"""What the ways to Slurm make of a request and of an answer, where no Slurm is needed to tell."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hpclaunch.plan import raw
from hpclaunch.schedulers import slurm_checkup
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways import openapi, rest
from hpclaunch.schedulers.ways.contract import CannotExpress, Request
from hpclaunch.schedulers.ways.inprocess import attributes
from hpclaunch.schedulers.ways.options import by_name, tasks
from hpclaunch.spec import scalars
from hpclaunch.values.slurmaccess import API_OF_RELEASE

TYPED = [api for api in API_OF_RELEASE.values() if api >= "v0.0.39"]
TEXTS = [api for api in API_OF_RELEASE.values() if api < "v0.0.39"]
word = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def body(api: str, *options: str) -> dict[str, object]:
    """The job of a submission."""
    made = openapi.body(api, [by_name(options)], "#!/bin/sh\n", {}, {"A": "x=y"})
    job = made["job"]
    assert isinstance(job, dict)
    return job


@given(st.lists(word, min_size=1, max_size=3))
@example(["a b", "'", "$HOME `id` \n\\ #"])
def test_a_script_gets_its_arguments_as_they_are(arguments: list[str]) -> None:
    script = rest.with_arguments('#!/bin/bash -p\n#SBATCH --nodes=1\nprintf "%s\\0" "$#" "$@"\n', arguments)
    done = subprocess.run(["bash", "-p"], input=script.encode(), capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [str(len(arguments)), *arguments]


def test_a_script_without_arguments_is_left_alone() -> None:
    assert rest.with_arguments("#!/bin/sh\ntrue\n", []) == "#!/bin/sh\ntrue\n"


@pytest.mark.parametrize("api", TYPED)
@given(st.integers(1, 300 * 86400))
def test_a_time_limit_is_the_same_minutes(api: str, seconds: int) -> None:
    """As the job file's own reader has them, which knows all of Slurm's forms."""
    days, rest_ = divmod(seconds, 86400)
    text = (f"{days}-" if days else "") + f"{rest_ // 3600:02}:{rest_ // 60 % 60:02}:{rest_ % 60:02}"
    limit = body(api, f"--time={text}")["time_limit"]
    assert openapi.number_of(limit) == scalars.minutes(text)


@pytest.mark.parametrize("api", TYPED)
def test_no_time_limit_and_all_of_the_memory(api: str) -> None:
    job = body(api, "--time=UNLIMITED", "--mem=0", "--exclusive", "--no-requeue", "--no-kill")
    assert job["time_limit"] == {"set": False, "infinite": True, "number": 0}
    assert openapi.number_of(job["memory_per_node"]) == 0
    assert job["requeue"] is False
    assert job["kill_on_node_fail"] is False


@pytest.mark.parametrize("api", TYPED)
@pytest.mark.parametrize(("text", "mib"), [("512", 512), ("512M", 512), ("2G", 2048), ("1T", 1 << 20)])
def test_memory_is_in_mebibytes(api: str, text: str, mib: int) -> None:
    assert openapi.number_of(body(api, f"--mem={text}")["memory_per_node"]) == mib


@pytest.mark.parametrize("api", [*TEXTS, *TYPED])
@pytest.mark.parametrize("option", ["--nice=7", "--mem=lots", "--cpus-per-task=few", "--exclusive=user"])
def test_what_has_no_field_is_named(api: str, option: str) -> None:
    if api in TEXTS and option in ("--mem=lots", "--cpus-per-task=few"):
        return  # the server reads these texts itself
    with pytest.raises(CannotExpress, match=option):
        body(api, option)


@given(word)
def test_a_value_that_sbatch_would_read_otherwise_is_not_passed_on(value: str) -> None:
    """What needs quotes on an #SBATCH line is said by no other way than sbatch; all else is as it stands."""
    text = f"--constraint={raw.directive_value(value)}"
    if raw.directive_value(value) == value:
        assert by_name([text]) == {"--constraint": value}
    else:
        with pytest.raises(CannotExpress):
            by_name([text])


@pytest.mark.parametrize("options", [["-N2"], ["--nodes=1", "--nodes=2"], None])
def test_options_that_are_not_understood(options: list[str] | None) -> None:
    with pytest.raises(CannotExpress):
        by_name(options)


@pytest.mark.parametrize("asked", [{"--nodes": "1-2", "--ntasks-per-node": "8"}, {"--nodes": "2"}, {}])
def test_a_number_of_tasks_that_nobody_knows(asked: dict[str, str]) -> None:
    with pytest.raises(CannotExpress):
        tasks(asked)


def test_text_that_is_not_utf8_is_left_to_sbatch(tmp_path: Path) -> None:
    options = ("--nodes=1", "--ntasks-per-node=1")
    request = Request(tmp_path / "s", (), "c", tmp_path / "gr\udcfcn", "o", {}, options)
    with pytest.raises(CannotExpress, match="not UTF-8"):
        attributes(request)


# One job as different versions tell it: the shapes of `dump_job_info` (src/plugins/openapi/v0.0.38/jobs.c)
# and of JOB_INFO (src/plugins/data_parser/v0.0.39 and v0.0.40/parsers.c).
MOMENT = 1795323600
TOLD = [
    {"job_state": "FAILED", "exit_code": 7 << 8, "end_time": MOMENT + 60},
    {
        "job_state": "FAILED",
        "exit_code": {"set": True, "infinite": False, "number": 7 << 8},
        "end_time": MOMENT + 60,
    },
    {
        "job_state": ["FAILED", "LAUNCH_FAILED"],
        "exit_code": {
            "status": ["ERROR"],
            "return_code": {"set": True, "infinite": False, "number": 7},
            "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
        },
        "end_time": {"set": True, "infinite": False, "number": MOMENT + 60},
    },
]


@pytest.mark.parametrize("told", TOLD)
def test_a_job_is_the_same_however_it_is_told(told: dict[str, object]) -> None:
    common = {"job_id": 5, "comment": "hpclaunch:tag", "nodes": "n1", "state_reason": "NonZeroExitCode"}
    job_id, status, marks = rest._row({**common, "submit_time": MOMENT, "start_time": MOMENT, **told})
    assert (job_id, status.state, status.exit_code, status.signal) == ("5", "FAILED", 7, None)
    assert (status.nodes, "tag" in marks) == ("n1", True)
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(MOMENT))
    assert (status.submitted, status.started) == (begun, begun)
    assert status.ended == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(MOMENT + 60))


@pytest.mark.parametrize(
    "told", [9, {"return_code": {"set": False}, "signal": {"id": {"set": True, "number": 9}}}]
)
def test_a_signal_is_no_exit_code(told: object) -> None:
    assert openapi.ended_with(told) == (None, 9)


@pytest.mark.parametrize(("seconds", "result"), [(0.4, "ok"), (-30, "warning"), (400, "bad"), (-400, "bad")])
def test_clocks_that_differ(seconds: float, result: str) -> None:
    check = slurm_checkup.skew("clocks", "the controller", seconds)
    assert check.result == result
    assert ("behind" if seconds < 0 else "ahead") in check.found or result == "ok"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """program("sdiag", "echo x") is the one that is found."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(name: str, text: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o700)

    return make


def test_the_controller_s_clock_is_sdiag_s(program: Callable[[str, str], None]) -> None:
    program("sdiag", 'echo "sdiag output at Sun Nov 22 05:01:03 2026 (1000)"; echo "Data since (9)"')
    assert slurm_checkup.clock(Commands(None), 1000.2).result == "ok"
    assert "100 s behind" in slurm_checkup.clock(Commands(None), 1100.5).found
    program("sdiag", "echo 'Access/permission denied' >&2; exit 1")
    assert slurm_checkup.clock(Commands(None), 0).result == "not known"


@pytest.mark.parametrize(
    ("says", "accounts", "result"),
    [
        ("echo adas; echo adas; echo ml", ["ml"], "ok"),
        ("echo adas; echo ml", ["ml", "lab"], "bad"),
        ("echo adas", [], "ok"),
        ("true", [], "warning"),
        ("exit 1", ["ml"], "not known"),
    ],
)
def test_accounts_of_a_user(
    program: Callable[[str, str], None], says: str, accounts: list[str], result: str
) -> None:
    program("sacctmgr", says)
    check = slurm_checkup.associations(Commands(None), True, accounts)
    assert check.result == result
    assert result != "bad" or check.found.startswith("lab: ")


def test_a_user_without_a_name_has_accounts_that_are_not_known(program: Callable[[str, str], None]) -> None:
    program("id", 'echo "id: cannot find name for user ID 4711" >&2; exit 1')
    program("sacctmgr", "echo ml")
    check = slurm_checkup.associations(Commands(None), True, ["ml"])
    assert (check.result, "user ID 4711" in check.found) == ("not known", True)
