"""The options of sbatch and srun as getopt_long reads them: long ones, also cut short, and single letters.

Names, letters and which of them take a value are those of Slurm 20.11 to 26.05 (src/common/slurm_opt.c)
and of Pyxis (args.c). --environment is of CSCS's Container Engine, --uenv and --view are of its uenv plugin
(docs.cscs.ch).
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.readback.shell.values import Unknown, Value, known, shown

_WITH_VALUE = """
accel-bind account acctg-freq array batch bb bbf bcast-exclude begin chdir cluster-constraint cluster
clusters comment constraint container container-id container-type context core-spec cores-per-socket
cpu-bind cpu_bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution epilog
error exclude export export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node
gpus-per-socket gpus-per-task gres gres-flags het-group hint ignore-signals input job-name jobid
kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem_bind mem-per-cpu mem-per-gpu
mem-update mincpus mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu
ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output pack-group partition power prefer
priority profile prolog qos relative reservation resources segment signal slurmd-debug sockets-per-node
switches task-epilog task-prolog tasks-per-node thread-spec threads threads-per-core time time-min tmp
treewidth tres-bind tres-per-task uid wait-all-nodes wckey wrap container-image container-mounts
container-workdir container-name container-save container-env container-unshare
environment uenv view
"""
_PERHAPS_WITH_VALUE = """
bcast compress exclusive external-launcher get-user-env immediate nice no-kill oom-kill-step overlap propagate
pty requeue resv-ports send-libs x11
"""
_WITHOUT_VALUE = """
async bell consolidate-segments contiguous debugger-test disable-status exact external help
hold ignore-pbs interactive label multi-prog no-allocate no-bell no-requeue no-shell overcommit
oversubscribe share parsable preserve-env quiet quit-on-interrupt reboot spread-job spread-segments stepmgr
test-only unbuffered use-min-nodes usage verbose version wait-for-children whole container-mount-home
no-container-mount-home container-remap-root no-container-remap-root container-entrypoint
no-container-entrypoint container-entrypoint-log container-writable container-readonly
"""
_LETTERS = """
A:account B:extra-node-info C:constraint D:chdir E:preserve-env F:nodefile G:gpus H:hold I:immediate
J:job-name L:licenses M:clusters N:nodes O:overcommit Q:quiet S:core-spec T:threads V:version
X:disable-status Z:no-allocate a:array b:begin c:cpus-per-task d:dependency e:error h:help i:input k:no-kill
l:label m:distribution n:ntasks o:output p:partition q:qos r:relative s:oversubscribe t:time u:unbuffered
v:verbose w:nodelist x:exclude K:kill-on-bad-exit W:wait
"""
_SAME = {
    "cpu_bind": "cpu-bind",
    "mem_bind": "mem-bind",
    "tasks-per-node": "ntasks-per-node",
    "pack-group": "het-group",
    "share": "oversubscribe",
}
_TAKES = {
    **dict.fromkeys(_WITH_VALUE.split(), "yes"),
    **dict.fromkeys(_PERHAPS_WITH_VALUE.split(), "perhaps"),
    **dict.fromkeys(_WITHOUT_VALUE.split(), "no"),
}
_OF_COMMAND = {
    "sbatch": {"wait": "no"},
    "srun": {"wait": "yes", "kill-on-bad-exit": "perhaps"},
}
_TAKEN_BY = {command: {**_TAKES, **own} for command, own in _OF_COMMAND.items()}
# All that an option may begin with: a text of a megabyte may have tens of thousands of words that are none.
_STARTS = frozenset(
    name[:length]
    for name in (*_TAKES, *(name for own in _OF_COMMAND.values() for name in own))
    for length in range(1, len(name) + 1)
)
# Of those with a letter, which nobody writes with a text of letters right behind it.
_NO_TEXT = """
array begin cpus-per-task core-spec dependency distribution extra-node-info gpus input nodes ntasks
relative threads time wait
"""
_WITHOUT_TEXT = frozenset(_NO_TEXT.split())
# Variables that name a program, as of $LMP_EXE and ${app}.
_OF_PROGRAM = re.compile(
    r"(?:^|_)(?:exe|exec|executable|bin|binary|prog|program|app|application)$", re.IGNORECASE
)
_BY_LETTER = dict(pair.split(":") for pair in _LETTERS.split())


class Given(Struct, frozen=True):
    """An option by its whole name ("" for none that is known), its value (None: none given; of a word that is
    not known, that word), and its words as they stand."""

    name: str
    value: Value | None
    written: str


def options(command: str, words: Sequence[Value]) -> tuple[list[Given], list[Value]]:
    """The options in front of the first word that is none, and the words from there on. What follows an
    unknown option that has no = is taken for the next word, and a word of which nothing is known for options
    where another one may be the program."""
    takes = _TAKEN_BY[command]
    found: list[Given] = []
    unknown: list[tuple[int, int]] = []  # where such words are, in `found` and in `words`
    program: tuple[int, int] | None = None
    index = 0
    while index < len(words):
        word = words[index]
        start = word[0] if word else ""
        if _is_path(word):
            break
        if not isinstance(start, str):
            if len(word) == 1 and _OF_PROGRAM.search(getattr(start, "name", "")):
                break
            unknown.append((len(found), index))
            found.append(Given("", word, shown(word)))
            index += 1
            continue
        if known(word) == "--":
            return found, list(words[index + 1 :])
        if start == "-" or not start.startswith("-"):
            break
        following = words[index + 1] if index + 1 < len(words) else None
        given, used = (
            _long(takes, word, following) if start.startswith("--") else _short(takes, word, following)
        )
        if unknown and (given[-1] == Given("", None, shown(word)) or _is_of_program(word, given)):
            program = unknown[-1]  # what follows it is no option of the command's own
            break
        found += given
        index += used
    if index >= len(words) and unknown:
        # One of them is it: the last, but for "$@" behind the program's own variable.
        named = [each for each in unknown if not _is_all_arguments(words[each[1]])]
        program = (named or unknown)[-1]
    if program is not None and isinstance(words[program[1]][0], Unknown):
        before, index = program
        found = found[:before]
    return found, list(words[index:])


def _is_of_program(word: Value, given: Sequence[Given]) -> bool:
    """Whether it is rather an option of a program with one dash (-in, -deffnm, -ntomp) than letters of
    srun."""
    text = known(word) or ""
    return re.fullmatch(r"-[A-Za-z]{2,}", text) is not None and given[-1].name in _WITHOUT_TEXT


def _is_all_arguments(word: Value) -> bool:
    """Whether it is "$@" or $*, the words behind the script's name."""
    return len(word) == 1 and isinstance(word[0], Unknown) and word[0].name in ("@", "*")


