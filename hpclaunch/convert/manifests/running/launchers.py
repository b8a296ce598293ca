"""mpirun, horovodrun and torchrun of a manifest -> MPI or rendezvous, variables, binding, parameters."""

from collections.abc import Mapping, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers import together
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.pods import environment
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running import buried_mpi, host_lists, per_gpu, prepared, sourced
from hpclaunch.convert.manifests.running.launch import Launch, line_in, lines_of, stand_in
from hpclaunch.convert.manifests.running.mounted_scripts import NO_SCRIPTS, Script
from hpclaunch.convert.mapping.around.trials import Trials
from hpclaunch.convert.mapping.bind import of_mpirun
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.ranks import mpi, mpi_library, rendezvous, threads
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer, Option
from hpclaunch.convert.programs.torch import needs_no_mpi
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.names import TRIAL

_NO_TRIALS = Trials()


def put(
    workload: Workload,
    launch: Launch,
    first: dict[str, Variable],
    own: dict[str, Variable],
    draft: Draft,
    trials: Trials = _NO_TRIALS,
    scripts: Mapping[str, Script] = NO_SCRIPTS,
) -> list[tuple[str, Value]]:
    """The launchers, and the variables that ranks have. `first` are those of the pod that starts the ranks,
    `own` those of the pods that they run in, `trials` those that the launcher's text makes, and `scripts`
    files beside the manifest. Returns the variables that only the command can set: to what the image has, and
    more, or by the number of a trial."""
    carried: list[str] = []
    exports: list[tuple[str, Value]] = []
    layer = launch.layer(*MPI) or launch.hidden
    torch = launch.layer(*PER_GPU)
    unseen = _unseen(workload, first, own) if layer is not None else {}
    if layer is not None and _hands_on_all(workload, layer):
        carried = list(first)
    elif layer is not None:
        carried = _named(layer)
        unseen = {name: why for name, why in unseen.items() if name not in _valued(layer)}
        if workload.is_apart:
            first = {**first, **sourced.variables(launch, scripts, carried, first, draft)}
    its = dict(_for_ranks(workload, first, own, carried))
    for name in of_mpirun.overruled(layer, its):
        draft.say("replaced", [its.pop(name).place], name, why="an option of mpirun says who binds")
    environment.put(
        its,
        draft,
        torch=workload.torch or torch is not None,
        unseen=unseen,
        carried=carried,
    )
    if workload.is_apart:
        _say_own_of_launcher(first, own, carried, draft)
    if layer is not None:
        of_text = {name for name, _, _ in launch.shell.exported} if launch.shell is not None else set()
        exports = _mpi(
            workload, launch, layer, {**dict.fromkeys(of_text), **own, **first}, draft, trials, scripts
        )
    elif (workload.is_apart or workload.kind.startswith("MPIJob")) and not needs_no_mpi(torch):
        _kind(workload, (workload.kind_place,), draft)
    elif torch is None:
        buried_mpi.put(launch, draft)
    if torch is not None:
        per_gpu.put(launch, torch, draft)
    elif workload.torch:
        why = "the operator told each pod MASTER_ADDR, WORLD_SIZE and RANK"
        draft.put(("rendezvous",), "torch", [workload.kind_place], "PyTorchJob", why=why)
    _between(launch, draft)
    if not together.start_one_each(workload, torch, draft):
        threads.put(torch, launch.places[:1], draft)
    return exports


def _named(layer: Layer) -> list[str]:
    """The names that -x carries without a value of its own, or with that which they have."""
    return [
        name
        for option in layer.all("x")
        for name in (known(option.value or ()) or _of_its_own(option)).split(",")
        if name and "=" not in name
    ]


def _valued(layer: Layer) -> set[str]:
    """The names to which -x gives a value: NAME=VALUE."""
    texts = (shown(option.value or ()) for option in layer.all("x"))
    return {name for name, equals, _ in (text.partition("=") for text in texts) if equals}


def _of_its_own(option: Option) -> str:
    """NAME of -x NAME=$(NAME), "" for any other value."""
    name, of = _of_a_variable(option)
    return name if name == of else ""


