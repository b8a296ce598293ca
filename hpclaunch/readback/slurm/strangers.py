"""What a script runs that has no place in a launch."""

from collections.abc import Sequence

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.values import Unknown, known, program_of, shown
from hpclaunch.readback.slurm.notices import OUTLASTS
from hpclaunch.values.launch import Unbridged

# They tell the script something or let it wait, and change nothing.
_HARMLESS = frozenset({"id", "date", "hostname", "whoami", "uname", "sleep"})


def strangers(calls: Sequence[Call]) -> list[Unbridged]:
    """Those of the calls beside the ranks', without what tells or cleans up for the script itself."""
    why = "Kubernetes runs nothing on the nodes beside a job's pods"
    found = []
    for call in calls:
        if program_of(call.words) in _HARMLESS or _removes_secrets(call) or _claims(call) or _asks(call):
            continue
        text = " ".join(map(shown, call.words[:12]))
        found.append(Unbridged(f"line {call.line}: {outside(text[:200])}", why))
    return found


def _removes_secrets(call: Call) -> bool:
    """rm of the file of secrets, after it was read."""
    *flags, file = call.words
    return (
        program_of(call.words) == "rm"
        and file == (Unknown("argument", "2"),)
        and all((known(word) or "")[:1] == "-" for word in flags[1:])
    )


def _claims(call: Call) -> bool:
    """The link by which a submission runs once, made or read: its path is the script's first argument."""
    return program_of(call.words) in ("ln", "readlink") and call.words[-1] == (Unknown("argument", "1"),)


def _asks(call: Call) -> bool:
    """Whether Slurm is asked about the job or its steps, or told that no link of its chain is to follow."""
    words = [known(word) for word in call.words]
    if words[: len(OUTLASTS)] == OUTLASTS:
        del words[1 : len(OUTLASTS)]
    asked = words[2:5] == ["scontrol", "--oneliner", "show"] and words[5:6] in (["job"], ["step"])
    return words[:1] == ["timeout"] and (asked or words[2:4] == ["scancel", "--state=PENDING"])
