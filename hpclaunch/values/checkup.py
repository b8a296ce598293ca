"""What `hpclaunch doctor` finds out, a line each."""

from typing import Literal

from msgspec import Struct

Result = Literal["ok", "warning", "bad", "not known"]


class Check(Struct, frozen=True):
    """One thing that was looked at: what was found, and what to do about it ("" where there is nothing)."""

    subject: str
    result: Result
    found: str
    advice: str = ""