def _of_a_variable(option: Option) -> tuple[str, str]:
    """A and B of -x A=$(B), where the manifest does not tell what B is; two empty texts for other values."""
    head, *rest = option.value or ("",)
    part = rest[0] if len(rest) == 1 else None
    if isinstance(head, str) and isinstance(part, Unknown) and part.kind == "variable":
        name, equals, more = head.partition("=")
        if equals and not more and name.isidentifier():
            return name, part.name
    return "", ""


def unseen_exports(workload: Workload, layer: Layer | None, names: Sequence[str]) -> dict[str, str]:
    """Of variables that the launcher's shell exports those that ranks in other pods did not have, and why."""
    if layer is None or not workload.is_apart or _hands_on_all(workload, layer):
        return {}
    carried = {*_named(layer), *_valued(layer)}
    return {
        name: "the launcher's shell exports it, and mpirun has no -x for it: in the job the ranks have it"
        for name in names
        if name not in carried and not name.startswith("OMPI_MCA_")
    }


def _hands_on_all(workload: Workload, layer: Layer) -> bool:
    """Whether ranks get all variables of the launcher: from horovodrun, which gives mpirun a -x for each
    (horovod/runner/mpi_run.py), and from Hydra (Intel MPI's I_MPI_HYDRA_ENV, MPICH's -genvall)."""
    return layer.program in ("horovodrun", "mpiexec.hydra") or workload.mpi in ("intel", "mpich")


def _say_own_of_launcher(
    first: dict[str, Variable], own: dict[str, Variable], carried: Sequence[str], draft: Draft
) -> None:
    """Variables that launcher and workers have both: whose values the ranks have."""
    for name, each in first.items():
        twin = own.get(name)
        if twin is None:
            continue
        taken, other, place = (
            ("launcher", "workers", twin.place) if name in carried else ("workers", "launcher", each.place)
        )
        if (twin.text, twin.source) == (each.text, each.source):
            draft.say("carried", [place], f"{name} of the {other}", became=f"that of the {taken}")
            continue
        why = f"it is not that of the {taken}, which the job's ranks have"
        todo = f"see whether env.{name} is what the ranks need"
        draft.say("left", [place], f"{name} of the {other}", why=why, todo=todo)


def _for_ranks(
    workload: Workload, first: dict[str, Variable], own: dict[str, Variable], carried: Sequence[str]
) -> dict[str, Variable]:
    """The launcher's variables go before the workers' where mpirun carries them. Those for the launcher's own
    container runtime are its own."""
    if not workload.is_apart:
        return own
    mine = {name: each for name, each in first.items() if name in carried or name not in own}
    both = {**own, **mine}
    return {
        name: each
        for name, each in both.items()
        if name in own or name in carried or not name.startswith("NVIDIA_")
    }


def _unseen(workload: Workload, first: dict[str, Variable], own: dict[str, Variable]) -> dict[str, str]:
    """Variables that the ranks of the original did not have, and why."""
    if not workload.is_apart:
        return {}
    found = {}
    for name in first:
        if name not in own and not name.startswith("OMPI_MCA_"):
            found[name] = (
                "it is the launcher's alone, and mpirun has no -x for it: in the job the ranks have it"
            )
    if workload.by_ssh:
        for name in own:
            if name in first and name.startswith("OMPI_MCA_"):
                continue  # mpirun hands these on
            found[name] = (
                "sshd starts ranks without the variables of their pod, and mpirun has no -x for it: "
                "in the job the ranks have it"
            )
    return found


