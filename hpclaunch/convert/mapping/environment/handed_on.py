"""Variables that a launcher hands on by name (docker's -e, mpirun's -x) -> `env`, `inherit`, `secrets`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct, field

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import reached
from hpclaunch.convert.mapping.environment.owners import Owner, owner
from hpclaunch.convert.mapping.ranks import parameter_files, rendezvous
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.texts import line
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.flags import cut, not_told
from hpclaunch.convert.programs.layers import Option
from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.secrets.values import FROM_SUBMITTER
from hpclaunch.readback.shell.values import Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place

_MOST = 3000
_SETS = "hpclaunch sets it in each rank"
# What becomes of a variable by whose it is.
_REPLACED: dict[Owner, str] = {
    "srun": "srun sets it in each rank itself",
    "daemons": "srun starts the ranks itself",
    "gpus": "all of the job's GPUs are visible to each rank, which takes its own by its local rank",
}
_MPIRUN_SETS = "mpirun sets it in each rank, and srun does not; MPI itself asks PMIx"
_TAKE_SLURMS = "a program that reads it takes SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS instead"
OVER_SSH = "ssh hands on none of the script's, so that what it starts had those of the other machine's shell"
TAKE_OUT = "take out of env, inherit or secrets what the ranks are not to have"
_OF_HYDRA = ("genv", "env", "genvlist", "envlist")  # mpiexec.hydra -help
_OF_LOGIN: frozenset[Owner] = frozenset(("login", "shell"))


class Handed(Struct, frozen=True):
    """A variable, `value` None where it is taken from where the command runs (`there`: what is exported
    there). `by` is the option, as Open MPI has it (mpirun -x), and what comes later counts more; `flag` is it
    as it is written (-genv)."""

    name: str
    value: Value | None
    by: str
    places: tuple[Place, ...]
    there: Mapping[str, Value]
    flag: str = ""

    @property
    def is_of_mpirun(self) -> bool:
        """Whether mpirun hands it on, and not docker."""
        return self.by.endswith(" -x")

    @property
    def what(self) -> str:
        """The option and the variable, for people."""
        is_named = self.is_of_mpirun and self.flag.lstrip("-") in _OF_HYDRA
        by = f"{self.by.removesuffix('-x')}{self.flag}" if is_named else self.by
        return f"{by} {self.name}"


class Receivers(Struct, frozen=True):
    """The ranks that get the variables. `per_node`: the command is started once on a node, and starts its
    processes itself. `seed` is the variable that trials set, `slurm` has Slurm's own, which are known, and
    `stand_ins` what ranks have for the script's."""

    per_node: bool = False
    seed: str = ""
    slurm: Mapping[str, int] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)


class _Variable(Struct, frozen=True):
    """One that is handed on: `what` is it as it is written, `by_option` the value that the option has, and
    `value` that or else what is exported there; None where there is none."""

    name: str
    by_option: Value | None
    value: Value | None
    places: tuple[Place, ...]
    what: str
    is_of_mpirun: bool


def given(reading: ShellReading, command: Command, options: Sequence[Option], by: str) -> list[Handed]:
    """The variables of -e, -x, --env: K=V or K."""
    there = dict(command.environment)
    found = []
    for option in options[:_MOST]:
        value = option.value or ()
        parts = cut(value, "=")
        name = parts[0] if parts else shown(value).partition("=")[0]
        if not name:
            continue
        places = lines_of(reading, command, option)
        assigned = reading.last(name) if parts is None or name in not_told(parts[1]) else None
        if assigned is not None:
            places = tuple(dict.fromkeys((*places, assigned.place)))
        flag = option.written.partition("=")[0].partition(" ")[0]
        found.append(Handed(name, parts[1] if parts else None, by, places, there, flag))
    return found


def put(
    reading: ShellReading, all_given: Sequence[Handed], draft: Draft, receivers: Receivers
) -> list[tuple[str, Value]]:
    """Put what reaches the ranks into the draft. Returns the variables whose value is known on the node
    alone: the command has to export them."""
    exports = []
    for each in _variables(all_given):
        if not each.name.isidentifier():
            why = "a job has variables whose names are letters, digits and _, and no line tells such a name"
            todo = "write it under env or inherit by the name that it has for the ranks"
            draft.say("left", each.places, each.what, why=why, todo=todo)
            continue
        if _is_launchers_own(reading, each, draft, receivers):
            continue
        if each.value is None:
            _not_given(reading, each, draft)
        elif (made := _made_there(each, each.value, draft, receivers)) is not None:
            exports.append((each.name, made))
        else:
            _put_value(reading, each, each.value, draft)
    return exports