def _is_path(word: Value) -> bool:
    """Whether it is the path of a program, of which the folder is not known: $HOME/bin/app, /opt/v*/app."""
    if not word or not isinstance(word[0], Unknown):
        return False
    if word[0].kind == "files":
        return word[0].name.startswith(("/", "./", "../"))
    behind = word[1] if len(word) > 1 else ""
    return isinstance(behind, str) and behind.startswith("/")


def _long(takes: dict[str, str], word: Value, following: Value | None) -> tuple[list[Given], int]:
    first = word[0]
    assert isinstance(first, str)
    name, equals, text = first[2:].partition("=")
    whole = name if name in takes else _completed(takes, name)
    value: Value | None = ((text, *word[1:]) if text else word[1:]) if equals else None
    if not whole or (not equals and len(word) > 1):
        return [Given("", value, shown(word))], 1
    if takes[whole] == "yes" and not equals:
        if following is None:
            return [Given("", None, shown(word))], 1
        return [Given(_SAME.get(whole, whole), following, f"{shown(word)} {shown(following)}")], 2
    if takes[whole] == "no" and equals:
        return [Given("", value, shown(word))], 1
    return [Given(_SAME.get(whole, whole), value, shown(word))], 1


def _completed(takes: dict[str, str], start: str) -> str:
    """The one option that begins so, or ""."""
    if start not in _STARTS:
        return ""
    names = {_SAME.get(name, name) for name in takes if name.startswith(start)}
    return names.pop() if len(names) == 1 else ""


def _short(takes: dict[str, str], word: Value, following: Value | None) -> tuple[list[Given], int]:
    """-N2, -N 2, or several letters without values."""
    first = word[0]
    assert isinstance(first, str)
    found: list[Given] = []
    for index, letter in enumerate(first[1:], 1):
        name = _BY_LETTER.get(letter, "")
        kind = takes.get(name, "")
        rest: Value = (first[index + 1 :], *word[1:]) if first[index + 1 :] else word[1:]
        if not kind:
            return [*found, Given("", None, shown(word))], 1
        if kind == "no":
            found.append(Given(name, None, f"-{letter}"))
            continue
        if rest or kind == "perhaps":
            return [*found, Given(name, rest or None, shown(word))], 1
        if following is None:
            return [*found, Given("", None, shown(word))], 1
        return [*found, Given(name, following, f"{shown(word)} {shown(following)}")], 2
    return found, 1