def _mpi(
    workload: Workload,
    launch: Launch,
    layer: Layer,
    known_here: Mapping[str, Variable | None],
    draft: Draft,
    trials: Trials,
    scripts: Mapping[str, Script],
) -> list[tuple[str, Value]]:
    place = launch.words[0].place
    reading = ShellReading((), "")
    host_lists.say(workload, launch, layer, known_here, draft)
    for option in layer.options:
        if option.name not in ("x", "wdir"):
            lines = lines_of(launch, option.written)
            whole = Option(option.name, _joined(option.value), option.written)
            mpi.put_options(reading, stand_in(lines), Layer(layer.program, (whole,)), draft)
    exports = []
    for option in layer.all("x"):
        by_trial = _of_the_trial(option, trials)
        if by_trial is not None and by_trial[0] == trials.seed:
            why = "`trials` sets it, another one for each trial"
            draft.say("replaced", lines_of(launch, option.written), option.written, why=why)
            continue
        if by_trial is not None:
            exports.append(by_trial)
            became = f"command: export {by_trial[0]}={shown(by_trial[1])}"
            why = f"each rank has the number of the trial in {TRIAL}"
            draft.say("carried", lines_of(launch, option.written), option.written, became=became, why=why)
            continue
        assigned, its = _assigned(option, launch)
        made = None if workload.starter.container.get("envFrom") else _of_the_image(assigned, known_here)
        if made is None:
            _carried(option, launch, known_here, draft, _of_more(workload, launch, scripts))
        else:
            exports.append(made)
            why = "the launcher's shell put in what its image has, and each rank puts in what its own has"
            became = f"command: export {made[0]}={shown(made[1])}"
            places = (*lines_of(launch, option.written), *its)
            draft.say("carried", places, option.written, became=became, why=why)
    if layer.program == "mpirun" and workload.mpi in ("intel", "mpich"):
        _kind(workload, (place,), draft)
    elif layer.program == "horovodrun" and layer.option("gloo") is not None:
        why = "horovodrun --gloo tells each process of the others by HOROVOD_*, which nobody does here"
        todo = "use Horovod's MPI: an image with it needs no other change"
        draft.say("left", lines_of(launch, "--gloo"), "horovodrun --gloo", why=why, todo=todo)
    else:
        mpi.put_kind(stand_in((place,)), layer, _library(workload, layer), draft)
    if workload.mpi in ("intel", "mpich"):
        fields = [
            field
            for key in ("mpiImplementation", "mpiDistribution")
            if (field := workload.root.get("spec", key)) is not None
        ]
        what = "mpiImplementation"
        draft.put(("container", "mpi"), workload.mpi, [field.at for field in fields] or [place], what)
    return exports


def _of_the_trial(option: Option, trials: Trials) -> tuple[str, Value] | None:
    """NAME and VALUE of -x NAME=VALUE, where the number of the trial makes the value, or is its seed."""
    head, *rest = option.value or ("",)
    name, equals, text = head.partition("=") if isinstance(head, str) else ("", "", "")
    if not equals or not rest:
        return None
    value = join([text, *rest])
    names = {part.name for part in value if isinstance(part, Unknown)}
    if name == trials.seed or (names and all(map(trials.stand_ins.get, names))):
        return name, value
    return None


def _assigned(option: Option, launch: Launch) -> tuple[Option, tuple[Place, ...]]:
    """-x NAME of a variable that the launcher's shell has set itself as -x NAME=VALUE, and the line of that;
    any other option as it is."""
    name, shell, place = known(option.value or ()), launch.shell, launch.shell_place
    if shell is None or place is None:
        return option, ()
    for own, value, line in shell.untold:
        if own == name and value:
            return Option("x", join([f"{name}=", *value]), option.written), (line_in(place, line),)
    return option, ()


def _of_the_image(option: Option, known_here: Mapping[str, Variable | None]) -> tuple[str, Value] | None:
    """LD_LIBRARY_PATH=/more:$LD_LIBRARY_PATH, where no line tells what it was: the image does."""
    head, *rest = option.value or ("",)
    name, equals, text = head.partition("=") if isinstance(head, str) else ("", "", "")
    value = join([text, *rest])
    names = {part.name for part in value if isinstance(part, Unknown) and part.kind == "variable"}
    if not equals or len(value) == 1 or names != {name} or name in known_here:
        return None
    if any(isinstance(part, Unknown) and part.kind != "variable" for part in value):
        return None
    return name, join([part if isinstance(part, str) else Unknown("variable", name) for part in value])


def _joined(value: Value | None) -> Value | None:
    """KEY=VALUE of two words in one piece."""
    return None if value is None else join(list(value))


