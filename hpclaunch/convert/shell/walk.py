"""The inputs as the operator would use them: the configurations are sourced in their order, then the script
runs. Nothing runs here: `Walker` notes the commands, and the values that variables are given."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from hpclaunch.convert.programs.names import SHELLS, interpreter
from hpclaunch.convert.programs.slurm_variables import NAMES
from hpclaunch.convert.reading import Assigned, Command, Directive, ShellReading, Source, Started
from hpclaunch.convert.shell import aliases, folder, itself, shopt, traps
from hpclaunch.convert.shell.choose import chosen, of_other_jobs
from hpclaunch.convert.shell.directives import of_job
from hpclaunch.convert.shell.names import python, with_names
from hpclaunch.convert.shell.skipped import leave_out
from hpclaunch.convert.shell.started import as_inside, begin, starts
from hpclaunch.convert.shell.walker import Walker
from hpclaunch.readback.shell import inside, outside
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.positional import handed_on
from hpclaunch.readback.shell.state import Variable
from hpclaunch.readback.shell.values import Part, Unknown, Value, known, program_of
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError, Problem

# Variables of which something is known, or that others than the operator set.
Parts = tuple[tuple[str, Part], ...]
_Pairs = tuple[tuple[str, Value], ...]
_OF_NODE = ("HOSTNAME", "SLURMD_NODENAME")  # variables that each node has of its own


def read(
    sources: Sequence[Source],
    environment: Mapping[str, str],
    script: str | None = None,
    parts: Parts = (),
    arguments: Sequence[str] | None = None,
    most: int | None = None,
    words: tuple[Value, ...] | None = None,
) -> ShellReading:
    """Walk the sources. `environment` is what the operator exported beside them, and `script` the name of the
    source that is submitted or run; None: the one that has #SBATCH lines or starts something. `parts` are
    variables of which something is known, and `arguments` what stood behind the script's name, None where
    nobody said it: what another source that starts the script has there counts then, or `words`, of which
    some may not be told. Where another source starts the script and has a use for arguments they are its
    own: it is what the operator called. With more commands than `most`, but for those of the shell, or more
    variables the walk is over: what was found is no launcher and has no statements.

    A source that another one sources is walked there, and not before. Raises InputError with file and line
    for a text that no shell would take. A script that submits itself is walked as it behaves in its job.
    """
    given = _Given(environment, parts, arguments, most, words)
    found = _read(sources, script, given)
    if not itself.may_submit(found):
        return found
    outside_job = _read(sources, script, given, in_job=False)
    own = itself.submissions(outside_job, found)
    if not own:
        return found
    return _read(sources, script, given, submitted=own)


class _Given(Struct, frozen=True):
    """What the operator gave: see `read`."""

    environment: Mapping[str, str]
    parts: Parts
    arguments: Sequence[str] | None
    most: int | None
    words: tuple[Value, ...] | None


def _read(
    sources: Sequence[Source],
    script: str | None,
    given: _Given,
    *,
    in_job: bool = True,
    submitted: Sequence[tuple[Command, Started]] = (),
    run: Collection[str] = (),
    required: Collection[str] = (),
    called: str = "",
) -> ShellReading:
    """`in_job`: as a job of Slurm has its variables; `submitted`: by these commands of its own. `run` are
    sources that the script runs, and that are no configurations, and `required` variables without which it
    ends. `called` is the source that has the arguments, "" for the script itself."""
    again = partial(_read, sources, script, given, in_job=in_job, submitted=submitted)
    main = chosen(sources) if script is None else script
    walker = _walker(sources, given, required=required, in_job=in_job)
    several = sources if len(sources) > 1 else ()
    sourced = {name for source in several for name in walker.files.sourced_by(source.name)}.union(run)
    others = sourced | of_other_jobs(sources, main)
    configurations = [source.name for source in sources if source.name != main and source.name not in others]
    complete = [_configured(walker, name, given, called) for name in configurations]
    asked = tuple(walker.asked)
    begun = _begun(walker, main, given, submitted, called)
    caller = _caller(begun, asked, given)
    if caller and not called:
        return again(run=run, required=required, called=caller)
    for name in () if begun or called else _perhaps_callers(asked, given):
        found = again(run=run, required=required, called=name)
        if found.started:
            return found
    told = of_job(sources, main, begun)
    folder.began(walker, told, given.environment)
    if main and all(complete):
        _walked(walker, main)
    at_end = walker.environment()
    traps.at_end(walker)
    followed = {*walker.followed.values()} - {""}
    if not followed.isdisjoint(configurations):
        return again(run=followed.union(run))
    if walker.late and not required:
        return again(run=run, required=walker.late)
    for source in sources:
        if source.name != main and source.name in sourced - walker.seen:
            _walked(walker, source.name)
    before = asked if called else ()
    return _reading(walker, given, sources, main, directives=told, begun=begun, asked=before, at_end=at_end)


def _reading(
    walker: Walker,
    given: _Given,
    sources: Sequence[Source],
    script: str,
    *,
    directives: tuple[Directive, ...],
    begun: tuple[Started, ...],
    asked: Sequence[Place],
    at_end: tuple[tuple[str, Value], ...],
) -> ShellReading:
    """What the walk has found. `asked` is where arguments were asked for in front of the script, and `at_end`
    what was exported when it ended."""
    return ShellReading(
        tuple(sources),
        script,
        directives,
        tuple(walker.commands),
        tuple(walker.assigned),
        tuple(walker.assumed),
        {name: tuple(places) for name, places in walker.wanted.items()},
        tuple(walker.sourced),
        () if walker.has_enough() else tuple(walker.statements()),
        tuple(dict.fromkeys(walker.unclear)),
        subshells=tuple(dict.fromkeys(walker.subshells)),
        arguments=None if given.arguments is None else tuple(given.arguments),
        asks=(*asked, *walker.asked),
        started=begun,
        followed=tuple(walker.followed),
        setters=tuple(walker.setters),
        handed=dict(walker.handed),
        passed=dict(walker.passed),
        perhaps_exported=frozenset(walker.state.perhaps_exported),
        at_end=at_end,
        required=frozenset(walker.required),
        taken=dict(walker.taken),
    )


def _walker(sources: Sequence[Source], given: _Given, *, required: Collection[str], in_job: bool) -> Walker:
    """Before the first line: with what the operator gave, and with Slurm's variables where it is a job."""
    walker = Walker(sources)
    walker.most = given.most
    for source in sources:
        _parse(walker, source.name)
    walker.wanted.update({name: {} for name in required})
    walker.required.update(required)
    for name in () if in_job else NAMES:
        walker.state.set(name, Variable(None))
    _give(walker, given.environment)
    folder.submitted(walker, given.environment)
    for name, part in given.parts:
        walker.state.set(name, Variable((part,)))
    walker.given = len(given.parts)
    return walker


