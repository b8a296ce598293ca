"""The addresses by which processes of PyTorch find each other -> `rendezvous: torch`."""

import re
from collections.abc import Mapping, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import ports
from hpclaunch.convert.programs.names import GIVES_TEXT
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known, program_of, shown
from hpclaunch.values.conversion import Place

# What hpclaunch sets in each rank, by the names of a launcher's options. With one rank on each node the
# number of ranks is that of nodes.
_SET = {
    "nnodes": "WORLD_SIZE",
    "node_rank": "NODE_RANK",
    "master_addr": "MASTER_ADDR",
    "master_port": "MASTER_PORT",
}


_OPTION = re.compile(r"--(nnodes|node[-_]rank|master[-_]addr|master[-_]port)(?==|$)")


_FIRST_LINE = (
    r"(head +(-n *|-)1|sed +(-n +(?P<p>['\"]?)1p(?P=p)|(?P<q>['\"]?)1q(?P=q))"
    r"|awk +'NR *== *1( *\{ *print( \$[01])? *\})?')"
)
_FIRST_NODE = re.compile(
    rf"\$\( *(scontrol show hostnames? [^|]*\| *{_FIRST_LINE} *"
    r"|hostname( -[sfiI]| --(short|fqdn|ip-address))?( *\| *awk '\{ *print \$1 *\}')? *)\)$"
)


# The address of a node, asked of the node itself.
_OF_NODE = re.compile(
    r"\$\( *srun [^|;&]*?(?:-w|--nodelist)(?:=| *)\"?\$\{?(?P<name>\w+)(?P<first>\[0\])?\}?\"?[^|;&]*? "
    r"hostname( -[sfiI]| --(short|fqdn|ip-address))?"
    r"( *\| *(awk '\{ *print \$1 *\}'|cut -d ?' ' -f ?1|head (-n *|-)1))? *\)"
)
_HOSTS = re.compile(r"\$\( *scontrol show hostnames?\b[^|]*\)")


# The script's own node, which is the job's first (sbatch(1), bash(1)): a rank has its own there.
_OF_FIRST_NODE = ("SLURMD_NODENAME", "HOSTNAME")


# They differ from node to node, also where a script has a line for each.
_OF_THE_NODE = ("node_rank",)


_ONE = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|]+)"


_IN_TEXT = re.compile(
    rf"--(?P<option>nnodes|node[-_]rank|master[-_]addr|master[-_]port)(?P<by>=|\s+){_ONE}"
    rf"|(?<![\w$-])(?P<name>NODE_RANK|RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT)={_ONE}"
)


# What hpclaunch sets in each rank with `rendezvous: torch`.
COMPUTED = ("MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")
# Variables in which launchers carry the address of the first node. Ranks have none of them by that alone.
ADDRESSES = ("MASTER_IP", "MASTER_HOST", "MASTER_NODE", "MASTER", "HEAD_NODE", "HEAD_NODE_IP")


SETS_ALL = "hpclaunch sets MASTER_ADDR, MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE in each rank"


# A variable of the script has the name of that node, whatever for.
STANDS_IN = "the job's first node, as each rank has it then in MASTER_ADDR"


def is_used(draft: Draft) -> bool:
    """Whether something tells that the ranks find each other so, and not only the first node."""
    became = "rendezvous: torch"
    return any(each.became == became and each.why != STANDS_IN for each in draft.findings)


def in_command(name: str) -> str:
    """What to do where ranks need the first node's address by another name than hpclaunch's."""
    return f"write rendezvous: torch, and let the command begin with: export {name}=$MASTER_ADDR; ..."


def with_own_addresses(value: Value) -> Value | None:
    """A value such as " --nnodes=$N --node_rank=$h --master_addr=$IP" with what hpclaunch sets in each rank,
    where there is one on each node. None where it has no such option, or something else that is unknown."""
    text = "".join(part if isinstance(part, str) else "\0" for part in value)
    words = text.split()
    found: list[Part] = [" "] if text.startswith(" ") else []
    previous, options = "", 0
    for index, word in enumerate(words):
        found.append(" " if index else "")
        option = _OPTION.match(word)
        if option:
            name = option[1].replace("-", "_")
            options += 1
            previous = "" if "=" in word else name
            found += [f"{option[0]}=", _own(name)] if "=" in word else [word]
        elif previous:
            found.append(_own(previous))
            previous = ""
        elif "\0" in word:
            return None
        else:
            found.append(word)
    return join(found) if options else None


