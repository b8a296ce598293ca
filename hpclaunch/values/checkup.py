"""What `hpclaunch doctor` finds out, a line each."""

from typing import Literal

from msgspec import Struct

from hpclaunch.values.errors import SchedulerError

Result = Literal["ok", "warning", "bad", "not known"]


class Check(Struct, frozen=True):
    """One thing that was looked at: what was found, and what to do about it ("" where there is nothing)."""

    subject: str
    result: Result
    found: str
    advice: str = ""


def failed(subject: str, result: Result, error: SchedulerError) -> Check:
    """What was found where the question itself went wrong."""
    return Check(subject, result, error.message.strip().replace("\n", "; "), error.advice)