def _configured(walker: Walker, name: str, given: _Given, called: str) -> bool:
    """Walk a source in front of the script, with the operator's arguments where it is the one `called`. False
    where all of it is too much."""
    if name != called:
        return _walked(walker, name)
    walker.state.arguments = _arguments(given)
    complete = _walked(walker, name)
    walker.state.arguments = None
    return complete


def _caller(begun: Sequence[Started], asked: Sequence[Place], given: _Given) -> str:
    """The one source that starts the script and that the operator's arguments are for, "" for none."""
    files = {each.place.file for each in begun}.intersection(each.file for each in asked)
    return files.pop() if given.arguments is not None and len(files) == 1 else ""


def _perhaps_callers(asked: Sequence[Place], given: _Given) -> tuple[str, ...]:
    """The sources that may start the script with the operator's arguments alone: without them they end before
    that, or go another way."""
    return tuple(dict.fromkeys(each.file for each in asked)) if given.arguments is not None else ()


def _arguments(given: _Given) -> tuple[Value, ...]:
    return tuple((inside(each),) if each else () for each in given.arguments or ())


def _begun(
    walker: Walker,
    main: str,
    given: _Given,
    submitted: Sequence[tuple[Command, Started]],
    called: str,
) -> tuple[Started, ...]:
    """Behind the configurations the script begins, with its own arguments: by what it is started."""
    environment, arguments = given.environment, None if called else given.arguments
    _give(walker, {name: text for name, text in environment.items() if _changed(walker, name, text)})
    walker.state.be_another()
    walker.options.clear()
    if main and aliases.are_expanded(walker.files.text(main)):
        walker.options.add(shopt.ALIASES)
    if main and interpreter(walker.files.text(main)) in shopt.HERE_BY_ITSELF:
        walker.options.add(shopt.LAST_HERE)
    walker.asked.clear()
    begun = tuple(each for _, each in submitted) or (starts(walker, main) if main else ())
    begin(walker, begun)
    walker.commands += [each for each, _ in submitted]
    # What starts the script gives it words of its own, and the operator's are for that.
    if arguments is not None and not walker.state.arguments:
        walker.state.arguments = _arguments(given)
    elif given.words is not None:
        walker.state.arguments = handed_on(tuple(map(as_inside, given.words)), None)
    walker.script = main
    return begun


