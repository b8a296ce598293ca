"""Groups of ranks in worlds of their own: an srun for each, which are read as one launch."""

from msgspec import Struct, structs

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call, Reading
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.readback.slurm import preflight
from hpclaunch.readback.slurm.options import options

MEMBER = "member="
_SIZES = ("nodes", "ntasks", "relative")


class _Step(Struct, frozen=True):
    """The srun of one group: its place among them, its sizes by the names of options, and its other words.
    `nodes` are told where they are known only when they have been checked."""

    call: Call
    member: str
    sizes: dict[str, int]
    words: tuple[Value, ...]
    nodes: str


def joined(reading: Reading) -> tuple[Reading, bool, list[str]]:
    """The calls with one srun in place of those of groups, whether there were such, and what is not
    understood of them."""
    steps = [step for call in reading.calls if (step := _step(call)) is not None]
    if not steps:
        return reading, False, []
    unread = []
    first, nodes, ranks = steps[0], 0, 0
    for index, step in enumerate(steps):
        if step.member != str(index) or step.words != first.words:
            unread.append(
                f"line {step.call.line}: this srun is not that of the next group, and else as the first"
            )
        count = step.sizes.get("nodes", 1)
        is_next = step.sizes.get("relative") == nodes and not step.nodes
        if not is_next and not ("relative" not in step.sizes and preflight.is_next(step.nodes, nodes, count)):
            unread.append(
                f"line {step.call.line}: the group's nodes do not follow those of the one before it"
            )
        nodes += count
        ranks += step.sizes.get("ntasks", 1)
    program, *others = first.words
    sizes: tuple[Value, ...] = ((f"--nodes={nodes}",), (f"--ntasks={ranks}",))
    whole = structs.replace(first.call, words=(program, *sizes, *others))
    calls = []
    for call in reading.calls:
        if call is first.call:
            calls.append(whole)
        elif all(call is not step.call for step in steps) and not labels(call):
            calls.append(call)
    return structs.replace(reading, calls=tuple(calls)), True, unread


def _step(call: Call) -> _Step | None:
    members = [text for word in call.words if (text := known(word) or "").startswith(MEMBER)]
    if not members or program_of(call.words) != "srun":
        return None
    given, _ = options("srun", call.words[1:])
    sizes = {}
    for each in given:
        text = outside(shown(each.value or ()))
        if each.name in _SIZES and text.isascii() and text.isdigit():
            sizes[each.name] = int(text)
    own = {f"--{name}={number}" for name, number in sizes.items()} | {members[-1]}
    words = tuple(word for word in call.words if (known(word) or "") not in own)
    others = tuple(word for word in words if not preflight.chosen((word,)))
    return _Step(call, members[-1].removeprefix(MEMBER), sizes, others, preflight.chosen(words))


def labels(call: Call) -> bool:
    """What puts a group's name before its lines."""
    words = [known(word) or "" for word in call.words]
    return words[:2] == ["sed", "--unbuffered"] and len(words) == 3 and words[2].startswith("s/^/")
