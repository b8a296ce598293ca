"""What a script of hpclaunch's does beside starting its ranks once.

What a step is called and whether it may fail stand in the words of `run_step`, and what trials are in those
of `run_trial`. What they say is held against the srun that these functions come to, and the texts of the
shells that these start against hpclaunch's own: where the two differ it is said.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of, shown
from hpclaunch.readback.slurm.runs import (
    HOST,
    IMPORT,
    KEEP,
    RANK,
    STAGE_IN,
    Run,
    differs,
    is_own,
    run_of,
    variables_of,
)
from hpclaunch.values.names import TRIAL
from hpclaunch.values.steps import StageIn, Step, Trials

FUNCTIONS = frozenset({"run_step", "run_trial"})
# What run_trial runs for itself.
_OF_TRIALS = frozenset({"od", "tee", "mkdir", "sleep"})


class Beside(Struct, frozen=True):
    """`main` starts the ranks, and `others` are the calls that are not understood. `variables` are those that
    each trial sets; `images` are imported files with what they are imported from. With `one_container` the
    container is one for all steps, and removed in the end."""

    main: Call
    others: tuple[Call, ...]
    stage_in: tuple[StageIn, ...] = ()
    steps: tuple[Step, ...] = ()
    trials: Trials | None = None
    variables: tuple[str, ...] = ()
    images: tuple[tuple[str, str], ...] = ()
    one_container: bool = False
    unread: tuple[str, ...] = ()


def beside(calls: Sequence[Call]) -> Beside | None:
    """What the calls of a script tell, None where it does no more than to start ranks, or is no script of
    hpclaunch's."""
    runs = [run for call in calls if (run := run_of(call)) is not None]
    ours = {run.name for run in runs} & {HOST, STAGE_IN, IMPORT, KEEP}
    named = any(program_of(call.words) in FUNCTIONS for call in calls)
    if not any(run.name == RANK for run in runs) or not (ours or named):
        return None
    return _Reader(calls).read()