def first_node(
    reading: ShellReading, words: Sequence[Value], places: Sequence[Place], draft: Draft
) -> dict[str, str]:
    """What in the words tells the job's first node, where the script itself runs, and the port of the ranks'
    rendezvous there: MASTER_ADDR and MASTER_PORT by the texts of such commands and variables, which hpclaunch
    sets to that."""
    found = {
        part.name: "MASTER_ADDR"
        for word in words
        for part in word
        if isinstance(part, Unknown) and is_first_node(reading, part)
    }
    found |= dict.fromkeys(ports.of_words(words, found), ports.PORT)
    if found:
        draft.put(("rendezvous",), "torch", places, next(iter(found)), why=SETS_ALL)
    return found


def with_first_node(reading: ShellReading, value: Value) -> Value:
    """The value with MASTER_ADDR, as hpclaunch sets it, for what tells the job's first node."""
    return tuple(
        Unknown("variable", "MASTER_ADDR") if is_first_node(reading, part) else part for part in value
    )


def say_other_name(reading: ShellReading, name: str, places: Sequence[Place], draft: Draft) -> None:
    """Say of an address that is the first node's name with text around it, as of another network of the node,
    that ranks have the name alone."""
    for each in reading.given(name):
        beside = [part for part in each.value if isinstance(part, str)]
        nodes = [part for part in each.value if is_first_node(reading, part) or _is_itself(part, name)]
        if not "".join(beside).strip() or len(nodes) != 1 or len(beside) + 1 != len(each.value):
            continue
        own = "".join(part if isinstance(part, str) else "${MASTER_ADDR}" for part in each.value)
        why = "hpclaunch sets MASTER_ADDR to the first node's name alone, and here it has text around it"
        if each.conditions:
            why += ", on a condition"
        todo = f"where the ranks are to meet at that begin the command with: export {name}={own}; ..."
        draft.say("left", (each.place, *places), f"{name}={shown(each.value)}", why=why, todo=todo)


def _is_itself(part: Part, name: str) -> bool:
    return isinstance(part, Unknown) and part.kind in ("variable", "either") and part.name == name


def is_first_node(reading: ShellReading, part: Part) -> bool:
    """Whether it tells the job's first node, where the script itself runs."""
    if not isinstance(part, Unknown) or part.there:
        return False
    if part.kind == "output":
        return _FIRST_NODE.match(part.name) is not None or _is_asked_of_it(reading, part.name)
    return part.kind == "variable" and part.name in _OF_FIRST_NODE


def _is_asked_of_it(reading: ShellReading, written: str) -> bool:
    """Whether it is what the first node itself says of its name or address."""
    asked = _OF_NODE.fullmatch(written)
    host = reading.last(asked["name"]) if asked else None
    if asked is None or host is None or len(host.value) != 1:
        return False
    part = host.value[0]
    if asked["first"]:
        return isinstance(part, Unknown) and _HOSTS.fullmatch(part.name) is not None
    return is_first_node(reading, part)


def is_said(command: Command, words: Sequence[Value], draft: Draft) -> bool:
    """Whether a command asks a node for its name or address, which ranks have of hpclaunch; that is said."""
    asks = command.within == "output" and program_of(words) == "hostname"
    if asks and ("rendezvous",) in draft.facts:
        draft.say("replaced", (command.place,), command.brief(), why=SETS_ALL)
        return True
    return False


def of_ranks_alone(draft: Draft) -> None:
    """Take what hpclaunch sets in each rank from what ranks inherit."""
    fact = draft.facts.get(("rendezvous",))
    if fact is not None and fact.value == "torch":
        for each in draft.drop_values("inherit", COMPUTED):
            draft.say("replaced", each.places, str(each.value), why=SETS_ALL)


