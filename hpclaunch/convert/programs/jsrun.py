"""jsrun of IBM's Job Step Manager (LSF) and aprun of Cray's ALPS (PBS): what starts ranks there.

Options by jsrun(1) of JSM 10.3 and aprun(1) of CLE 6: jsrun counts resource sets, of which each has tasks,
and of which so many are on a host.
"""

from collections.abc import Sequence

from hpclaunch.convert.programs.flags import table, take
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import Value, program_of

_JSRUN = table(
    (
        (1, "nrs=n tasks_per_rs=a cpu_per_rs=c gpu_per_rs=g rs_per_host=r rs_per_socket=K np=p bind=b"),
        (1, "launch_distribution=d latency_priority=l env=E env_eval=F chdir=h smpiargs=M stdio_mode=e"),
        (1, "stdio_stdout=o stdio_stderr=k stdio_stdin=t,stdio_input env_no_propagate=D save_resources=S"),
        (1, "appfile=f erf_input=U erf_output=q pre_post_exec=A"),
        (1, "memory_per_rs=m progress=Z allocate_only exit_on_error=X immediate=i physical_memory=P"),
    )
)
_APRUN = table(
    (
        (1, "np=n npernode=N depth=d cc=cpu-binding env=e,environment-override j=cpus-per-cu"),
        (1, "S sn sl L p r D m"),
        (0, "b bypass-app-transfer q quiet ss T sync-output"),
    )
)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "jsrun" or "aprun", and what it starts."""
    program = program_of(words)
    options, rest = take(words[1:], _JSRUN if program == "jsrun" else _APRUN, clusters=program == "jsrun")
    return Layer(program, tuple(options)), rest
