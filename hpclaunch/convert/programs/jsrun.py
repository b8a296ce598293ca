"""jsrun of IBM's Job Step Manager (LSF), aprun of Cray's ALPS (PBS) and flux run: what starts ranks there.
And runjob of Blue Gene/Q, poe of IBM's Parallel Environment, and lrun, LLNL's own in front of jsrun.

Options by jsrun(1) of JSM 10.3, aprun(1) of CLE 6, flux-run(1) of flux-core 0.60, "Blue Gene/Q Application
Development" (IBM, SG24-7948), poe(1) of Parallel Environment 5 and lrun's own help: jsrun counts resource
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
        (1, "np=n,pes npernode=N,pes-per-node depth=d,cpus-per-pe cc=cpu-binding"),
        (1, "env=e,environment-override j=cpus-per-cu"),
        (1, "S sn sl L p r D m"),
        (0, "batch-args=B b bypass-app-transfer q quiet ss T sync-output"),
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
_RUNJOB = table(
    (
        (1, "np=n npernode=p,ranks-per-node env=envs exp-env cwd exe args block corner shape mapping"),
        (1, "verbose timeout strace stdinrank start-tool tool-args"),
        (0, "label raise env-all exp-env-all"),
    )
)
_LRUN = table(
    (
        (1, "nodes=N np=n,p npernode=T cores=c chdir M gpubind pack smt jdebug"),
        (0, "v vvv bind core nolbind mpibind smpiargs 1"),
    )
)
# Its flags may stand behind the program, too: those are taken for the program's.
_POE = table(
    (
        (
            1,
            "np=procs nodes npernode=tasks_per_node hostfile=hfile euilib euidevice infolevel=ilevel labelio",
        ),
        (1, "stdoutmode stdinmode pgmmodel cmdfile resd rmpool retry msg_api shared_memory eager_limit"),
        (1, "single_thread wait_mode coredir adapter_use cpu_use task_affinity"),
    )
)
_TABLES = {"jsrun": _JSRUN, "aprun": _APRUN, "runjob": _RUNJOB, "lrun": _LRUN, "poe": _POE}
_OF_FLUX = ("run", "submit")  # flux mini run was its name before 0.49
# The layers that it reads.
PROGRAMS = (*_TABLES, *(f"flux {command}" for command in _OF_FLUX))


def _flux(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    at = 2 if len(words) > 1 and known(words[1]) == "mini" else 1
    command = known(words[at]) if len(words) > at else ""
    if command not in _OF_FLUX:
        return Layer(""), list(words)
    options, inner = take(words[at + 1 :], _FLUX, clusters=True)
    return Layer(f"flux {command}", tuple(options)), inner


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer, by a name of `PROGRAMS`, and what that starts."""
    program = program_of(words)
    if program == "flux":
        return _flux(words)
    options, rest = take(words[1:], _TABLES[program], clusters=program == "jsrun")
    if rest and known(rest[0]) == ":":  # of runjob, before the program
        rest = rest[1:]
    return Layer(program, tuple(options)), rest