def local_rank() -> Value:
    """The argument by which torch.distributed.launch tells a process its local rank."""
    return ("--local_rank=", Unknown("variable", "LOCAL_RANK"))


def without_addresses(text: str) -> str:
    """A command without what tells a node its number and the first node's address."""
    return " ".join(_IN_TEXT.sub("", text).split())


def own_addresses(words: Sequence[Value]) -> list[Value]:
    """The words of a command with --node_rank, --nnodes, --master_addr and --master_port, and NODE_RANK=1 and
    its like in the text of `bash -c`, as hpclaunch sets them in each rank."""
    found: list[Value] = []
    previous = ""
    for index, word in enumerate(words):
        text = word[0] if word and isinstance(word[0], str) else ""
        option = _OPTION.match(text)
        if index and GIVES_TEXT.fullmatch(known(words[index - 1]) or ""):
            found.append(_in_text(word))
        elif previous and (known(word) is None or previous in _OF_THE_NODE):
            found.append((_own(previous),))
        elif option and "=" in text and (known(word) is None or _name(option) in _OF_THE_NODE):
            found.append((f"{option[0]}=", _own(_name(option))))
        else:
            found.append(word)
        previous = _name(option) if option and "=" not in text else ""
    return found


def on_another_node(words: Sequence[Value], of: Sequence[Value]) -> bool:
    """Whether two commands differ in --node_rank, and in addresses that are not told, alone."""
    own = own_addresses(words)
    rows = zip(words, of, own, strict=False)
    return own == own_addresses(of) and any(
        mine != other and _own("node_rank") in here for mine, other, here in rows
    )


def in_texts(words: Sequence[Value], stand_ins: Mapping[str, str]) -> tuple[list[Value], frozenset[str]]:
    """The words, with what ranks have for the script's variables also in texts that were quoted twice, where
    a variable stands as it was written; and the variables that were there. One that ranks cannot have is
    unknown again."""
    found: list[Value] = []
    used: set[str] = set()
    for word in words:
        parts: list[Part] = []
        for part in word:
            pieces = re.split(r"\$\{(\w+)\}", part) if isinstance(part, str) else [part]
            for index, piece in enumerate(pieces):
                if index % 2 == 0:
                    parts.append(piece)
                elif str(piece) in stand_ins:
                    used.add(str(piece))
                    own = stand_ins[str(piece)]
                    parts.append(f"${own}" if own else Unknown("variable", str(piece)))
                else:
                    parts.append(f"${{{piece}}}")
        found.append(join(parts))
    return found, frozenset(used)


def _name(option: re.Match[str]) -> str:
    return option[1].replace("-", "_")


def _in_text(value: Value) -> Value:
    """The text for a shell; parts that are not known stand in it as one character."""
    unknown = [part for part in value if not isinstance(part, str)]
    text = "".join(part if isinstance(part, str) else "\0" for part in value)
    if "\0" in text.replace("\0", "", len(unknown)):
        return value
    marks = iter(range(len(unknown)))
    numbered = re.sub("\0", lambda _: f"\0{next(marks)}\0", text)
    replaced = _IN_TEXT.sub(_with_own, numbered)
    pieces = replaced.split("\0")
    return join([unknown[int(piece)] if index % 2 else piece for index, piece in enumerate(pieces)])


def _with_own(found: re.Match[str]) -> str:
    if found["option"]:
        name = found["option"].replace("-", "_")
        return f"--{found['option']}{found['by']}${_SET[name]}"
    return f"{found['name']}=${found['name']}"


def carries_addresses(value: Value) -> bool:
    """Whether a value holds the addresses, or is the variable that does."""
    return bool(_OPTION.search(shown(value))) or any(
        isinstance(part, Unknown) and re.search(r"MULTI_?NODE|DIST|MASTER|RDZV", part.name, re.IGNORECASE)
        for part in value
    )


def _own(name: str) -> Unknown:
    return Unknown("variable", _SET[name])
