"""What the containers of a job run: texts of shells, and their words."""

from collections.abc import Iterable, Iterator

from hpclaunch.rank import pod as texts
from hpclaunch.rank import wrapper_text
from hpclaunch.render import kubelet, words
from hpclaunch.render.pods import Process, Word
from hpclaunch.values.amount import counted
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import KubernetesTarget, Pod
from hpclaunch.values.rankgroups import RankGroups
from hpclaunch.values.words import Option
from hpclaunch.values.yamltext import later, value

_LONG = 60  # characters of a word that has its comment above it

# The texts, by what the processes that run them are called.
_RANK, _LAUNCHER, _WORKER = "hpclaunch-rank", "hpclaunch-launcher", "hpclaunch-worker"
_STAGE_IN = "hpclaunch-stage-in"
_COMMAND = "And its command, each word after a =."


def launcher(common: Common, target: KubernetesTarget) -> Process:
    """The launcher's text, which runs mpirun, which runs a wrapper for each rank."""
    settings = [option.text for option in target.launch]
    wrapper = of_rank(common, target)
    text = kubelet.word(texts.launcher_text(settings, target.stays))
    above = "What starts the ranks" + (", and the steps before and after them." if target.stays else ".")
    return Process(
        command=_shell(_LAUNCHER, above),
        args=(
            *map(_setting, target.launch),
            _word("--"),
            *map(_word, target.starter),
            *wrapper.command,
            *wrapper.args,
            *(_steps(common, target) if target.stays else ()),
        ),
        texts={**wrapper.texts, _LAUNCHER: text},
    )


def _steps(common: Common, target: KubernetesTarget) -> Iterator[Word]:
    """What runs beside the ranks, and how often they are started."""
    if target.alone:
        yield _word("--", above="What runs beside a process that is alone on its node, or in the job.")
        settings = [option.text for option in target.alone]
        yield from map(_word, ("/bin/sh", "-c", wrapper_text(settings), "hpclaunch-step"))
        yield from map(_setting, target.alone)
    else:
        yield _word("--")
    yield _word("--", above="Trials and steps: when and how often each, and its words, each after a =.")
    trials = common.trials
    if trials is not None:
        yield _word(f"trials={trials.count}")
        if trials.seed:
            yield _word(f"seed={trials.seed}", beside="" if trials.first_seed is not None else "random ones")
            if trials.first_seed is not None:
                yield _word(f"first_seed={trials.first_seed}", beside="and one more each time")
        if trials.keep_going:
            yield _word("keep_going=1", beside="a trial that fails does not stop the next")
    for step in common.steps:
        yield _word(f"{step.when}={step.per}")
        yield _word(f"title={step.title}")
        if step.optional:
            yield _word("optional=1")
        yield from (_word(f"={word}") for word in step.argv)


def after_staging(process: Process, pod: Pod) -> Process:
    """The process of a worker to which folders are copied first."""
    if pod.staging is None:
        return process
    folders = (text for each in pod.staging.folders for text in (each.source, each.target, each.name))
    above = "Copies folders to the node, each once; SOURCE TARGET NAME of each are its words."
    copying = Process(_shell(_STAGE_IN, above), tuple(map(_word, folders)))
    own = {**process.texts, _STAGE_IN: kubelet.word(texts.stage_in_text())}
    return Process(process.command, process.args, own, copying)


def of_rank(common: Common, target: KubernetesTarget) -> Process:
    """The wrapper of a rank, its settings, environment and command."""
    settings = [option.text for option in target.wrapper]
    above = "What runs beside each rank and becomes its command: the parts that this job needs."
    environment = [f"{variable.name}={variable.value}" for variable in common.environment]
    return Process(
        command=_shell(_RANK, above),
        args=(
            *map(_setting, target.wrapper),
            *_part(environment, "The rank's environment."),
            *(_groups(common.groups) if common.groups else _part(_command(common.argv), _COMMAND)),
        ),
        texts={_RANK: kubelet.word(wrapper_text(settings))},
    )


def _groups(groups: RankGroups) -> Iterator[Word]:
    """What each group has of its own."""
    for group in groups.members:
        own = [f"{variable.name}={variable.value}" for variable in group.environment]
        nodes = counted(group.nodes, "node")
        yield from _part([*own, *_command(group.argv)], f"{group.name}: {nodes}. Its variables and command.")


def _command(argv: Iterable[str]) -> list[str]:
    return [f"={word}" for word in argv]


def serving(settings: Iterable[Option]) -> Process:
    """A worker's text, which becomes the sshd that mpirun starts its daemons by."""
    text = kubelet.word(texts.worker_text([option.text for option in settings]))
    return Process(
        command=_shell(_WORKER, "What waits for the launcher."),
        args=tuple(map(_setting, settings)),
        texts={_WORKER: text},
    )


def _shell(name: str, above: str) -> tuple[Word, ...]:
    """The beginning of a command that is a text, which comes `later`."""
    return _word("/bin/sh", above), _word("-c"), (later(name), "", ""), _word(name)


def _part(texts: Iterable[str], above: str) -> tuple[Word, ...]:
    return _word("--", above), *map(_word, texts)


def _word(text: str, above: str = "", beside: str = "") -> Word:
    return value(kubelet.word(text)), above, beside


def _setting(option: Option) -> Word:
    """A long table has a line for each of its entries, which its reader takes for the same."""
    mark = words.separator(option.text, len(option.text))
    text = option.text.replace(mark, mark.strip() + "\n") if mark else option.text
    if "\n" in text or len(text) > _LONG:
        return _word(text, above=option.why)
    return _word(text, beside=option.why)
