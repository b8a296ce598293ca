"""The manifest of a plan: an MPIJob, or a Job of one pod."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hpclaunch import __version__
from hpclaunch.rank import pod as texts
from hpclaunch.rank import wrapper_text
from hpclaunch.render import kubelet, words
from hpclaunch.render.templates import template
from hpclaunch.values.launchplan import Common, LaunchPlan
from hpclaunch.values.pods import KubernetesTarget, Pod
from hpclaunch.values.words import Option
from hpclaunch.values.yamltext import finished, later

_LONG = 60  # characters of a word that has its comment above it


class Word(Struct, frozen=True):
    """A word of a command line, with a comment above or beside it. `later` is what stands for `text`, whose
    `$` are doubled, until the manifest is finished."""

    text: str
    above: str = ""
    beside: str = ""
    later: str = ""


class Process(Struct, frozen=True):
    """What a container runs; where both are empty the operator's own choice. `before` is what the init
    container runs that copies folders."""

    command: tuple[Word, ...] = ()
    args: tuple[Word, ...] = ()
    before: "Process | None" = None


def render(plan: LaunchPlan, target: KubernetesTarget) -> str:
    """The text that is submitted: the same for the same plan, so a submission's tag is not in it. Raises
    ValueError for a text that YAML cannot hold, such as one with NUL."""
    job = target.mpi_job
    shared = {"head": _head(plan, target), "target": target, "run": target.run_policy}
    if job is None:
        started = target.starter or target.stays
        process = _launcher(plan.common, target) if started else _rank(plan.common, target)
        worker = _after_staging(process, target.worker)
        text = template("object.yaml.j2").render(shared, job=None, worker=worker)
        return finished(text, _later(worker))
    launcher = _launcher(plan.common, target)
    worker = _after_staging(_serving(target.serve) if target.serve else Process(), target.worker)
    text = template("object.yaml.j2").render(shared, job=job, launcher=launcher, worker=worker)
    return finished(text, _later(launcher, worker))


def _launcher(common: Common, target: KubernetesTarget) -> Process:
    """The launcher's text, which runs mpirun, which runs a wrapper for each rank."""
    settings = [option.text for option in target.launch]
    wrapper = _rank(common, target)
    text = texts.launcher_text(settings, target.stays)
    above = "What starts the ranks" + (", and the steps before and after them." if target.stays else ".")
    return Process(
        command=_shell(text, "hpclaunch-launcher", above),
        args=(
            *map(_setting, target.launch),
            Word("--"),
            *map(Word, target.starter),
            *wrapper.command,
            *wrapper.args,
            *(_steps(common, target) if target.stays else ()),
        ),
    )


def _steps(common: Common, target: KubernetesTarget) -> Iterator[Word]:
    """What runs beside the ranks, and how often they are started."""
    if target.alone:
        yield Word("--", above="What runs beside a process that is alone on its node, or in the job.")
        settings = [option.text for option in target.alone]
        yield from map(Word, ("/bin/sh", "-c", wrapper_text(settings), "hpclaunch-step"))
        yield from map(_setting, target.alone)
    else:
        yield Word("--")
    yield Word("--", above="Trials and steps: when and how often each, and its words, each after a =.")
    trials = common.trials
    if trials is not None:
        yield Word(f"trials={trials.count}")
        if trials.seed:
            yield Word(f"seed={trials.seed}", beside="" if trials.first_seed is not None else "random ones")
            if trials.first_seed is not None:
                yield Word(f"first_seed={trials.first_seed}", beside="and one more each time")
        if trials.keep_going:
            yield Word("keep_going=1", beside="a trial that fails does not stop the next")
    for step in common.steps:
        yield Word(f"{step.when}={step.per}")
        yield Word(f"title={step.title}")
        if step.optional:
            yield Word("optional=1")
        yield from (Word(f"={word}") for word in step.argv)


def _after_staging(process: Process, pod: Pod) -> Process:
    """The process of a worker to which folders are copied first."""
    if pod.staging is None:
        return process
    words = (word for each in pod.staging.folders for word in (each.source, each.target, each.name))
    above = "Copies folders to the node, each once; SOURCE TARGET NAME of each are its words."
    copying = Process(_shell(texts.stage_in_text(), "hpclaunch-stage-in", above), tuple(map(Word, words)))
    return Process(process.command, process.args, copying)


def _rank(common: Common, target: KubernetesTarget) -> Process:
    """The wrapper of a rank, its settings, environment and command."""
    settings = [option.text for option in target.wrapper]
    above = "What runs beside each rank and becomes its command: the parts that this job needs."
    environment = [f"{variable.name}={variable.value}" for variable in common.environment]
    return Process(
        command=_shell(wrapper_text(settings), "hpclaunch-rank", above),
        args=(
            *map(_setting, target.wrapper),
            *_part(environment, "The rank's environment."),
            *_part([f"={word}" for word in common.argv], "And its command, each word after a =."),
        ),
    )


def _serving(settings: Iterable[Option]) -> Process:
    """A worker's text, which becomes the sshd that mpirun starts its daemons by."""
    text = texts.worker_text([option.text for option in settings])
    return Process(
        command=_shell(text, "hpclaunch-worker", "What waits for the launcher."),
        args=tuple(map(_setting, settings)),
    )


def _shell(text: str, name: str, above: str) -> tuple[Word, ...]:
    return Word("/bin/sh", above=above), Word("-c"), Word(kubelet.word(text), later=later(name)), Word(name)


def _later(*processes: Process | None) -> dict[str, str]:
    """The texts that are put where something stands for them."""
    found: dict[str, str] = {}
    for process in processes:
        if process is not None:
            found |= {word.later: word.text for word in (*process.command, *process.args) if word.later}
            found |= _later(process.before)
    return found


def _part(texts: Iterable[str], above: str) -> tuple[Word, ...]:
    return Word("--", above=above), *map(Word, texts)


def _setting(option: Option) -> Word:
    """A long table has a line for each of its entries, which its reader takes for the same."""
    mark = words.separator(option.text, len(option.text))
    text = option.text.replace(mark, mark.strip() + "\n") if mark else option.text
    if "\n" in text or len(text) > _LONG:
        return Word(text, above=option.why)
    return Word(text, beside=option.why)


def _head(plan: LaunchPlan, target: KubernetesTarget) -> dict[str, object]:
    """What the comment at the top says. `by_hand` is the command that makes the Secret of a submission, with
    values that no process list shows."""
    by_hand, optional = [], []
    if target.variables_secret:
        from hpclaunch.render import quote  # its patterns take a start longer than the rest of this page

        pod = target.launcher or target.worker
        made = [secret for secret in pod.secrets if secret.name == target.variables_secret]
        context = ["--context", target.context] if target.context else []
        kubectl = ["kubectl", *context, "-n", target.namespace, "create", "secret", "generic"]
        by_hand = [" ".join(map(quote.bash, (*kubectl, target.variables_secret)))]
        by_hand += [f'--from-file={secret.key}=<(printf %s "${secret.variable}")' for secret in made]
        optional = [secret.variable for secret in made if secret.optional]
    return {
        "name": target.name,
        "site": plan.site,
        "title": words.title(plan.common),
        "version": __version__,
        "by_hand": by_hand,
        "optional": optional,
    }