def _variables(all_given: Sequence[Handed]) -> Iterator[_Variable]:
    """Each with what counts of all that is said of it."""
    by_name: dict[str, list[Handed]] = {}
    for each in all_given:
        by_name.setdefault(each.name, []).append(each)
    for name, several in by_name.items():
        counts = _that_counts(several)
        value = counts.value if counts.value is not None else counts.there.get(name)
        places = tuple(dict.fromkeys(place for each in several for place in each.places))
        yield _Variable(name, counts.value, value, places, counts.what, counts.is_of_mpirun)


def _made_there(each: _Variable, value: Value, draft: Draft, receivers: Receivers) -> Value | None:
    """What the command has to export where the value is known on the node alone, None where it has not."""
    own = rendezvous.with_own_addresses(value) if receivers.per_node else None
    if own is not None:
        why = "the node's number and the first node's address are known where the job runs"
    elif _is_of_ranks(value, receivers.stand_ins):
        has = ", ".join(sorted(f"${receivers.stand_ins[name]}" for name in names_in(value)))
        why = f"each rank has {has} for it"
    elif _of_the_job(value):
        why = "Slurm's numbers are known where the job runs"
    elif each.is_of_mpirun and _adds_to_its_own(each.name, value):
        why = "each rank has its own, to which it adds"
        value = join([part if isinstance(part, str) else Unknown("variable", each.name) for part in value])
    else:
        return None
    made = value if own is None else own
    draft.say("carried", each.places, each.what, became=f"command: export {each.name}={shown(made)}", why=why)
    if own is not None:
        why = "hpclaunch sets the addresses in each rank"
        draft.put(("rendezvous",), "torch", each.places, each.what, why=why)
    return made


def _is_of_ranks(value: Value, stand_ins: Mapping[str, str]) -> bool:
    """Whether ranks can make it of what stands for the script's variables, as of the number of a trial."""
    names = names_in(value)
    return bool(names) and all(map(stand_ins.get, names)) and not line([value], stand_ins).doubt


def _adds_to_its_own(name: str, value: Value) -> bool:
    """Whether the value adds to one that no line tells (LD_LIBRARY_PATH=/more:$LD_LIBRARY_PATH): the image or
    the modules of the node do."""
    return len(value) > 1 and owner(name) == "image" and not_told(value) == (name,)


def _of_the_job(value: Value) -> bool:
    """Whether it is a sum with Slurm's own numbers, such as a port by the job's number."""
    part = value[0] if len(value) == 1 else None
    names = (
        re.findall(r"[A-Za-z_]\w*", part.name) if isinstance(part, Unknown) and part.kind == "number" else []
    )
    return bool(names) and all(map(is_slurms, names)) and not line([value]).doubt


def say_not_handed(
    reading: ShellReading, all_given: Sequence[Handed], command: Command, used: Collection[str], draft: Draft
) -> None:
    """Exported variables that no option hands on: they never reached the ranks. `used` are those that the
    launcher itself uses."""
    names = {each.name for each in all_given}
    rows = [
        (each.name, each.place)
        for name, _ in command.environment
        if name not in names and name not in used and not is_slurms(name)
        if (each := reading.last(name)) is not None and each.exported and each.place.line
    ]
    if rows:
        draft.say(
            "left",
            [place for _, place in rows],
            ", ".join(name for name, _ in rows),
            why="exported, but docker hands on what -e names alone: it never reached the ranks",
            todo="write it under env in the job file if the ranks are to have it",
        )


def _that_counts(several: Sequence[Handed]) -> Handed:
    """The last one; where mpirun takes the value from where it runs, or docker finds none there, the last
    before it that has one."""
    last = several[-1]
    by_docker = not any(each.is_of_mpirun for each in several)
    if last.value is None and not (by_docker and last.name in last.there):
        for each in reversed(several[:-1]):
            if each.value is not None or each.name in each.there:
                return each
    return last


def _parameters(reading: ShellReading, each: _Variable, draft: Draft) -> None:
    if parameter_files.are_told(reading):
        draft.say("replaced", each.places, each.what, why="what the file says is in the job itself")
    else:
        why = "the file with parameters of Open MPI was not given"
        draft.say("left", each.places, each.what, why=why, todo="give it beside the others")


