"""Whose mpirun it is: Open MPI's, whose ranks find each other through PMIx, or that of Intel MPI, MPICH or
MVAPICH2, whose ranks take PMI-2 ("MPI Users Guide" of Slurm, mpi_guide.html).

Their launchers have one name. What tells them apart are options that one of them alone has, the folder of the
program, variables that their libraries read, modules that are loaded, scripts that are sourced, folders that
the script puts into PATH or names as the MPI's, and daemons that it starts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.programs.environments import MODULES
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.programs.mpirun import is_of_open_mpi
from hpclaunch.convert.programs.names import BY_MPIRUN, BY_WRAPPED
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import program_of, shown

OPEN_MPI = "Open MPI"
INTEL_MPI = "Intel MPI"
MVAPICH2 = "MVAPICH2"
MPICH = "MPICH"
CRAY = "Cray MPICH"
# What programs of a ring of daemons tell: it was the way of MPICH2 up to 1.2, of which MVAPICH2 and Intel MPI
# are made ("MPICH2 User's Guide" 1.2, mpd; "Intel MPI Library Reference Manual" 4.0, mpdboot).
_OF_MPD = "MPICH2, MVAPICH2 or Intel MPI"
_MPD = ("mpdboot", "mpd")
# A toolchain of EasyBuild with its year, which a module is, or was built with: Siesta/4.1-intel-2019b. Each
# has an MPI of its own (easybuild/toolchains/: intel, gimkl, foss, gompi, iomkl, iompi).
_CHAIN = r"(?:^|[-/])(?:{names})[-/]20\d\d[ab]\b"
# By a part of the name of a module, a folder or a script.
_NAMED = {
    # Its launcher is PALS, which is a module of its own (mpiexec(1) of HPE Cray PALS).
    CRAY: re.compile(r"cray[-_](?:mpich|pals)"),
    INTEL_MPI: re.compile(
        r"intel[-_]?(?:20\d\d)?[-_/]?mpi(?![a-z])|(?:^|/)mpi/intel(?:64)?(?:/|$)|(?<![a-z])i?impi(?![a-z])|mpivars|setvars\.sh|"
        r"oneapi.*(?<![a-z])mpi(?![a-z])|" + _CHAIN.format(names="intel|intelcuda|gimkl|gimpi")
    ),
    MVAPICH2: re.compile(r"mvapich"),
    MPICH: re.compile(r"mpich"),
    # foss and gompi are EasyBuild's toolchains with it, and IBM made Spectrum MPI of it ("IBM Spectrum MPI
    # Version 10 User's Guide").
    OPEN_MPI: re.compile(
        r"open[-_]?mpi|spectrum[-_]?mpi|hpc-?x|(?<![a-z])ompi|(?:^|/)(?:foss|gompi|gompic)(?:/|$)|nvcr\.io/nvidia/|"
        + _CHAIN.format(names="foss|fosscuda|gompi|gompic|iomkl|iompi|gomkl")
    ),
}
_MAPS = re.compile(r"^ppr:|(?:^|[:,])pe=", re.IGNORECASE)
# Variables with folders: of programs, and of an MPI.
_FOLDERS = re.compile(r"PATH|\w{,40}MPI\w{,40}(?:HOME|ROOT|DIR)")
_LONGEST = 4096  # characters of a folder's name, as Linux has it
# By what its variables begin with.
_READS = {
    "I_MPI_": INTEL_MPI,
    "MV2_": MVAPICH2,
    "OMPI_": OPEN_MPI,
    "PRTE_MCA_": OPEN_MPI,
    "OPAL_": OPEN_MPI,
}
# Its compilers for Intel's own ("Intel MPI Library Developer Reference", "Compilation Commands").
_COMPILERS = re.compile(r"(?:^|[\s/])(mpii(?:fort|fx|cc|cx|cpc|cpx))$")
# Which Hydra sets in each rank, and Open MPI's mpirun does not (src/pm/hydra of MPICH).
_BY_HYDRA = re.compile(r"\b(?:PMI_RANK|PMI_SIZE|MPI_LOCALRANKID|MPI_LOCALNRANKS)\b")
_BY_OPEN_MPI = "OMPI_COMM_WORLD_"
_BEFORE = ("", "intel-", "intel_")  # what may stand before an MPI's own name
_TAKES_AWAY = ("unload", "rm", "del", "remove")
_CHANGES = ("swap", "switch")
# A module or a folder of Open MPI 1: PMIx came with 2.0 (NEWS of its sources), which EasyBuild's toolchains
# have since 2017 (foss-2016b.eb, foss-2017a.eb).
_BEFORE_PMIX = re.compile(
    r"(?:open[-_]?mpi|(?<![a-z])ompi)(?:/(?:gcc|intel|pgi|64))*[-_/@]?v?1\.\d"
    r"|(?:^|[-/])(?:foss|gompi)[-/]201[0-6][ab]\b"
)

# srun starts ranks of Open MPI 1.5 and later ("MPI and UPC Users Guide" of Slurm 2.3).
_BEFORE_SRUN = re.compile(r"mpi(?:/(?:gcc|intel|pgi|64))*[-_/@]?v?1\.[0-4](?!\d)")


# horovod/runner/gloo_run.py: it tells each process by HOROVOD_* of the others.
_BY_GLOO = (
    "horovodrun told each process of the others by variables of its own, and under srun they find each other "
    "by Horovod's MPI alone"
)


class Library(Struct, frozen=True):
    """An MPI by its name, and what tells it. `old` is what tells an Open MPI without PMIx, and `beside`
    what tells one whose ranks find each other otherwise."""

    name: str
    told_by: str
    old: str = ""
    beside: str = ""


def taken_for(layer: Layer) -> str:
    """What is assumed of the ranks of a launcher where nothing tells whose MPI they use. Horovod may be built
    without MPI (run_controller in horovod/runner/launch.py)."""
    others = "which nothing tells: of Intel MPI, MPICH or MVAPICH2 it would be pmi2"
    if layer.program == "horovodrun" and layer.option("gloo") is not None:
        return f"{_BY_GLOO}, which is taken for one with Open MPI: of the others it would be pmi2"
    if layer.program == "horovodrun":
        without = "under srun ranks of one that was built with Gloo alone do not find each other"
        return f"Horovod is taken for one with Open MPI, {others}; {without}"
    return f"taken for Open MPI's, {others}"


def without_counterpart(option: str, layer: Layer) -> tuple[str, str]:
    """Why an option of a launcher is left out under srun, and what to do."""
    if option == "gloo" and layer.program == "horovodrun":
        return _BY_GLOO, "use a Horovod that was built with MPI (`horovodrun --check-build` tells)"
    why = f"an option of {layer.called} that srun has no counterpart of"
    return why, "see whether the program counts on it"


def of(reading: ShellReading, command: Command, layer: Layer) -> Library | None:
    """The library whose launcher the layer is, None where nothing tells it."""
    found = next(_told(reading, command, layer), None)
    if found is None or found.name != OPEN_MPI:
        return found
    texts = (*map(shown, command.words), *modules(reading), found.told_by)
    old = next((text for text in texts if is_before_pmix(text)), "")
    return replace(found, old=old)


def modules(reading: ShellReading) -> list[str]:
    """What the script loads, in its order; without what it takes away again (module(1), "unload", "swap")."""
    found: list[str] = []
    for each in reading.of(*MODULES):
        # Its function hands its words on without quotes: "impi gsl" are two (init/bash of Modules and Lmod).
        told = [part for word in each.words[1:] for part in shown(word).split()]
        first, *rest = [*told, ""]
        if first == "purge":
            found.clear()
            continue
        words = [first, *rest[:-1]]
        away = [word[1:] for word in words if word.startswith("-")]  # ml -openmpi
        if first in _TAKES_AWAY:
            away, words = words[1:], []
        elif first in _CHANGES:
            away, words = words[1:-1], words[-1:]
        versions = tuple(f"{one}/" for one in away)
        found = [name for name in found if name not in away and not name.startswith(versions)] + words
    return found


def is_before_pmix(text: str) -> bool:
    """Whether a module or a folder is of an Open MPI without PMIx."""
    return _BEFORE_PMIX.search(text.lower()) is not None


def is_before_srun(text: str) -> bool:
    """Whether what tells an Open MPI without PMIx tells one that srun starts no ranks of."""
    return _BEFORE_SRUN.search(text.lower()) is not None


def by_options(layer: Layer) -> Library | None:
    """The same by the launcher's own options alone."""
    own = next((each for each in layer.options if is_of_open_mpi(each) or _maps_as_open_mpi(each)), None)
    return Library(OPEN_MPI, own.written) if layer.program == "mpirun" and own is not None else None


