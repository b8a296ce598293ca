"""ssh, and its like that start one command on several hosts.

The options are those of OpenSSH 9's ssh(1), pdsh(1), clush(1) and pssh(1) 2.3. They send the words with
blanks between them, and the remote shell reads that anew: where it makes something else of them they are
given to sh -c.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from hpclaunch.convert.programs.flags import leading, table, take
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import Value, join, program_of, shown

_SSH = table(
    (
        (1, "B b c D E e F I i J L login=l m O option=o P port=p Q R S W w"),
        (0, "4 6 A a C f G g K k M N n q s T t V v X x Y y"),
    )
)
_PDSH = table(((1, "host=w x l t u f R g X O M"), (0, "a A i b d h k L N q S v V")))
_CLUSH = table(
    (
        (1, "host=w exclude=x group=g,l user fanout=f connect_timeout=t command_timeout=u option=o O R"),
        (0, "all=a quiet=q verbose=v debug=d S N L B b"),
    )
)
_PSSH = table(
    (
        (1, "hosts=h host=H login=user,l par=p outdir=o errdir=e timeout=t option=O extra-args=x"),
        (0, "version verbose=v askpass=A inline=i inline-stdout print=P send-input=I X x11"),
    )
)
_SPECIAL = re.compile(r"""[\s'"\\;&|<>()$`*?#~]""")
_BLANKS = re.compile(r"\S\s+\S")
_QUOTES = re.compile(r"""['"\\]""")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VALUE = re.compile(r"(?:--?[\w-]+|[A-Za-z_]\w*)=")
TABLES = {"ssh": _SSH, "rsh": _SSH, "pdsh": _PDSH, "clush": _CLUSH, "pssh": _PSSH, "parallel-ssh": _PSSH}


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "ssh" with its host as the one word, and the remote command."""
    options, hosts, rest = _taken(words)
    if _is_read_again(rest):
        rest = [("sh",), ("-c",), joined(rest)]
    return Layer("ssh", tuple(options), hosts), rest


def _taken(words: Sequence[Value]) -> tuple[list[Option], tuple[Value, ...], list[Value]]:
    """The options, the hosts, and the words of the remote command as they are written."""
    program = program_of(words)
    options, rest = take(words[1:], TABLES[program], clusters=True, own=lambda value, after: False)
    if program not in ("ssh", "rsh"):
        return options, tuple(each.value for each in options if each.name == "host" and each.value), rest
    more, after = take(rest[1:], _SSH, clusters=True, own=lambda value, after: False)
    return options + more, tuple(rest[:1]), after


def split_anew(words: Sequence[Value]) -> str:
    """The first word behind the remote program that its author wrote as one, and that the remote shell takes
    apart: the value behind an option or a `=`, with blanks and no quotes of its own. "" for none."""
    _, _, remote = _taken(words)
    for before, word in pairwise(remote):
        text = shown(word)
        is_value = shown(before).startswith("-") or _VALUE.match(text)
        if is_value and _BLANKS.search(text) and not _QUOTES.search(text):
            return text
    return ""


def _is_read_again(words: Sequence[Value]) -> bool:
    if words and _ASSIGNMENT.match(leading(words[0])):
        return True  # NAME=VALUE in front of the program is for the remote shell
    return any(isinstance(part, str) and _SPECIAL.search(part) for word in words for part in word)


def joined(words: Sequence[Value]) -> Value:
    """The words as the one text that the remote shell reads."""
    return join([part for index, word in enumerate(words) for part in ((" ", *word) if index else word)])
