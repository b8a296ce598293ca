"""slurmrestd: Slurm over a unix socket or HTTP, where there are no commands of Slurm or none are wanted."""

import shlex
from collections.abc import Sequence
from typing import Any

from hpclaunch.schedulers.contract import Refused, Warn
from hpclaunch.schedulers.slurm_advice import advice_for, kind_of
from hpclaunch.schedulers.slurm_output import status_of, whole
from hpclaunch.schedulers.slurm_states import BY_WORD
from hpclaunch.schedulers.ways import openapi
from hpclaunch.schedulers.ways.contract import CannotExpress, Request, Row
from hpclaunch.schedulers.ways.options import by_name, components, is_utf8, tasks
from hpclaunch.schedulers.ways.restclient import RestClient
from hpclaunch.schedulers.ways.surroundings import job_environment
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.slurmaccess import RestServer

QUERY_S = 60.0
SUBMIT_S = 240.0
_INVALID = "Invalid job id"
ONE_BY_ONE = 20  # of more jobs than these, one question brings all of the cluster's


class ByRest:
    """One slurmrestd. Nothing falls back to sbatch: where the site chose this, there may be none."""

    name = "rest"

    def __init__(self, server: RestServer, slurm_conf: str | None):
        self._client = RestClient(server)
        self._server = server
        self._slurm_conf = slurm_conf

    def version(self) -> str:
        """As in "slurm 22.05.8"."""
        return f"slurm {release(self._client.ask('GET', 'ping', QUERY_S))}"

    def submit(self, request: Request, warn: Warn) -> str:
        """As the contract says it. Raises Refused for what the API has no field for."""
        release_there = release(self._client.check(QUERY_S))
        try:
            body = self._body(request, release_there)
        except CannotExpress as error:
            raise Refused(
                f"slurmrestd's API {self._server.api} has no field for what this job asks for: {error}",
                "Leave it out, or submit where sbatch is: `slurm: {via: commands}`.",
            ) from error
        answer = self._client.ask("POST", "job/submit", SUBMIT_S, body)
        remark = str(answer.get("job_submit_user_msg") or "").strip()
        if remark:
            warn(remark)
        job_id = answer.get("job_id")
        if not isinstance(job_id, int) or job_id <= 0:
            raise SchedulerError("slurmrestd gave no job id")
        return str(job_id)

    def jobs(self, ids: Sequence[str] | None) -> list[Row]:
        """Asks for each job, or for all where they are many."""
        if ids is None or len(ids) > ONE_BY_ONE:
            rows = self._ask_for("jobs")
            return rows if ids is None else [row for row in rows if row[0].partition("_")[0] in set(ids)]
        return [row for job_id in ids for row in self._ask_for(f"job/{job_id}")]

    def accounts(self, ids: Sequence[str]) -> list[Row]:
        """Asks slurmrestd's other API for each job."""
        from hpclaunch.schedulers.ways import restaccounts  # for jobs that the controller has forgotten

        return restaccounts.of_ids(self._client, ids)

    def history(self, since: str) -> list[Row] | None:
        """The same, for all jobs since then: of other users too, as far as this one may see them."""
        from hpclaunch.schedulers.ways import restaccounts

        return restaccounts.since(self._client, since)

    def cancel(self, job_id: str) -> None:
        """A job that has ended is no error. Raises Refused for a task of a job array that cannot be named."""
        if "_" in job_id and self._server.api in openapi.CANCEL_WHOLE_ARRAYS:
            own = self._own_id(job_id)
            # Before 23.02.8 slurmctld knew no task by it (job_str_signal of its job_mgr.c).
            if own is None or not self._end(own):
                array, _, task = job_id.partition("_")
                api = self._server.api
                raise Refused(
                    f"slurmrestd's API {api} cannot end task {task} alone: all of {array} would end",
                    f"`scancel {job_id}` on a login node does, or another slurm.rest.api that is served.",
                )
        else:
            self._end(job_id)

    def _end(self, job_id: str) -> bool:
        """False where slurmctld knows no job of that name."""
        try:
            answer = self._client.ask("DELETE", f"job/{job_id}", QUERY_S)
        except SchedulerError as error:
            if not _is_gone(str(error)):
                raise
            return _INVALID not in str(error)
        # From v0.0.42 on what was refused is told here, beside "200 OK".
        for message in map(openapi.refusal, answer.get("status") or ()):
            if message and not _is_gone(message):
                raise kind_of(message)(message, advice_for(message))
        return True

    def _own_id(self, task: str) -> str | None:
        """The number that a task has beside ARRAY_TASK: all but the last one of an array have one from when
        they start on."""
        array = task.partition("_")[0]
        for job in self._client.ask("GET", f"job/{array}", QUERY_S).get("jobs") or ():
            own = str(job.get("job_id"))
            if _id(job) == task and own != array:
                return own
        return None

    def _ask_for(self, path: str) -> list[Row]:
        try:
            answer = self._client.ask("GET", path, QUERY_S)
        except SchedulerError as error:
            if _is_gone(str(error)):
                return []
            raise
        return whole(_row(job) for job in answer.get("jobs") or () if isinstance(job, dict))

    def _body(self, request: Request, slurm: str) -> openapi.Fields:
        asked = [by_name(options, request.more) for options in components(request.options)]
        for each in asked:
            each.setdefault("--ntasks", str(tasks(each)))
        fixed = {
            "comment": request.comment,
            "current_working_directory": str(request.chdir),
            "standard_output": request.output,
        }
        surroundings = job_environment(request.inherited, self._slurm_conf, asked[0].get("--job-name", ""))
        texts = (*fixed.values(), *surroundings.values(), *request.arguments)
        if not all(map(is_utf8, texts)):
            raise CannotExpress("text that is not UTF-8")
        script = with_arguments(request.script.read_text(encoding="utf-8"), request.arguments)
        return openapi.body(self._server.api, asked, script, fixed, surroundings, slurm)