def _maps_as_open_mpi(option: Option) -> bool:
    """Whether --map-by is told what Hydra's has no words for: ppr:N:node, PE=N (mpirun(1) of Open MPI)."""
    return option.name == "map-by" and _MAPS.search(shown(option.value or ())) is not None


def _told(reading: ShellReading, command: Command, layer: Layer) -> Iterator[Library]:
    by_option = by_options(layer)
    if by_option is not None:
        yield by_option
    words = [shown(word) for word in command.words]
    yield from _named(text for text in words if _is_launcher(text))
    loaded = modules(reading)
    yield from _of_variables(command, [each for each in _of_modules(loaded) if _is_itself(each)])
    yield from _named(_of_lsf(reading))
    yield from _of_modules(loaded)
    folders = list(_of_folders(reading, command))
    if _goes_before_scripts(reading):
        yield from folders
    yield from _named(shown(each.name) for each in reversed(reading.sourced))
    yield from folders
    yield from _of_mpd(reading)
    yield from _named(text for text in words if "nvcr.io/" in text)
    yield from (Library(MPICH, text) for text in words if program_of([(text,)]) in BY_WRAPPED)
    yield from _of_compilers(reading, command)
    yield from _of_numbers(reading)


def _of_variables(command: Command, loaded: Sequence[Library]) -> Iterator[Library]:
    """Whose variables the launcher has. An export may be left from another machine, and a module has its
    mpirun in PATH; what stands in front of the command is meant for it."""
    prefix = dict(command.prefix)
    for name in (*prefix, *dict(command.environment)):
        found = next((library for begins, library in _READS.items() if name.startswith(begins)), "")
        for each in loaded if found else ():
            if (each.name == OPEN_MPI) != (found == OPEN_MPI):
                of_it = Library(found, name, beside=each.told_by)
                yield of_it if name in prefix else replace(each, beside=name)
        if found:
            yield Library(found, name)


