"""Programs that only change how another one is started: env, timeout, nohup, sudo, time, nice, stdbuf,
setsid, ionice, unbuffer, logsave, sshpass.

Options are those of GNU coreutils 9.5 (env, timeout, nohup, nice, stdbuf), of sudo(8) 1.9.15, of GNU
time 1.9, of sshpass(1) 1.09, of setsid(1) and ionice(1) of util-linux 2.40, of unbuffer(1) of Expect 5.45
and of logsave(8) of e2fsprogs 1.47.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from hpclaunch.convert.programs.flags import Table, leading, table, take
from hpclaunch.convert.programs.layers import Layer, Option, layers, may_be_many
from hpclaunch.convert.programs.profilers import PROFILERS
from hpclaunch.readback.shell.values import Unknown, Value, base_name, join, known, program_of, shown

_TABLES: dict[str, Table] = {
    "env": table(
        (
            (1, "unset=u chdir=C split-string=S argv0=a"),
            (0, "ignore-environment=i null=0 debug=v"),
        )
    ),
    "timeout": table(((1, "kill-after=k signal=s"), (0, "preserve-status=p foreground=f verbose=v"))),
    "nohup": table(()),
    "sudo": table(
        (
            (1, "user=u group=g host=h prompt=p close-from=C role=r type=t command-timeout=T other-user=U"),
            (1, "chdir=D chroot=R"),
            (0, "askpass=A background=b edit=e set-home=H login=i reset-timestamp=k remove-timestamp=K"),
            (0, "list=l non-interactive=n preserve-groups=P stdin=S shell=s validate=v no-update=N"),
            (0, "preserve-env=E"),
        )
    ),
    "time": table(((1, "format=f output=o"), (0, "portability=p verbose=v append=a quiet=q"))),
    "nice": table(((1, "adjustment=n"),)),
    "sshpass": table(((1, "file=f fd=d password=p prompt=P"), (0, "env=e verbose=v"))),
    "setsid": table(((0, "ctty=c fork=f wait=w"),)),
    "ionice": table(((1, "class=c classdata=n pid=p pgid=P uid=u"), (0, "ignore=t"))),
    "unbuffer": table(((0, "p"),)),
    "logsave": table(((0, "a s v"),)),
    "stdbuf": table(((1, "input=i output=o error=e"),)),
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# They go on with the environment that they have.
IN_FRONT = (_TABLES.keys() - {"sudo", "sshpass"}) | PROFILERS
_OF_STARTERS = re.compile(r"_?SLURM_|PYXIS_")  # variables that are options of srun and of its plugins
_Pairs = tuple[tuple[str, Value], ...]
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_OF_FILE = re.compile(r"\$\(\s*(?:<|(?:cat|grep|sed|awk|xargs)\b)")
_NICENESS = re.compile(r"-[0-9]+")


def _no_options(value: Value, after: Sequence[Value]) -> bool:
    return False


def _is_of_file(word: Value) -> bool:
    """Whether it is what a file has, which behind NAME=VALUE are further ones, and no program."""
    part = word[0] if may_be_many(word) else ""
    return isinstance(part, Unknown) and part.kind == "output" and bool(_OF_FILE.match(part.name))


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The program's options, and what it starts. Its own words are the NAME=VALUE of env and sudo, the
    duration of timeout, and the log of logsave."""
    program = program_of(words)
    rest = list(words[1:])
    own: list[Value] = []
    if program == "nice" and rest and _NICENESS.fullmatch(known(rest[0]) or ""):
        own.append(rest.pop(0))
    # An unknown word behind timeout is its duration, and no options.
    own_options = _no_options if program == "timeout" else (lambda value, after: may_be_many(value))
    options, rest = take(rest, _TABLES[program], clusters=program != "nohup", own=own_options)
    if program == "env" and rest and known(rest[0]) == "-":
        rest.pop(0)
        options.append(take([("--ignore-environment",)], _TABLES["env"])[0][0])
    if program == "env":
        rest = [*_split([each.value for each in options if each.name == "split-string"]), *rest]
    if program in ("env", "sudo"):
        while rest and _ASSIGNMENT.match(leading(rest[0])):
            own.append(rest.pop(0))
            if program == "env" and len(rest) > 1 and _is_of_file(rest[0]):
                options.append(Option("", rest[0], shown(rest.pop(0))))
    elif program == "logsave" and rest:
        own.append(rest.pop(0))
    elif program == "timeout" and rest:
        own.append(rest.pop(0))
        while rest and known(own[-1]) is None and _DURATION.fullmatch(known(rest[0]) or ""):
            own.append(rest.pop(0))  # behind options after all
    return Layer(program, tuple(options), tuple(own)), rest


def by_env(its: Sequence[Layer], exported: Iterable[tuple[str, Value]]) -> tuple[dict[str, Value], set[str]]:
    """What env in front of another program gives it, NAME=VALUE, and which of the exported variables it takes
    away: env -u NAME srun ..., env -i srun ..."""
    names = {name for name, _ in exported}
    given: dict[str, Value] = {}
    removed: set[str] = set()
    for layer in its:
        if layer.program not in IN_FRONT:
            break
        if layer.program != "env":
            continue
        gone = {known(each.value or ()) or "" for each in layer.all("unset")}
        if layer.option("ignore-environment"):
            gone = {*names, *given}
        given = {name: value for name, value in given.items() if name not in gone}
        removed |= gone & names
        for word in layer.words:
            name, equals, text = word[0].partition("=") if isinstance(word[0], str) else ("", "", "")
            if equals:
                given[name] = join([text, *word[1:]])
    return given, removed - given.keys()


def behind_env(words: Sequence[Value], exported: _Pairs, prefix: _Pairs) -> tuple[_Pairs, _Pairs]:
    """What is exported to the program behind env, and what stands in front of it, as without env: what env
    gives stands there. Of what it takes away only options of srun and Pyxis are gone: that others do not
    reach the ranks is said."""
    if not any(base_name(word) == "env" for word in words):
        return exported, prefix
    its = layers(words)
    # What is exported may be much, and most of env takes nothing of it away.
    takes = any(each.option("unset") or each.option("ignore-environment") for each in its)
    given, removed = by_env(its, (*exported, *prefix) if takes else ())
    gone = {name for name in removed if _OF_STARTERS.match(name)}
    kept = tuple(pair for pair in exported if pair[0] not in gone) if gone else exported
    return kept, tuple(pair for pair in {**dict(prefix), **given}.items() if pair[0] not in gone)


def takes_away(layer: Layer) -> bool:
    """Whether it hands on nothing that is exported (sudoers(5): env_reset is on by default)."""
    return layer.program == "sudo" and layer.option("preserve-env") is None


def of_env(its: Sequence[Layer]) -> Iterator[str]:
    """Words of such an env that may be any variables: env $(cat FILE) srun ..."""
    for layer in takewhile(lambda each: each.program in IN_FRONT, its):
        for option in layer.options if layer.program == "env" else ():
            if not option.name and known(option.value or ()) is None:
                yield option.written


def _split(texts: Sequence[Value | None]) -> list[Value]:
    """The words of env's -S, which knows quotes; all as they are where they are not known or have \\ or $."""
    text = known(texts[-1] or ()) if texts else ""
    if not text or re.search(r"[\\$#]", text):
        return [each for each in texts if each]
    try:
        return [(word,) if word else () for word in shlex.split(text)]
    except ValueError:
        return [(text,)]
