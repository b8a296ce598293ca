"""What some expansions are, as a whole."""

from hpclaunch.readback.shell.pieces import Parameter
from hpclaunch.readback.shell.statements import Group, Simple

# Operators of ${...} that ask whether the parameter is set.
TESTS = (":-", "-", ":=", "=", ":?", "?", ":+", "+")


def is_list(part: Parameter) -> bool:
    """Whether it is "$@", "${a[@]}", "${!a[@]}" or "${a[@]+...}": no word where nothing is in them."""
    asks = part.operator in TESTS and not part.operator.endswith("+")
    return "@" in (part.name, part.all_of) and part.before != "#" and not asks


def file_of(body: Group) -> str:
    """The file of $(<file), where that is all of it."""
    if len(body.body) == 1 and isinstance(body.body[0], Simple):
        simple = body.body[0]
        if not simple.words and not simple.assignments and len(simple.redirections) == 1:
            redirection = simple.redirections[0]
            return redirection.target.written if redirection.operator == "<" else ""
    return ""
