"""Constants that a script exports behind a file or a module that may set them too. A rank has its `env`
before its command does what the script did, so the command sets these again, where the script did."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import MAY_SET, Draft
from hpclaunch.convert.mapping.environment.in_order import (
    Export,
    Moment,
    Prepared,
    given_at,
    given_before,
    moment_of,
)
from hpclaunch.convert.mapping.environment.sourced import OF_LOGIN
from hpclaunch.convert.mapping.words.texts import Raw
from hpclaunch.convert.programs.environments import LOADERS
from hpclaunch.convert.reading import Assigned, Command, ShellReading
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.values.conversion import Place

# What modules of compilers, libraries and networks set.
_OF_MODULES = re.compile(
    r"(?:PATH|_HOME|_ROOT|_DIR|_LIB|_INC|_INCLUDE|_PREFIX)$|^(?:CC|CXX|FC|F77|F90)$"
    r"|^(?:I_MPI|UCX|FI|NCCL|OMPI|OPAL|PMIX|MPICH|MV2|PSM\d?|CUDA|ROCM|HIP|MKL|XLA|LD)_"
)


def exports(
    reading: ShellReading, command: Command, before: Sequence[Prepared], draft: Draft, *, says: bool = True
) -> list[Export]:
    """These of a command, whose shell does the others `before`; what is said of them where it is the run
    (`says`)."""
    files = [each.moment for each in before if _is_file(each)]
    modules = [each.moment for each in before if _program(each) in LOADERS]
    found: list[Export] = []
    for name, text, moment, place in _given(reading, command, draft) if files or modules else ():
        if any(each < moment for each in files) or (
            _OF_MODULES.search(name) and any(each < moment for each in modules)
        ):
            found.append((name, (text,)))
            became = f"command: export {name}=...; ..."
            if says:
                draft.say("carried", (place,), f"{name}={text}", became=became, why=MAY_SET, key="command")
    return found


def _given(reading: ShellReading, command: Command, draft: Draft) -> Iterator[tuple[str, str, Moment, Place]]:
    """What the job's `env` has of the input's lines, and when the script gave it to the command. A default is
    none of these: it counts only where the file sets nothing."""
    there, assumed = dict(command.environment), {each.name for each in reading.assumed}
    own, end = (command.place.file, command.place.line), moment_of(reading, command)
    for key, fact in draft.facts.items():
        if key[0] != "env" or len(key) != 2 or fact.is_open or not isinstance(fact.value, str):
            continue
        name, text = str(key[1]), fact.value
        each = given_before(reading, name, end)
        if name in assumed or not text:
            continue
        if each is not None and known(there.get(name, ("", ""))) == text:
            if not (each.default or each.place.file.startswith("--") or _is_of_point(reading, each)):
                yield name, text, given_at(each), each.place
        elif not any(known(one.value) == text for one in reading.given(name)) and any(
            (place.file, place.line) == own for place in fact.places
        ):
            yield name, text, end, command.place


def _is_of_point(reading: ShellReading, each: Assigned) -> bool:
    """Whether it is made of the index of an array, of which a sweep's point has its own."""
    also = (reading.last(name) for name in each.uses)
    names = {*each.uses, *(use for other in also if other is not None for use in other.uses)}
    return reading.of_points and any(name.startswith("SLURM_ARRAY_") for name in names)


def _is_file(each: Prepared) -> bool:
    words = _words(each)
    return words[:1] == ["source"] and not OF_LOGIN.search(words[1] if len(words) > 1 else "")


def _program(each: Prepared) -> str:
    words = _words(each)
    return words[0] if words else ""


def _words(each: Prepared) -> list[str]:
    return [shown(word) for word in each.words if not (word and isinstance(word[0], Raw))]