def _of_folders(reading: ShellReading, command: Command) -> Iterator[Library]:
    """What the script has in PATH, of which the first counts, and as the folder of its MPI, also by lines
    that give the job variables (#$ -v MPI_HOME=/opt/mvapich2). A name that does not begin with an MPI's is of
    a program that was built with it (/opt/warm-mpich/bin)."""
    exported = {name: shown(value) for name, value in command.environment}
    asked = (word for each in reading.directives if "-v" in each.words for word in each.words)
    given = dict(part.split("=", 1) for word in asked for part in word.split(",") if "=" in part)
    for name, text in {**given, **exported}.items():
        for part in text.split(":") if _FOLDERS.fullmatch(name) else ():
            library = named(part) if len(part) < _LONGEST else ""
            its = _NAMED[library].finditer(part.lower()) if library else ()
            if any(part[max(each.start() - 1, 0) : each.start() + 1].count("/") for each in its):
                yield Library(library, f"{name}={part}")


def _goes_before_scripts(reading: ShellReading) -> bool:
    """Whether the script puts the folder of an MPI in front of PATH behind all scripts of one that it
    sources: what these put there it no longer finds first."""
    own = [each for each in reading.assigned if each.name == "PATH" and not each.conditions]
    before = [each.place for each in reading.sourced if named(shown(each.name))]
    last = own[-1] if own and before else None
    return (
        last is not None
        and any(map(named, takewhile(lambda part: part != "${PATH}", shown(last.value).split(":"))))
        and all(each.file == last.place.file and each.line < last.place.line for each in before)
    )


def _of_mpd(reading: ShellReading) -> Iterator[Library]:
    """What the script starts its daemons with (/opt/intel/impi/4.0/bin64/mpdboot)."""
    for each in reading.of(*_MPD):
        text = shown(each.words[0])
        yield Library(named(text) or _OF_MPD, text)


def _of_compilers(reading: ShellReading, command: Command) -> Iterator[Library]:
    """What the script compiles with, or has in a variable for what does."""
    exported = (shown(value) for _, value in command.environment)
    for text in (*exported, *(shown(word) for each in reading.commands for word in each.words[:1])):
        if found := _COMPILERS.search(text[-_LONGEST:]):
            yield Library(INTEL_MPI, found[1])


def _of_numbers(reading: ShellReading) -> Iterator[Library]:
    """Numbers of ranks that its files read, where they read none of Open MPI's."""
    texts = [each.text for each in reading.sources]
    if not any(_BY_OPEN_MPI in text for text in texts):
        yield from (Library(MPICH, found[0]) for text in texts if (found := _BY_HYDRA.search(text)))


def _of_lsf(reading: ShellReading) -> Iterator[str]:
    """What lines for LSF name as the kind of the job: -a mpich2 (bsub(1), -a)."""
    for each in reading.directives:
        if each.system == "BSUB" and "-a" in each.words[:-1]:
            yield f"-a {each.words[each.words.index('-a') + 1]}"


def _of_modules(loaded: Sequence[str]) -> Iterator[Library]:
    """The last that is an MPI itself, before what a program among them was built with (fftw/3.3/mpich)."""
    found = list(_named(reversed(loaded)))
    counts = next((each for each in found if _is_itself(each)), next(iter(found), None))
    if counts is None:
        return
    others = [each for each in found if (each.name == OPEN_MPI) != (counts.name == OPEN_MPI)]
    beside = next((each.told_by for each in others if not _is_itself(each)), "")
    yield replace(counts, beside=beside)


def _is_itself(library: Library) -> bool:
    """Whether the name of a module begins with an MPI's, as openmpi/4.1 and mpi/intelmpi/2021 do."""
    parts = library.told_by.lower().split("/")[:2]
    found = [(part, each) for part in parts for each in _NAMED[library.name].finditer(part)]
    return any(part[: each.start()] in _BEFORE for part, each in found)


def _is_launcher(text: str) -> bool:
    return program_of([(text,)]).partition(".")[0] in BY_MPIRUN


def _named(texts: Iterable[str]) -> Iterator[Library]:
    return (Library(name, text) for text in texts if (name := named(text)))


def named(text: str) -> str:
    """The library that a name of a module, a folder or a script tells, "" for none."""
    small = text.lower()
    return next((name for name, pattern in _NAMED.items() if pattern.search(small)), "")
