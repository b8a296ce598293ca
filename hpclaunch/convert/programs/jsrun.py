"""jsrun of IBM's Job Step Manager (LSF), aprun of Cray's ALPS (PBS) and flux run: what starts ranks there.

Options by jsrun(1) of JSM 10.3, aprun(1) of CLE 6 and flux-run(1) of flux-core 0.60: jsrun counts resource
sets, of which each has tasks, and of which so many are on a host.
"""

from collections.abc import Sequence

from hpclaunch.convert.programs.flags import table, take
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import Value, known, program_of

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
_FLUX = table(
    (
        (1, "nodes=N np=n,ntasks npernode=tasks-per-node tasks-per-core cores=c,cores-per-task"),
        (1, "gpus_per_task=g,gpus-per-task gpus_per_node=gpus-per-node cores-per-node time=t,time-limit env"),
        (1, "env-remove env-file setopt=o setattr=S queue=q bank=B job-name output error input requires"),
        (1, "begin-time dependency urgency cwd flags rlimit conf taskmap wait-event log log-stderr cc bcc"),
        (1, "signal add-file plugin"),
        (0, "exclusive=x label-io=l verbose=v unbuffered=u quiet watch dry-run"),
    )
)
_OF_FLUX = ("run", "submit")  # flux mini run was its name before 0.49


def _flux(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    at = 2 if len(words) > 1 and known(words[1]) == "mini" else 1
    command = known(words[at]) if len(words) > at else ""
    if command not in _OF_FLUX:
        return Layer(""), list(words)
    options, inner = take(words[at + 1 :], _FLUX, clusters=True)
    return Layer(f"flux {command}", tuple(options)), inner


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "jsrun", "aprun", "flux run" or "flux submit", and what it starts."""
    program = program_of(words)
    if program == "flux":
        return _flux(words)
    options, rest = take(words[1:], _JSRUN if program == "jsrun" else _APRUN, clusters=program == "jsrun")
    return Layer(program, tuple(options)), rest
