"""charmrun, ibrun, mpirun_rsh, mpiexec.slurm and mpiexec_mpt: what starts ranks at some sites, and for some
programs, in mpirun's place.

charmrun's options are those of the Charm++ manual, "Launching Programs with charmrun" and "Running SMP mode
programs": it takes them wherever they stand. ibrun's are those of TACC's guides; mpirun_rsh's of MVAPICH2's
user guide, "Run MPI programs using mpirun_rsh", with NAME=VALUE before the program. mpiexec.slurm is the
wrapper of Slurm's contribs/torque, which hands its options to srun. mpiexec_mpt is of HPE's MPT under PBS,
with as many ranks as PBS gives slots where no option counts them (mpiexec_mpt(1)).
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.flags import cut, leading, table, take
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of, shown

_IBRUN = table(((1, "np=n o"), (0, "v h")))
_OF_TACC = re.compile(r"(?:task|tacc|mem)_affinity(?:\.sh)?|tacc_affinity")
_RSH = table(
    (
        (1, "np=n hostfile=f config dpmspawn sg dbg"),
        (0, "rsh ssh debug xterm show export legacy v help use-xlauncher tv"),
    )
)
# Of charmrun, those that a word follows.
_WORDS = """
p n np ppn processPerHost processPerSocket processPerCore processPerPU nodelist nodegroup remote-shell
useip server-port timeout maxrsh runscript charmrun_port debug-commands ssh-display numHosts batch
"""
_WITH_WORD = frozenset(_WORDS.split())
_PROVISIONS = ("processPerSocket", "processPerCore", "processPerPU", "auto-provision")
_PES = re.compile(r"\+p(\d*)$")
_BY_SRUN = table(((1, "np=n host config"), (0, "verbose nostdin allstdin nostdout pernode perif kill tv")))
_OF_MPT = table(((1, "np=n npernode=ppn hostfile=f"), (0, "v verbose")))
# What places ranks between it and the program: dplace(1) and omplace(1) of HPE's NUMAtools, of which the
# latter sets OMP_NUM_THREADS to -nt.
_PLACES = {
    "dplace": table(((1, "c s x n p r o v"), (0, "e q"))),
    "omplace": table(((1, "nt b c s tm ht"), (0, "v vv"))),
}
_TABLES = {"mpiexec.slurm": _BY_SRUN, "mpiexec_mpt": _OF_MPT}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer by the name of the program, with mpirun's names for its options, and what that starts. A
    layer without a program where charmrun stays on its node (++local)."""
    program = program_of(words)
    if program == "charmrun":
        return _charmrun(words)
    if program == "ibrun":
        options, rest = take(words[1:], _IBRUN)
        while rest and _OF_TACC.fullmatch(known(rest[0]) or ""):
            options.append(Option("affinity", None, shown(rest.pop(0))))
        return Layer(program, tuple(options)), rest
    if program in _TABLES:
        options, rest = take(words[1:], _TABLES[program])
        if program == "mpiexec_mpt":
            rest = _placed(options, rest)
        return Layer(program, tuple(options)), rest
    options, rest = take(words[1:], _RSH)
    if not any(each.name == "hostfile" for each in options):
        rest = _hosts(options, rest)
    while rest and _ASSIGNMENT.match(leading(rest[0])):
        options.append(Option("x", rest[0], shown(rest.pop(0))))
    return Layer(program, tuple(options)), rest


def _placed(options: list[Option], rest: list[Value]) -> list[Value]:
    """Put what places the ranks among the options. Returns the words behind it."""
    its = _PLACES.get(known(rest[0]) or "") if rest else None
    if its is None:
        return rest
    own, behind = take(rest[1:], its)
    if not behind or not all(each.name in its for each in own):  # one that is not known may have a value
        return rest
    words = rest[: len(rest) - len(behind)]
    options.append(Option("affinity", None, " ".join(map(shown, words))))
    for each in own:
        if each.name == "nt" and each.value:
            options.append(Option("x", ("OMP_NUM_THREADS=", *each.value), each.written))
    return behind


def _hosts(options: list[Option], rest: list[Value]) -> list[Value]:
    """Put the hosts of mpirun_rsh among its options: without a file of them one for each rank stands before
    the program. Returns the words behind them."""
    counts = [known(each.value or ()) or "" for each in options if each.name == "np"]
    count = int(counts[-1]) if counts and counts[-1].isdecimal() and len(counts[-1]) < 6 else 0
    named = rest[:count]
    if count and len(rest) > count and all(map(known, named)):
        texts = [known(each) or "" for each in named]
        options.append(Option("host", (",".join(texts),), " ".join(texts)))
        return rest[count:]
    several = [each.written for each in options if not each.name] or [shown(each) for each in rest[:1]]
    what = several[-1] if several else "what stands before the program"
    options.append(Option("host", (Unknown("variable", "the hosts"),), what))
    return rest


def _charmrun(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    options: list[Option] = []
    rest: list[Value] = []
    waiting = list(words[1:])[::-1]
    while waiting:
        word = waiting.pop()
        text = leading(word)
        pes = _PES.fullmatch(text)
        if pes and not (pes[1] or word[1:]) and waiting:
            options.append(Option("p", waiting[-1], f"{text} {shown(waiting.pop())}"))
        elif pes:
            value = cut(word, "p")
            options.append(Option("p", value[1] if value else None, shown(word)))
        elif not text.startswith("++"):
            rest.append(word)
        elif text[2:] in _WITH_WORD and waiting:
            options.append(Option(text[2:], waiting[-1], f"{text} {shown(waiting.pop())}"))
        else:
            options.append(Option(text[2:], None, shown(word)))
    if any(each.name == "local" for each in options) or not rest:
        return Layer(""), list(words)
    names = {each.name for each in options}
    if not names.isdisjoint(_PROVISIONS) or any(name.startswith("oneWth") for name in names):
        options.append(Option("np", None, "charmrun, by the machines that it finds"))
    elif names.isdisjoint(("p", "n", "np", "processPerHost", "mpiexec-no-n")):
        options.append(Option("np", ("1",), "charmrun without +p"))  # charmrun.C: "Running with a single PE"
    threads = next((each for each in options if each.name == "ppn"), None)
    if threads is not None and threads.value:
        # Without charmrun the program itself is told.
        rest += [("+ppn",), threads.value]
    return Layer("charmrun", tuple(_named(each, threads) for each in options)), rest


def _named(option: Option, threads: Option | None) -> Option:
    """The option by mpirun's name: PEs are processes, or so many threads of each."""
    if option.name in ("n", "np"):
        return Option("np", option.value, option.written)
    if option.name == "processPerHost":
        return Option("npernode", option.value, option.written)
    if option.name == "nodelist":
        return Option("hostfile", option.value, option.written)
    if option.name != "p" or threads is None:
        return Option("np", option.value, option.written) if option.name == "p" else option
    written = f"{option.written} {threads.written}"
    count, each = known(option.value or ()) or "", known(threads.value or ()) or ""
    if not (count.isdecimal() and each.isdecimal() and int(each)) or int(count) % int(each):
        return Option("np", None, written)
    return Option("np", (str(int(count) // int(each)),), written)
