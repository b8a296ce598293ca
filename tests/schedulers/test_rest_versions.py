"""What slurmrestd is sent, and what is understood of its answers, in versions that are later than those of
the sandbox's: held against what their sources take, as recorded in openapi_facts."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from openapi_facts import FIELDS, FLAGS, fits

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ways import openapi
from hpclaunch.schedulers.ways.contract import CannotExpress
from hpclaunch.schedulers.ways.options import by_name
from hpclaunch.schedulers.ways.rest import ByRest
from hpclaunch.values.slurmaccess import API_OF_RELEASE, RestServer

TYPED = [api for api in API_OF_RELEASE.values() if api >= "v0.0.39"]
OPTIONS = (
    *(
        "--account=a",
        "--array=0-9%3",
        "--dependency=afterok:1:2",
        "--mail-user=me",
        "--partition=p",
        "--qos=q",
    ),
    *("--reservation=r", "--licenses=l:2", "--wckey=w", "--constraint=a&b", "--cpus-per-task=4"),
    *("--exclude=n[1-2],m3", "--job-name=n", "--mail-type=END,FAIL", "--mem=512K", "--network=sharp"),
    *("--nodelist=n1", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--open-mode=append"),
    *("--time=1-02:03:04", "--gres=gpu:a100:8,nic:2", "--signal=B:USR1@90", "--exclusive", "--hold"),
    *("--kill-on-invalid-dep=yes", "--no-kill", "--no-requeue", "--propagate=NONE"),
)


def sent(api: str, *options: str, slurm: str = "") -> dict[str, object]:
    fixed = {"comment": "c", "current_working_directory": "/w", "standard_output": "/o"}
    job = openapi.body(api, [by_name(options)], "#!/bin/sh\n", fixed, {"A": "b"}, slurm)["job"]
    assert isinstance(job, dict)
    return job


@pytest.mark.parametrize("api", TYPED)
def test_all_that_is_sent_is_of_the_kind_that_its_field_takes(api: str) -> None:
    names = {option.partition("=")[0] for option in OPTIONS}
    assert names >= set(openapi._TYPED_FIELDS) | {
        whole.partition("=")[0] for whole in openapi._TYPED_WHOLE
    } - {"--requeue"}
    for options in (OPTIONS, ("--requeue", "--time=UNLIMITED", "--mem=0", "--signal=10", "--open-mode=t")):
        job = sent(api, *options)
        assert set(job) <= set(FIELDS)
        assert {field: value for field, value in job.items() if not fits(field, value)} == {}


@pytest.mark.parametrize("api", TYPED)
def test_kinds_of_mail_are_the_flags_that_sbatch_makes_of_them(api: str) -> None:
    all_of_them = {"INVALID_DEPENDENCY", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT"}
    assert set(sent(api, "--mail-type=all,end")["mail_type"]) == all_of_them  # type: ignore[call-overload]
    rest = "TIME_LIMIT,TIME_LIMIT_90,TIME_LIMIT_80,TIME_LIMIT_50,ARRAY_TASKS"
    assert set(sent(api, f"--mail-type=ALL,{rest}")["mail_type"]) == FLAGS["mail_type"]  # type: ignore[call-overload]
    for option in ("--mail-type=NONE", "--mail-type=SOMETIMES", "--open-mode=both"):
        with pytest.raises(CannotExpress, match=option):
            sent(api, option)


@pytest.mark.parametrize(
    ("api", "slurm", "mark"),
    [
        ("v0.0.39", "23.02.7", "gres:"),
        ("v0.0.39", "23.11.10", "gres/"),  # it serves this API too, and reads them anew
        ("v0.0.39", "24.05.8", "gres/"),
        ("v0.0.40", "23.11.1", "gres/"),
        ("v0.0.45", "26.05.3", "gres/"),
    ],
)
def test_gpus_are_named_as_the_controller_reads_them(api: str, slurm: str, mark: str) -> None:
    job = sent(api, "--gres=gpu:a100:8,nic:1", slurm=slurm)
    assert job["tres_per_node"] == f"{mark}gpu:a100:8,{mark}nic:1"


@pytest.mark.parametrize("api", TYPED)
@pytest.mark.parametrize(("text", "mib"), [("1K", 1), ("1024K", 1), ("1025K", 2), ("0", 0)])
def test_memory_is_never_rounded_to_all_of_it(api: str, text: str, mib: int) -> None:
    assert openapi.number_of(sent(api, f"--mem={text}")["memory_per_node"]) == mib


Answer = Callable[[str, str, dict[str, list[str]]], object]


@contextmanager
def server(api: str, answer: Answer) -> Iterator[ByRest]:
    """The way to a server that answers answer(method, path after the version, query)."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            found = answer(self.command, parts.path.partition(f"{api}/")[2], parse_qs(parts.query))
            body = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield ByRest(RestServer(f"http://127.0.0.1:{made.server_port}", api), None)
        made.shutdown()


