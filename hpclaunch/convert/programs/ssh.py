"""ssh, and its like that start one command on several hosts.

The options are those of OpenSSH 9's ssh(1), pdsh(1) and clush(1). The remote shell reads the words again:
one word with several in it is given to sh -c here.
"""

from collections.abc import Sequence

from hpclaunch.convert.programs.flags import table, take
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import Value, known

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
_TABLES = {"ssh": _SSH, "rsh": _SSH, "pdsh": _PDSH, "clush": _CLUSH}


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "ssh" with its host as the one word, and the remote command."""
    program = (known(words[0]) or "").rpartition("/")[2]
    options, rest = take(words[1:], _TABLES[program], clusters=True, own=lambda value, after: False)
    hosts: tuple[Value, ...] = ()
    if program in ("ssh", "rsh"):
        hosts, rest = tuple(rest[:1]), rest[1:]
        more, rest = take(rest, _SSH, clusters=True, own=lambda value, after: False)
        options += more
    else:
        hosts = tuple(each.value for each in options if each.name == "host" and each.value)
    if len(rest) == 1 and any(isinstance(part, str) and " " in part.strip() for part in rest[0]):
        rest = [("sh",), ("-c",), rest[0]]
    return Layer("ssh", tuple(options), hosts), rest
