"""The errors of the domain. Each is raised where the knowledge is and rendered once, in `cli`."""

from collections.abc import Sequence

from msgspec import Struct

Path = tuple[str | int, ...]


class Problem(Struct, frozen=True):
    """One thing that is wrong with what the user wrote.

    `document` is "job", "site" or "node type", and `path` the keys down to the value: ("mounts", 0).
    Whoever read the document turns them into file:line:col. `where` holds that text once it is known.
    """

    message: str
    document: str = ""
    path: Path = ()
    where: str = ""

    def __str__(self) -> str:
        """On one line, whatever names of the user's are in it: a terminal does nothing but show it."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        if text.isprintable():
            return text
        return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def told(error: OSError) -> str:
    """What the system said, behind the file's name and without the error's number."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


class HpclaunchError(Exception):
    """Something that hpclaunch itself could not do."""

    exit_status = 1


class InputError(HpclaunchError):
    """The input is wrong and nothing was sent. Carries every problem found, not the first alone."""

    exit_status = 2

    def __init__(self, problems: Sequence[Problem] | str):
        self.problems = (Problem(problems),) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class SchedulerError(HpclaunchError):
    """The scheduler refused or could not be reached: its own words, and what to do."""

    exit_status = 3

    def __init__(self, message: str, advice: str = ""):
        self.message = message
        self.advice = advice
        super().__init__(f"{message}\n{advice}" if advice else message)


def first_line(error: Exception) -> str:
    """What happened, without what to do about it."""
    return str(error).partition("\n")[0]