def _number(value: int | None) -> dict[str, object]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


@pytest.mark.parametrize("api", TYPED)
def test_one_task_is_cancelled_and_never_all_of_its_array(api: str) -> None:
    """Up to v0.0.41 a server ends all of 50 when it is told 50_3. Task 3 runs as 53, others wait as 50."""
    jobs = [
        {"job_id": 53, "array_job_id": _number(50), "array_task_id": _number(3), "array_task_string": ""},
        {
            "job_id": 50,
            "array_job_id": _number(50),
            "array_task_id": _number(None),
            "array_task_string": "4-9",
        },
    ]
    ended: list[str] = []

    def answer(method: str, path: str, _: dict[str, list[str]]) -> object:
        if method == "GET":
            return {"jobs": jobs}
        named = path.removeprefix("job/")
        if named == "54":  # as slurmctld before 23.02.8, which knows no task by its own number
            return {"errors": [{"error": "Invalid job id specified", "error_number": 2017}]}
        ended.append(named.partition("_")[0] if api <= "v0.0.41" else named)
        return {"status": []}

    with server(api, answer) as way:
        way.cancel("50_3")
        assert ended == (["53"] if api <= "v0.0.41" else ["50_3"])
        if api <= "v0.0.41":
            for task in (4, 5):
                with pytest.raises(Refused, match=f"cannot end task {task} alone: all of 50 would end"):
                    way.cancel(f"50_{task}")
            assert ended == ["53"]
        way.cancel("50")
    assert ended[-1] == "50"


@pytest.mark.parametrize("api", [api for api in TYPED if api >= "v0.0.42"])
def test_a_job_that_was_not_cancelled_is_said_though_the_answer_is_200(api: str) -> None:
    def entry(code: int, text: str) -> dict[str, object]:
        return {
            "job_id": _number(5),
            "error": {"code": code, "string": text, "message": text if code else ""},
        }

    gone = entry(2021, "Job/step already completing or completed")
    said = [gone, entry(0, "No error")]
    with server(api, lambda *_: {"status": said}) as way:
        way.cancel("5")
        said.append(entry(2008, "Access/permission denied"))
        with pytest.raises(Refused, match=r"^Access/permission denied"):
            way.cancel("5")


@pytest.mark.parametrize("api", TYPED)
def test_accounts_are_asked_so_that_no_job_is_left_out(api: str) -> None:
    """A server of 23.11 or later knows no state "A,B", and who sets a flag himself gets no duplicates."""
    job = {
        "job_id": 7,
        "state": {"current": ["CANCELLED"], "reason": "None"},
        "time": {"submission": 1, "start": 0, "end": 2},
        "exit_code": {"return_code": _number(0), "signal": {"id": _number(None), "name": ""}},
        "comment": {"job": "hpclaunch:tag"},
    }

    def answer(_: str, path: str, query: dict[str, list[str]]) -> object:
        states = query.get("state", [])
        flags = {"skip_steps", "show_duplicates", "disable_truncate_usage_time"} & set(query)
        if api == "v0.0.39":
            states = [state for text in states for state in text.split(",")]
            flags = set()
        if path != "jobs" or flags or "," in "".join(states):
            return {"jobs": [], "errors": [{"error": "Unknown flag", "error_number": 9200}]}
        whole = query["start_time"][0].startswith("uts") and query["end_time"][0].startswith("uts")
        return {"jobs": [job] if whole and "CANCELLED" in states else []}

    with server(api, answer) as way:
        rows = way.history("2026-01-31T12:00:00")
    assert rows is not None
    assert [(job_id, status.state) for job_id, status, _ in rows] == [("7", "CANCELLED")]