def _library(workload: Workload, layer: Layer) -> mpi_library.Library | None:
    """An MPIJob's is Open MPI's where it names no other (its mpiImplementation)."""
    if workload.kind.startswith("MPIJob"):
        return mpi_library.Library(mpi_library.OPEN_MPI, workload.kind)
    return mpi_library.by_options(layer)


def _kind(workload: Workload, places: Sequence[Place], draft: Draft) -> None:
    hydra = workload.mpi in ("intel", "mpich")
    why = (
        "MPICH and Intel MPI find each other through PMI-2" if hydra else "ranks find each other through PMIx"
    )
    draft.put(("mpi",), "pmi2" if hydra else "pmix", places, workload.kind, why=why)


def _of_more(workload: Workload, launch: Launch, scripts: Mapping[str, Script]) -> str:
    """The statement that may give the launcher's shell more variables, where no rank's does it too."""
    return "" if prepared.numbers(workload, launch) else sourced.unread(launch, scripts)


def _carried(
    option: Option, launch: Launch, known_here: Mapping[str, Variable | None], draft: Draft, more: str = ""
) -> None:
    """-x NAME and -x NAME=VALUE. `more` is what may have given the launcher's shell other variables."""
    places = lines_of(launch, option.written)
    name, of = _of_a_variable(option)
    secret = known_here.get(of)
    if name != of and secret is not None and secret.source == "secret":
        environment.put_secret(name, of, places, draft)
        return
    text = known(option.value or ())
    of_shell = {untold for untold, _, _ in launch.shell.untold} if launch.shell is not None else set()
    if text is None and name == of and (name in known_here or name in of_shell):
        text = name
    if text is None:
        name, equals, _ = shown(option.value or ()).partition("=")
        if equals and name.isidentifier():
            draft.ask(("env", name), f"the value of {name}", places, option.written)
        else:
            draft.say("unread", places, option.written, why="its name is not told")
        return
    name, equals, value = text.partition("=")
    if equals:
        environment.put({name: Variable(name, value, places[0], more=places[1:])}, draft)
        return
    for each in filter(None, text.split(",")):
        if each in known_here:
            variable = known_here[each]
            key = "secrets" if variable is not None and variable.source == "secret" else f"env.{each}"
            draft.say("carried", places, f"-x {each}", became=key, key=key)
        elif each in of_shell and each in rendezvous.COMPUTED:
            draft.put(("rendezvous",), "torch", places, f"-x {each}", why=rendezvous.SETS_ALL)
        elif each in of_shell:
            question = f"the value of {each}: the launcher's shell makes it, of what is known only there"
            draft.ask(("env", each), question, places, f"-x {each}")
        elif owner(each) == "image" or each == "HOME":
            draft.say("replaced", places, f"-x {each}", why="each rank has its image's own")
        elif ("env", each) in draft.facts:
            continue  # a file that is given makes it, and it is asked for
        elif more:
            why = f"{more} may give it a value, and its text is not read: else it is the image's"
            todo = f"see whether it does; where it does write env.{each}, or give the file that it names too"
            draft.say("question", places, f"-x {each}", why=why, todo=todo)
        else:
            why = "the manifest gives it no value: it is the image's, which each rank has"
            draft.say("replaced", places, f"-x {each}", why=why)


def _between(launch: Launch, draft: Draft) -> None:
    """numactl, env, timeout and the like, between launchers and the program or around it."""
    for layer in launch.outer:
        if layer.program in (*MPI, *PER_GPU):
            continue
        if layer.program == "env":
            for word in layer.words:
                name, equals, value = (known(word) or "").partition("=")
                places = lines_of(launch, known(word) or "")
                if equals:
                    environment.put({name: Variable(name, value, places[0], more=places[1:])}, draft)
            continue
        parts = [layer.program, *(option.written for option in layer.options), *map(shown, layer.words)]
        draft.say(
            "left",
            launch.places,
            " ".join(parts),
            why="hpclaunch binds each rank to the cores and memory beside its GPU"
            if layer.program in BINDERS
            else "it stood around the program, and the command has it no more",
            todo="say another binding with bind.cpus and bind.memory"
            if layer.program in BINDERS
            else "put it in front of the command, if it is needed",
        )
