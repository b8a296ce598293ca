"""Profilers, which start what they look at: nsys, ncu, nvprof, perf, and vtune, once amplxe-cl.

Options are those of Nsight Systems' CLI (User Guide, "CLI Profile Command Switch Options"), of Nsight Compute
("Command Line Options"), of nvprof (CUDA Profiler User's Guide), of perf-stat(1) and perf-record(1), and of
Intel VTune Profiler's User Guide ("vtune Command Syntax", "vtune Actions").
"""

from collections.abc import Sequence

from hpclaunch.convert.programs.flags import is_named_options, leading
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import Value, known, program_of, shown

# Those that have a command of their own for it.
_COMMANDS = {"nsys": ("profile", "launch"), "perf": ("stat", "record")}
# Options that no word follows; one follows each other that has no = in it.
_ALONE = {
    "nsys": "help h",
    "ncu": """
        force-overwrite f nvtx csv call-stack quiet help h version v list-sets list-sections list-rules
        list-metrics query-metrics list-chips
    """,
    "nvprof": """
        print-gpu-trace print-api-trace print-gpu-summary print-api-summary print-summary
        print-summary-per-gpu print-nvtx-trace csv profile-child-processes profile-all-processes
        analysis-metrics dependency-analysis quiet u force-overwrite f help h version V query-events
        query-metrics normalized-time
    """,
    "perf": """
        a all-cpus v verbose n null d dd ddd detailed B big-num i no-inherit A no-aggr no-merge S sync T
        per-socket per-core per-node per-thread per-die smi-cost topdown append scale no-scale g q quiet s
        stat N no-buildid-cache b branch-any R raw-samples f force no-samples timestamp-filename
    """,
}
_OF_VTUNE = """
    allow-multiple-runs analyze-system auto-finalize discard-raw-data follow-child quiet return-app-exitcode
    start-paused summary trace-mpi verbose
"""
_ALONE |= dict.fromkeys(
    ("vtune", "amplxe-cl"),
    " ".join((_OF_VTUNE, *(f"no-{each}" for each in _OF_VTUNE.split()), "q v help h version V")),
)
_FLAGS = {program: frozenset(names.split()) for program, names in _ALONE.items()}
PROFILERS = frozenset(_FLAGS)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The profiler's options, and what it looks at; no layer where it looks at nothing (nsys stats)."""
    program = program_of(words)
    rest = list(words[1:])
    command = known(rest[0]) if rest else None
    options: list[Option] = []
    if program in _COMMANDS:
        if command is None or command not in _COMMANDS[program]:
            return Layer(""), list(words)
        options.append(Option(command, None, shown(rest.pop(0))))
    while rest:
        text = leading(rest[0])
        if is_named_options(rest[0]):
            options.append(Option("", rest[0], shown(rest.pop(0))))
            continue
        if not text.startswith("-") or text == "-":
            break
        word = rest.pop(0)
        if text == "--":
            break
        name, equals, _ = text.lstrip("-").partition("=")
        value = rest.pop(0) if not equals and name not in _FLAGS[program] and rest else None
        written = shown(word) if value is None else f"{shown(word)} {shown(value)}"
        options.append(Option(name, value, written))
    return (Layer(program, tuple(options)), rest) if rest else (Layer(""), list(words))