def _is_launchers_own(reading: ShellReading, each: _Variable, draft: Draft, receivers: Receivers) -> bool:
    """Whether the variable is about the launch itself, and has been dealt with."""
    name, places, what = each.name, each.places, each.what
    if name == "SLURM_NTASKS_PER_NODE" and receivers.per_node:
        count = receivers.slurm.get(name)
        why = "the script on each node starts that many processes; srun would set 1"
        if count is None:
            draft.ask(("env", name), "how many processes each node starts", places, what)
        else:
            draft.put(("env", name), str(count), places, what, why=why)
        return True
    whose = owner(name)
    if name == "OMPI_MCA_mca_base_param_files":
        _parameters(reading, each, draft)
    elif whose in _REPLACED:
        draft.say("replaced", places, what, why=_REPLACED[whose])
    elif whose == "mpirun":
        draft.say("left", places, what, why=_MPIRUN_SETS, todo=_TAKE_SLURMS)
    elif name in ("WORLD_SIZE", "RANK") and receivers.per_node and known(each.by_option or ()):
        draft.put(("rendezvous",), "torch", places, what, why=_SETS)
        draft.say(
            "left",
            places,
            what,
            why=f"the job has one rank on each node, and {name} counts those",
            todo="let the job start a rank for each GPU, or set it in the command where that is meant",
        )
    elif whose == "rendezvous":
        draft.put(("rendezvous",), "torch", places, what, why=_SETS)
    elif whose == "addresses" and known(each.by_option or ("?",)) is None:
        draft.say(
            "left",
            places,
            what,
            why="the first node's address is known where the job runs",
            todo="a program that needs it takes MASTER_ADDR, which `rendezvous: torch` sets",
        )
    elif name == receivers.seed:
        draft.say("replaced", places, what, why="`trials` sets it, another one for each trial")
    else:
        return False
    return True


def _not_given(reading: ShellReading, each: _Variable, draft: Draft) -> None:
    assigned = reading.last(each.name)
    if assigned is None and (owner(each.name) in _OF_LOGIN or each.name == "PATH"):
        why = "it is about the submitter's shell"
        draft.say("left", each.places, each.what, why=why, todo="set it in env if needed")
    elif assigned is None:
        _inherit(reading, each, draft)
    else:
        draft.say(
            "left",
            (*each.places, assigned.place),
            each.what,
            why="it is assigned but not exported, so nothing of it is handed on",
            todo=f"write env.{each.name} in the job file if the ranks are to have it",
        )


def _put_value(reading: ShellReading, each: _Variable, value: Value, draft: Draft) -> None:
    name, places, what = each.name, each.places, each.what
    text = known(value)
    if text is None:
        text, of_file = _by_file_name(reading, value)
        places = (*places, *of_file)
    if is_secret(name):
        why = FROM_SUBMITTER
        draft.put(("secrets", draft.count("secrets")), name, places, what, why=why)
    elif text is not None:
        draft.put(("env", name), text, places, what)
    elif value in [(Unknown("variable", name, splits),) for splits in (False, True)]:
        _inherit(reading, each, draft)
    elif any(isinstance(part, Unknown) and part.kind in ("output", "input") for part in value):
        draft.say(
            "left",
            places,
            what,
            why="its value is made where the script runs",
            todo=f"write env.{name} in the job file, or let the program find it out",
        )
    else:
        missing = ", ".join(not_told(value))
        draft.ask(("env", name), f"the value of {name}: {missing} is not told", places, what)


def _by_file_name(reading: ShellReading, value: Value) -> tuple[str | None, tuple[Place, ...]]:
    """$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\\.sh$//'): the name of the
    configuration that has this line, without what sed takes off; None for any other value."""
    part = value[0] if len(value) == 1 else None
    if not isinstance(part, Unknown) or part.kind != "output":
        return None, ()
    if not re.search(r"basename .*BASH_SOURCE|BASH_SOURCE.*basename", part.name):
        return None, ()
    taken = re.findall(r"sed (?:-e )?'s/([^/']+)//'", part.name)
    file = next((each.place for each in reading.assigned if each.value == value), None)
    if file is None or part.name.count("|") != len(taken):
        return None, ()
    text = file.file.rpartition("/")[2]
    for pattern in taken:
        plain = pattern.strip("^$").replace("\\.", ".")
        if not re.fullmatch(r"[\w.-]+", plain):
            return None, ()
        text = text.removesuffix(plain) if pattern.endswith("$") else text.replace(plain, "", 1)
    return text, (file,)


def _inherit(reading: ShellReading, each: _Variable, draft: Draft) -> None:
    """A name that ranks take from the submitter's shell, as the original did."""
    places = [*each.places, *reading.wanted.get(each.name, ())]
    reached.inherit((each.name,), places, draft, f"${each.name}")