def inner(command: Command, words: Sequence[Value] | None = None) -> tuple[Command, ...]:
    """The commands of `bash -c TEXT` (or of a shell that reads a here-document): `words` are its words where
    it stands within the command's. What the script itself had put into the text is there; other variables
    have the values that are exported to the command. All have the command's place. Nothing for a text that
    is no script, or any other command."""
    words = command.words if words is None else words
    walker = _inside(command, words)
    if walker is None:
        return ()
    its = _placed(walker, command)
    return tuple(its if program_of(command.words) in SHELLS else _elsewhere(its, command, words))


def _elsewhere(its: Iterator[Command], command: Command, words: Sequence[Value]) -> Iterator[Command]:
    """The commands, where what their own shell finds out of its node is marked: no other node has that."""
    given = [*words, command.stdin or (), *(value for _, value in (*command.environment, *command.prefix))]
    known_here = {part.name for value in given for part in value if isinstance(part, Unknown)}

    def marked(value: Value) -> Value:
        return tuple(
            structs.replace(part, there=True)
            if isinstance(part, Unknown)
            and part.name not in known_here
            and (part.kind == "output" or part.name in _OF_NODE)
            else part
            for part in value
        )

    def marked_pairs(pairs: _Pairs) -> _Pairs:
        return tuple((name, marked(value)) for name, value in pairs)

    for each in its:
        yield structs.replace(
            each,
            words=tuple(map(marked, each.words)),
            environment=marked_pairs(each.environment),
            prefix=marked_pairs(each.prefix),
        )


def _placed(walker: Walker, command: Command) -> Iterator[Command]:
    """The commands, as those of another one that starts them."""
    for each in walker.commands:
        yield structs.replace(
            each,
            place=command.place,
            loops=(*command.loops, *each.loops),
            conditions=(*command.conditions, *each.conditions),
            function=command.function,
            unnoticed=command.unnoticed or each.unnoticed,
            background=command.background or each.background,
            uses=tuple(dict.fromkeys((*each.uses, *command.uses))),
        )


def wanted_inside(command: Command, words: Sequence[Value]) -> tuple[str, ...]:
    """The variables that such a text asks for, and that are neither exported to the command nor given a value
    there."""
    walker = _inside(command, words)
    return () if walker is None else tuple(walker.wanted)


def _inside(command: Command, words: Sequence[Value]) -> Walker | None:
    """The walk through the text that a shell is given with these words."""
    text = _text(words, command.stdin)
    if text is None:
        return None
    walker = Walker([Source(command.place.file, "")])
    script, unknown = with_names(as_inside(text))
    exported = {**dict(command.environment), **dict(command.prefix)}
    for name, value in exported.items():
        walker.state.set(name, Variable(as_inside(value), exported=True))
    for name, part in unknown.items():
        walker.state.set(name, Variable((part,)))
    walker.unnamed |= unknown
    try:
        walker.run(walker.parsed(script))
        traps.at_end(walker)
    except (ScriptError, RecursionError):
        return None
    return walker


def _text(words: Sequence[Value], stdin: Value | None) -> Value | None:
    if not words or (known(words[0]) or "").rpartition("/")[2] not in SHELLS:
        return None
    rest = list(words[1:])
    while rest:
        option = known(rest.pop(0))
        if option is None or not option.startswith(("-", "+")):
            return None  # a script
        if option in ("-s", "-"):
            break
        if "c" in option and not option.startswith("--"):
            return rest[0] if rest else None
        if option.endswith("o") and rest:
            rest.pop(0)
    return stdin


def _give(walker: Walker, environment: Mapping[str, str]) -> None:
    for name, text in environment.items():
        value: Value = (inside(text),) if text else ()
        walker.state.set(name, Variable(value, exported=True))
        walker.assigned.append(Assigned(name, python(value), Place(f"--env {name}"), exported=True))


def _changed(walker: Walker, name: str, text: str) -> bool:
    variable = walker.state.get(name)
    value = (inside(text),) if text else ()
    return variable is None or variable.value != value or not variable.exported


def _parse(walker: Walker, name: str) -> None:
    try:
        walker.parse(name)
    except ScriptError as error:
        raise _refused(walker, name, error) from None


def _walked(walker: Walker, name: str) -> bool:
    """Walk it, without lines that are too much; False where all is too much."""
    state = walker.state
    number: int | None = 0
    while number is not None and not walker.has_enough():
        try:
            walker.walk_from(name, number)
            return True
        except ScriptError as error:
            why = outside(error.message)
        except RecursionError:
            why = "commands within commands, too deep"
        number = leave_out(walker, name, why, state)
    return False


def _refused(walker: Walker, name: str, error: ScriptError) -> InputError:
    line = walker.files.place(error.line).line if error.line else 0
    return InputError([Problem(outside(error.message), where=f"{name}:{line}" if line else name)])
