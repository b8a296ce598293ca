"""Commands of the pods of one launch that are not the same: groups have a command of their own.

The operator tells all pods of the same world, whatever they run (SetPodEnv of kubeflow/training-operator,
pkg/controller.v1/pytorch/envvar.go), and so does a job with groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from os.path import basename

from msgspec.structs import replace

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers import size
from hpclaunch.convert.manifests.objects.workload import COMMAND, Pod, Workload
from hpclaunch.convert.manifests.pods import environment, told
from hpclaunch.convert.manifests.pods.environment import Config, Variable
from hpclaunch.convert.manifests.running import command, launchers, mounted_scripts
from hpclaunch.convert.manifests.running.launch import Launch, read
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.names import SHELLS

# What else may differ has its own place, or its own question.
_APART = frozenset(("command", "env", "nodes", "secrets", "name"))
# What a launcher of the command says of the launch.
_OF_LAUNCH = (
    ("ranks_per_node",),
    ("rendezvous",),
    ("mpi",),
    ("container", "entrypoint"),
    ("container", "mpi"),
)


def differ(first: Pod, other: Pod) -> bool:
    """Whether both have a command, and not the same."""
    texts = [
        [
            word
            for key in COMMAND
            if (field := pod.container.get(key)) is not None
            for word in _read(pod, field)
        ]
        for pod in (first, other)
    ]
    return all(texts) and texts[0] != texts[1]


def is_alike(first: Pod, other: Pod, key: str) -> bool:
    """Whether a field of the command is the same in both, but for comments in the text of a shell."""
    fields = [pod.container.get(key) for pod in (first, other)]
    texts = [_read(pod, field) if field else [] for pod, field in zip((first, other), fields, strict=True)]
    return all(texts) and texts[0] == texts[1]


def _read(pod: Pod, field: Field) -> list[str]:
    """The words, of which a shell's have no comments: it does not read them."""
    words = [word.text() for word in field.items()]
    command = pod.container.get("command")
    start = next((word.text() for word in command.items()), "") if command is not None else ""
    is_shells = basename(start) in SHELLS
    return ["\n".join(_no_comments(word)) if is_shells and "\n" in word else word for word in words]


def _no_comments(text: str) -> Iterator[str]:
    """The lines without those of comments alone, and all from a here-document on, which has none."""
    goes_on = has_document = False
    quotes = {"'": 0, '"': 0}
    for line in text.split("\n"):
        stripped = line.strip()
        is_comment = not stripped or (stripped.startswith("#") and not stripped.startswith("#!"))
        is_quoted = any(number % 2 for number in quotes.values())
        if is_comment and not (is_quoted or goes_on or has_document):
            continue
        quotes = {each: number + line.count(each) for each, number in quotes.items()}
        goes_on, has_document = line.endswith("\\"), has_document or "<<" in line
        yield line


def of_pod(
    workload: Workload,
    pod: Pod,
    first: Mapping[str, Variable],
    beside: Config,
    draft: Draft,
    options: Options,
) -> Draft | None:
    """What the command of another pod makes of a job, where all but the command is what the job has; None
    where a job with groups is not the same launch. `first` are the variables of the pod that the job's
    command is from."""
    own = replace(workload, starter=pod, ranks=pod, others=())
    found = Draft(options.site)
    variables = environment.variables(pod.container, beside, found)
    scripts = mounted_scripts.of(pod, beside.maps, beside.scripts)
    launch = read(pod.container, told.texts(own, variables), scripts)
    scripts = mounted_scripts.of(workload.ranks, beside.maps, beside.scripts)
    if _launchers(launch) != _launchers(read(workload.ranks.container, told.texts(workload, first), scripts)):
        return None
    size.put(own, launch, variables, found, options)
    exports = launchers.put(own, launch, variables, variables, found)
    command.put(own, launch, found, exports)
    told.put(own, launch, variables, found)
    fact = found.facts.get(("command",))
    shell = launch.shell
    if fact is None or fact.is_open or (shell is not None and (shell.folder or shell.lost)):
        return None
    keys = {key for key in found.facts if key[0] not in _APART} | set(_OF_LAUNCH)
    alike = all(_value(found, key) == _value(draft, key) for key in keys)
    return found if alike else None


def ask_for_ranks(workload: Workload, pod: Pod, beside: Config, draft: Draft, options: Options) -> None:
    """Ask for the ranks on a node where another pod starts another number of them, or nobody can tell."""
    own = replace(workload, starter=pod, ranks=pod, others=())
    found = Draft(options.site)
    variables = environment.variables(pod.container, beside, found)
    scripts = mounted_scripts.of(pod, beside.maps, beside.scripts)
    launch = read(pod.container, told.texts(own, variables), scripts)
    size.put(own, launch, variables, found, options)
    key = ("ranks_per_node",)
    mine, theirs = draft.facts.get(key), found.facts.get(key)
    if mine is None or theirs is None or mine.is_open or mine.value == theirs.value:
        return
    number = theirs.value if theirs.value is not None else "a number that is not told"
    question = f"ranks_per_node: the {pod.of} starts {number}, the {workload.ranks.of} {mine.value}"
    draft.unsay(key)
    draft.ask(key, question, [*theirs.places, *mine.places], f"the ranks of the {pod.of}")


def _launchers(launch: Launch) -> list[object]:
    """What starts the program, with its options: torchrun's tell which world it is of."""
    return [(each.program, [(option.name, option.value) for option in each.options]) for each in launch.outer]


def put(workload: Workload, pod: Pod, theirs: Draft, draft: Draft) -> bool:
    """A group for each of the two pods, with its command; False where the command of the first is asked
    for."""
    first = draft.facts.get(("command",))
    second = theirs.facts["command",]
    if first is None or first.is_open:
        return False
    pods: Sequence[Pod] = (workload.ranks, pod)
    for key in (("command",), ("nodes",)):
        draft.facts.pop(key, None)
        draft.unsay(key)
    for each, number, fact in zip(pods, workload.sizes, (first, second), strict=True):
        group = ("groups", each.of.lower())
        if (*group, "nodes") not in draft.facts:
            draft.put((*group, "nodes"), number.value, number.places, number.what)
        why = "the pods are one world, whatever each of them runs"
        draft.put((*group, "command"), fact.value, fact.places, f"the command of the {each.of}", why=why)
    return True


def _value(draft: Draft, key: tuple[str | int, ...]) -> object:
    fact = draft.facts.get(key)
    return None if fact is None else (fact.value, fact.question)