class _Reader:
    """Goes over the calls in their order."""

    def __init__(self, calls: Sequence[Call]):
        self._calls = calls
        self._unread: list[str] = []
        self._others: list[Call] = []
        self._steps: list[tuple[Call, Step, Run]] = []
        self._mains: list[Run] = []
        self._trials: list[Call] = []
        self._staged: list[StageIn] = []
        self._images: list[tuple[str, str]] = []
        self._kept: list[str] = []

    def read(self) -> Beside | None:
        asked: Call | None = None
        for call in self._calls:
            run = run_of(call)
            if program_of(call.words) == "run_step":
                self._unheard(asked)
                asked = call
            elif program_of(call.words) == "run_trial":
                self._trials.append(call)
            elif run is not None and asked is not None:
                self._step(asked, run)
                asked = None
            elif run is not None and self._other(run):
                continue
            elif not (self._trials and program_of(call.words) in _OF_TRIALS):
                self._others.append(call)
        self._unheard(asked)
        if not self._mains:
            return None
        main = self._mains[0]
        trials, variables = self._read_trials()
        for call, step, run in self._steps:
            why = differs(step, run, main, variables)
            if why:
                self._say(call, f"{step.title} does not run as it says: {why}")
        return Beside(
            main=main.call,
            others=tuple(self._others),
            stage_in=tuple(self._staged),
            steps=self._read_steps(),
            trials=trials,
            variables=variables,
            images=tuple(self._images),
            one_container=self._has_one_container(main),
            unread=tuple(self._unread),
        )

    def _say(self, call: Call, text: str) -> None:
        self._unread.append(f"line {call.line}: {outside(text)}")

    def _unheard(self, asked: Call | None) -> None:
        if asked is not None:
            self._say(asked, "run_step of which nothing comes")

    def _other(self, run: Run) -> bool:
        """Whether the run is one that needs no run_step, which is noted."""
        texts = run.texts()
        if run.name == RANK and run.options is not None:
            self._mains.append(run)
        elif run.name == STAGE_IN and len(texts) % 3 == 0:
            self._staged += [StageIn(texts[at], texts[at + 1]) for at in range(0, len(texts), 3)]
            sizes = {run.options.get(name) for name in ("nodes", "ntasks")} if run.options else set()
            if run.options is None or len(sizes) != 1 or run.options.get("ntasks-per-node") != "1":
                self._say(run.call, "stage_in is not once on each node")
        elif run.name == IMPORT and len(texts) == 2:
            self._images.append((texts[0], texts[1]))
        elif run.name == KEEP and len(run.words) == 5:
            self._kept.append(shown(run.words[4]))
        else:
            return False
        if run.name != RANK and not is_own(run):
            self._say(run.call, f"{run.name} is not hpclaunch's own text")
        if run.call.conditions:
            self._say(run.call, f"it runs only under a condition ({run.call.conditions[0]})")
        return True

    def _step(self, asked: Call, run: Run) -> None:
        texts = [known(word) for word in asked.words]
        title, must, per, where = (*texts[1:5], *[None] * 4)[:4]
        when = (title or "").partition(" ")[0]
        if (
            when not in ("setup", "before_each", "after")
            or must not in ("required", "optional")
            or per not in ("node", "job", "rank")
            or where not in ("container", "host")
            or None in texts
        ):
            self._say(asked, "run_step with words that are not understood")
            self._others.append(run.call)
            return
        argv = tuple(outside(text or "") for text in texts[5:])
        step = Step(when, outside(title or ""), argv, where, per, must == "optional")  # type: ignore[arg-type]
        turn = len(self._mains)
        last = turn and turn >= max(1, len(self._trials))
        if (when == "setup" and (turn or self._trials)) or (when == "after" and not last):
            self._say(asked, f"{step.title} is not in its turn")
        self._steps.append((asked, step, run))

    def _read_steps(self) -> tuple[Step, ...]:
        """Each once: those before each trial come again with it, and must be the same."""
        found: dict[str, list[Step]] = {}
        for _, step, _ in self._steps:
            found.setdefault(step.title, []).append(step)
        for call, step, _ in self._steps:
            times = len(self._mains) if step.when == "before_each" else 1
            if len(found[step.title]) != times or any(each != step for each in found[step.title]):
                self._say(call, f"{step.title} runs {len(found[step.title])} times")
                break
        order = ("setup", "before_each", "after")
        return tuple(sorted((each[0] for each in found.values()), key=lambda step: order.index(step.when)))

    def _has_one_container(self, main: Run) -> bool:
        name = (main.options or {}).get("container-name", "")
        if name and name not in self._kept:
            self._say(main.call, f"nothing removes the container {name}")
        return bool(name) and name in self._kept

    def _read_trials(self) -> tuple[Trials | None, tuple[str, ...]]:
        if not self._trials:
            return None, ()
        call = self._trials[0]
        count, policy, seed, start, first = (known(word) for word in (*call.words, *[()] * 5)[1:6])
        log = call.words[6] if len(call.words) == 7 else ("",)
        sound = (count or "").isdigit() and policy in ("stop", "keep_going") and start in ("first", "random")
        if not sound or seed is None or not (first or "").isdigit() or len(call.words) != 7:
            self._say(call, "run_trial with words that are not understood")
            return None, ()
        trials = Trials(
            count=int(count or 0),
            seed=seed,
            first_seed=int(first or 0) if start == "first" and seed else None,
            log=outside(known(log) or ""),
            keep_going=policy == "keep_going",
        )
        if known(log) is None and not any(
            isinstance(part, Unknown) and part.name.startswith("SLURM_JOB_ID") for part in log
        ):
            self._say(call, f"the log of the trials is {shown(log)}, which the text does not tell")
        variables = (TRIAL, *((seed,) if seed else ()))
        if len(self._mains) != trials.count or any(each.words != call.words for each in self._trials):
            self._say(call, f"run_trial says {count} trials, and {len(self._mains)} are run")
        for number, run in enumerate(self._mains, 1):
            given = variables_of(run)
            first_seed = trials.first_seed
            wanted: dict[str, str | None] = {TRIAL: str(number)}
            if seed:
                wanted[seed] = None if first_seed is None else str(first_seed + number - 1)
            if any(given.get(name) != text for name, text in wanted.items()):
                self._say(run.call, f"trial {number} does not get its own {' and '.join(variables)}")
        return trials, variables


def without(words: Sequence[Value], names: Sequence[str]) -> Iterator[Value]:
    """The words but for variables of these names, which are told apart by trial."""
    for word in words:
        first = word[0] if word else ""
        if not (isinstance(first, str) and "=" in first and first.partition("=")[0] in names):
            yield word
