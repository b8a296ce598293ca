"""A job that is handed to a scheduler, and what the scheduler says about it."""

from typing import Literal

from msgspec import Struct, field

State = Literal[
    "PENDING",
    "RUNNING",
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "OUT_OF_MEMORY",
    "UNKNOWN",
]

# Why a job did not complete: its command failed, or was given too little memory or time; a node of it
# failed; a job of higher priority took its place; somebody cancelled it; or the command never began.
Cause = Literal[
    "user_error",
    "out_of_memory",
    "time_limit",
    "node_failure",
    "preemption",
    "cancelled",
    "launch_failure",
]

ENDED: frozenset[State] = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"}
)


class Submission(Struct, frozen=True):
    """What a submission has beside its record: values that come from the submitter's shell.

    `environment` holds the names of the job's `inherit` that the submitter has. `secrets` are values
    that no record, script or message may hold. `minutes` is the time limit for a scheduler that cannot
    read it in the script (None or 0: no limit). `secret_name` is the Kubernetes Secret in which both go.
    `dependency` is what the job waits for, in Slurm's words ("afterok:12:13"). `held` are descriptors that
    whatever may still send the job keeps open: they say that it lives.
    """

    environment: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    minutes: int | None = None
    secret_name: str = ""
    dependency: str = ""
    held: tuple[int, ...] = ()


class JobStatus(Struct, frozen=True, omit_defaults=True):
    """A job at one moment. `exit_code` and `signal` are the script's own, once it has ended; `reason` is
    for people; the times are ISO 8601 in UTC. `cause` is why it did not complete, and `rank` the first that
    failed, where that is known."""

    state: State
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    nodes: str = ""
    submitted: str | None = None
    started: str | None = None
    ended: str | None = None
    cause: Cause | None = None
    rank: int | None = None

    @property
    def has_ended(self) -> bool:
        """True for a state that a job does not leave."""
        return self.state in ENDED

    @property
    def described(self) -> str:
        """The state and the reason: "FAILED with exit code 7: its script ended with an error"."""
        how = ""
        if self.state == "FAILED" and self.signal:
            how = f" by signal {self.signal}"
        elif self.state == "FAILED" and self.exit_code:
            how = f" with exit code {self.exit_code}"
        return f"{self.state}{how}{': ' + self.reason if self.reason else ''}"

    @property
    def exit_status(self) -> int:
        """The status that a shell would give for the job: its own exit code, 128+n for signal n, and 1
        where another cause ended it (the time limit, a node, somebody's cancel)."""
        if self.state == "COMPLETED":
            return 0
        if self.state == "FAILED" and self.signal:
            return 128 + self.signal
        if self.state == "FAILED" and self.exit_code:
            return self.exit_code
        return 1
