"""read and mapfile: what they take of their input (bash's manual, "Bash Builtin Commands")."""

import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.state import Array
from hpclaunch.readback.shell.values import Unknown, Value, join, known, shown

if TYPE_CHECKING:
    from hpclaunch.readback.shell.evaluate import Shell


class Input(Struct, frozen=True):
    """What a command reads: where it comes from, its text where the script has it, else its file, or an
    Unknown for another command's output."""

    name: str
    text: Value | None = None
    source: Value | None = None

    def untold(self) -> "Input":
        """The same, where nobody knows how much of it is left."""
        return self if self.text is None else Input(self.name, None, (Unknown("input", self.name),))


def read(shell: "Shell", words: Sequence[Value]) -> None:
    """read: one line, up to the delimiter of -d, or the characters of -N as they are; in full for one
    variable, else its words."""
    texts = [known(word) for word in words[1:]]
    raw, delimiter, array, names, told = False, "\n", False, [], True
    most: int | None = None
    index = 0
    while index < len(texts):
        text = texts[index]
        if text is not None and re.fullmatch(r"-[A-Za-z].*", text):
            letter = text[-1]
            raw |= "r" in text
            array |= "a" in text
            if letter in "dnNptui":
                index += 1
                given_to_it = (texts[index] if index < len(texts) else None) or ""
                if letter == "d":
                    delimiter = given_to_it or "\0"
                elif letter == "N" and re.fullmatch(r"[0-9]{1,9}", given_to_it):
                    most = int(given_to_it)
                elif letter not in "pt":
                    told = False
        else:
            names.append(text)
        index += 1
    shell.status = None
    text = known(shell.input.text) if shell.input.text is not None and told else None
    line, ended, rest = text.partition(delimiter) if text is not None else ("", "", "")
    if text is not None and most is not None:
        line, ended, rest = text[:most], "" if len(text) < most else "all", text[most:]
    plain = text is not None and not array and (raw or "\\" not in line)
    fields = deque(_fields(shell, line, max(len(names), 1)) if plain and most is None else [line])
    for name in names or ["REPLY"]:
        if name is None or not is_name(name):
            shell.note("read into a name that the script does not tell")
            continue
        value: Value = (Unknown("input", shell.input.name),)
        if plain and fields:
            value = (first,) if (first := fields.popleft()) else ()
        elif shell.input.text and len(names) == 1 and not array and raw and (delimiter, most) == ("\0", None):
            value = _whole(shell, shell.input.text)  # read -r -d '': also where a part of it is not told
        shell.put(name, Array({}, whole=False) if array else value)
    if text is None:
        shell.input = shell.input.untold()
        return
    shell.expander.budget.spend(len(text) // 500)
    shell.input = structs.replace(shell.input, text=(rest,) if rest else ())
    shell.status = bool(ended)


def _fields(shell: "Shell", line: str, count: int) -> list[str]:
    """What so many variables get of a line: a word each, and the last one all the rest."""
    separators, blanks = _separators(shell), _blanks(shell)
    line = line.strip(blanks) if blanks else line
    others = "".join(set(separators) - set(blanks))
    blank = f"[{re.escape(blanks)}]" if blanks else "(?!)"
    end = re.compile(f"{blank}*[{re.escape(others)}]{blank}*|{blank}+" if others else f"{blank}+")
    found = []
    for _ in range(count - 1):
        first = end.search(line)
        found.append(line[: first.start()] if first else line)
        line = line[first.end() :] if first else ""
    ends = list(end.finditer(line))
    only = len(ends) == 1 and ends[0].end() == len(line)  # one word, and what ends it
    return [*found, line[: ends[0].start()] if only else line]


def _whole(shell: "Shell", text: Value) -> Value:
    """The whole text without the blanks at its ends."""
    blanks, parts = _blanks(shell), list(text)
    if isinstance(parts[0], str):
        parts[0] = parts[0].lstrip(blanks)
    if isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip(blanks)
    return join(parts)


def _blanks(shell: "Shell") -> str:
    """What read takes off at both ends: the blanks of IFS."""
    return "".join(char for char in _separators(shell) if char in " \t\n")


def _separators(shell: "Shell") -> str:
    variable = shell.state.get("IFS")
    if variable and variable.value is not None and not isinstance(variable.value, Array):
        return known(variable.value) or ""
    return " \t\n"


def mapfile(shell: "Shell", words: Sequence[Value]) -> None:
    """mapfile and readarray: a line for each element."""
    texts = [known(word) for word in words[1:]]
    given: dict[str, str | None] = {}
    while texts and (texts[0] or "").startswith("-"):
        option = texts.pop(0) or ""
        takes = re.fullmatch(r"-t?([dnOsuCc])(.*)", option, re.DOTALL)
        if "t" in option[1:2]:
            given["t"] = ""
        if takes:
            given[takes[1]] = takes[2] or (texts.pop(0) if texts else None)
    name = texts[0] if texts else "MAPFILE"
    if name is None or not is_name(name) or len(texts) > 1:
        shell.status = None
        shell.note(f"what `{' '.join(map(shown, words[:6]))}` changes is not followed")
        return
    numbers = {letter: given.get(letter, "0") or "" for letter in "ns"}
    told = all(text.isascii() and text.isdecimal() and len(text) < 7 for text in numbers.values())
    text = known(shell.input.text) if shell.input.text is not None else None
    delimiter = given.get("d", "\n")
    if given.keys() <= {"t"} and text is None:
        shell.put(name, Array({}, whole=False))
        return
    if text is None or not told or delimiter is None or not given.keys() <= set("tdns"):
        shell.put(name, Array({0: (Unknown("input", shell.input.name, splits=True),)}, whole=False))
        return
    end = delimiter[:1] or "\0"
    lines = [f"{line}{end}" for line in text.split(end)]
    lines[-1] = lines[-1].removesuffix(end)
    lines = [line.removesuffix(end) if "t" in given else line for line in lines if line]
    first, most = int(numbers["s"]), int(numbers["n"])
    kept = lines[first : first + most if most else None]
    shell.put(name, Array({index: (line,) if line else () for index, line in enumerate(kept)}))
