"""The raw options that a job passes on to sbatch and srun for one site."""

from collections.abc import Sequence

from hpclaunch.capability.tables import (
    breaks_masks,
    means,
    not_on_the_step,
    pyxis_since,
    set_by_submit,
    slurm_since,
    version,
)
from hpclaunch.plan.findings import Findings
from hpclaunch.spec.job import SiteHints
from hpclaunch.spec.site import SlurmSite
from hpclaunch.values.words import Option


def check(hints: SiteHints, site_name: str, slurm: SlurmSite, masked: bool, found: Findings) -> None:
    """Finds what is sure to stop the job, and warns that the rest was not checked."""
    for command, options in (("sbatch", hints.sbatch), ("srun", hints.srun)):
        for index, text in enumerate(options):
            message = _problem(command, text, slurm, masked)
            if message:
                found.refuse(message, "sites", site_name, command, index)
        if options:
            found.warnings.append(f"not checked, passed on to {command}: {' '.join(options)}")


def _problem(command: str, text: str, slurm: SlurmSite, masked: bool) -> str:
    name = text.partition("=")[0]
    if not name.startswith("-") or any(char.isspace() for char in name):
        return f"{text!r} is no option: an entry is one word with `-` before it, as in --switches=1"
    if name.strip("-") == "" or (name[1] != "-" and len(name) > 2):
        return f"{text!r}: write the option in its long form, as in --switches=1"
    if any(ord(char) < 32 for char in text):
        return f"{text!r} has a control character in it"
    if command == "sbatch" and "container-" in name and name != "--container-id":
        return f"{name} on sbatch starts the whole script in the container; use the job's own keys, or srun"
    for since, known, program in (
        (slurm_since().get(name), slurm.version, "Slurm"),
        (pyxis_since().get(name), slurm.pyxis, "Pyxis"),
    ):
        if since and (known is None or version(since) > version(known)):
            return f"{name} came with {program} {since}, and this site has {known or 'none'}"
    if command == "sbatch" and means(name, set_by_submit()):
        return f"{name} is hpclaunch's own on sbatch's command line, or would hide how the job ends"
    if command == "srun" and means(name, not_on_the_step()):
        return f"{name} would keep the ranks from starting, or their messages from the job's output"
    if command == "srun" and masked and means(name, breaks_masks()):
        return f"{name} does not go with the CPU masks of a whole node; set bind.cpus and bind.memory to none"
    return ""


def of_sbatch(
    hints: SiteHints, site_name: str, ours: Sequence[Option], found: Findings
) -> tuple[Option, ...]:
    """The options for #SBATCH lines that come behind `ours`."""
    _refuse_twice("sbatch", hints.sbatch, site_name, ours, found)
    return tuple(Option(directive_value(text), "not checked") for text in hints.sbatch)


def of_srun(hints: SiteHints, site_name: str, ours: Sequence[Option], found: Findings) -> tuple[Option, ...]:
    """The options of srun that stand beside `ours`."""
    _refuse_twice("srun", hints.srun, site_name, ours, found)
    return tuple(Option(text, "not checked") for text in hints.srun)


def _refuse_twice(
    command: str, options: Sequence[str], site_name: str, ours: Sequence[Option], found: Findings
) -> None:
    """Refuses what the job's own keys have given already: the later one would win without a word. Slurm hands
    a plugin only the last of two, so a second --container-mounts would take away the first
    (src/common/plugstack.c)."""
    names = frozenset(option.text.partition("=")[0] for option in ours)
    for index, text in enumerate(options):
        name = text.partition("=")[0]
        if means(name, names):
            message = f"{name} follows from the job's own keys: say it there"
            found.refuse(message, "sites", site_name, command, index)


def directive_value(text: str) -> str:
    """Text as an #SBATCH line must have it, which sbatch's own parser reads and no shell (get_argument in
    Slurm's src/sbatch/opt.c).

    Before 26.05 a blank ends an argument also where a backslash stands before it, so quotes it is.
    """
    if not any(char in "\\\"'# \t" for char in text):
        return text
    return '"' + "".join(f"\\{char}" if char in '\\"#' else char for char in text) + '"'
