"""What a script says of a job that does more than to start its ranks once."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.rank import beside as texts
from hpclaunch.rank import wrapper_text
from hpclaunch.render import quote
from hpclaunch.values.launchplan import Common, HostSteps, SlurmSteps, SlurmTarget
from hpclaunch.values.steps import Step, Trials
from hpclaunch.values.words import Option

_WIDTH = 100  # characters of a line of a command that people read


def of_local(common: Common, host: HostSteps) -> dict[str, object]:
    """For the template of a script for this machine."""
    staged = [*_shell("stage_in", "stage-in"), *_staged(common)]
    return _shared(common, host) | {
        "beside": True,
        "imports": None,
        "stage_in": _line(["announce", quote.bash(_title(common))], staged) if common.stage_in else "",
        "image": "",
        "container_steps": False,
        "one_container": False,
        "texts": list(_texts(common, imports=False, keeps=False, host=True)),
        "host_steps": True,
    }


def of_slurm(common: Common, target: SlurmTarget, slurm: SlurmSteps) -> dict[str, object]:
    """For the template of an sbatch script."""
    box = common.container
    on_host = any(step.where == "host" for step in common.steps)
    within = any(step.where == "container" for step in common.steps)
    staged = ['"${hl_nodes[@]}"', *_shell("stage_in", "stage-in"), *_staged(common)]
    run = ["run", '"${hl_once[@]}"']
    image = ""
    if slurm.image and box is not None:
        words = [
            '"${hl_first_node[@]}"',
            *_shell("import", "import"),
            *map(quote.bash, (box.shared, slurm.image)),
        ]
        image = _line(["announce", quote.bash(f"import of {slurm.image} to {box.shared}"), *run], words)
    return _shared(common, slurm.host) | {
        "beside": True,
        "imports": None,
        "once": slurm.once,
        "save": [option for option in target.pyxis if option.text.startswith("--container-save=")],
        "nodes": common.nodes,
        "stage_in": _line(["announce", quote.bash(_title(common)), *run], staged) if common.stage_in else "",
        "image": image,
        "container_steps": within,
        "one_container": slurm.one_container,
        "on_each_node": within or on_host or bool(common.stage_in) or slurm.one_container,
        "on_first_node": within or bool(image),
        "host_steps": on_host,
        "texts": list(_texts(common, imports=bool(image), keeps=slurm.one_container, host=on_host)),
    }


class Import(Struct, frozen=True):
    """What one node imports before groups of ranks start, which have nothing else beside them: `words` are
    those of the shell's `text`."""

    title: str
    once: tuple[Option, ...]
    words: str
    text: str


def of_groups(common: Common, slurm: SlurmSteps) -> Import:
    """The import of the image."""
    box = common.container
    assert box is not None  # the only thing that goes with groups
    words = [*_shell("import", "import"), *map(quote.bash, (box.shared, slurm.image))]
    title = quote.bash(f"import of {slurm.image} to {box.shared}")
    return Import(title, slurm.once, " ".join(words), texts.text("import"))


def _shared(common: Common, host: HostSteps) -> dict[str, object]:
    found: dict[str, object] = {
        when: [_step(step) for step in common.steps if step.when == when]
        for when in ("setup", "before_each", "after")
    }
    trials = common.trials
    return found | {"trials": trials, "trial": _trial(common, trials) if trials else "", "host": host}


def _step(step: Step) -> str:
    must = "optional" if step.optional else "required"
    words = ["run_step", quote.bash(step.title), must, step.per, step.where]
    return _line(words, list(map(quote.bash, step.argv)))


def _trial(common: Common, trials: Trials) -> str:
    policy = "keep_going" if trials.keep_going else "stop"
    start = "random" if trials.first_seed is None else "first"
    log = quote.bash(trials.log)
    if not trials.log:
        log = f"{quote.bash(common.name)}-\"${{SLURM_JOB_ID-$$}}\"-trial-'{{trial}}'.log"
    words = [str(trials.count), policy, quote.bash(trials.seed), start, str(trials.first_seed or 0)]
    return _line(["run_trial", *words], [log])


def _title(common: Common) -> str:
    pairs = (f"{each.source} to {each.target}" for each in common.stage_in)
    return f"stage_in: {', '.join(pairs)}"


def _staged(common: Common) -> list[str]:
    return [quote.bash(text) for each in common.stage_in for text in (each.source, each.target, each.source)]


def _shell(variable: str, name: str) -> list[str]:
    return ["/bin/sh", "-c", f'"$hl_{variable}"', f"hpclaunch-{name}"]


def _texts(common: Common, *, imports: bool, keeps: bool, host: bool) -> Iterator[tuple[str, str, str]]:
    """Variable, text, and a comment."""
    if any(step.where == "container" and step.per != "rank" for step in common.steps):
        yield "hl_alone", wrapper_text(["from=slurm"]), "The same for a step that is alone on its node."
    if host:
        yield "hl_host", texts.text("host"), "What starts a step outside the container."
    if imports:
        yield "hl_import", texts.text("import"), "What imports the image, once for all jobs."
    if common.stage_in:
        yield "hl_stage_in", texts.text("stage-in"), "What copies folders to a node."
    if keeps:
        yield "hl_keep", texts.text("keep"), "What removes the container from a node in the end."


def _line(first: Sequence[str], rest: Sequence[str]) -> str:
    """A command on one line, or on two where that is long."""
    start, end = " ".join(first), " ".join(rest)
    return f"{start} {end}" if len(start) + len(end) < _WIDTH else f"{start} \\\n    {end}"