def with_arguments(script: str, arguments: Sequence[str]) -> str:
    """The script with its arguments set in its second line. slurmrestd has a field for them, `argv`, and up
    to 22.05.8 and 23.02.1 crashes over it once the job is submitted (fixed by Slurm's commit 75b1537a3f)."""
    first, newline, rest = script.partition("\n")
    words = " ".join(shlex.quote(argument) for argument in arguments)
    return f"{first}{newline}set -- {words}\n{rest}" if arguments else script


def release(answer: dict[str, Any]) -> str:
    """Slurm's release in the `meta` of an answer, "" where it has none. The key is slurm from 23.11 on."""
    meta = answer.get("meta") or {}
    return str((meta.get("slurm") or meta.get("Slurm") or {}).get("release") or "")


def _is_gone(words: str) -> bool:
    return _INVALID in words or "already completing or completed" in words


def _row(job: dict[str, Any]) -> Row:
    state = job.get("job_state") or ""
    # From v0.0.40 on a list: the base state, then flags, of which squeue shows one in its place.
    words = [state] if isinstance(state, str) else [str(word) for word in state]
    word = next((word for word in reversed(words) if word in BY_WORD), words[0] if words else "")
    status = status_of(
        word,
        openapi.ended_with(job.get("exit_code")),
        str(job.get("nodes") or ""),
        openapi.moment(job.get("submit_time")),
        openapi.moment(job.get("start_time")),
        openapi.moment(job.get("end_time")),
        str(job.get("state_reason") or ""),
    )
    marks = f"{job.get('comment') or ''}|{job.get('current_working_directory') or ''}"
    return _id(job), status, marks


def _id(job: dict[str, Any]) -> str:
    """Its id; of the tasks of a job array, and of a heterogeneous job's components, what squeue makes of it:
    ARRAY_TASK, ARRAY_[LIST], JOB+COMPONENT."""
    job_of_parts = openapi.number_of(job.get("het_job_id"))
    if job_of_parts:
        return f"{job_of_parts}+{openapi.number_of(job.get('het_job_offset')) or 0}"
    array = openapi.number_of(job.get("array_job_id"))
    if not array:
        return str(job.get("job_id"))
    waiting = job.get("array_task_string")
    return (
        f"{array}_[{waiting}]" if waiting else f"{array}_{openapi.number_of(job.get('array_task_id')) or 0}"
    )
