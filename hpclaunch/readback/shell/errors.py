"""What is wrong with a script that cannot be read."""

from hpclaunch.values.errors import HpclaunchError


class ScriptError(HpclaunchError):
    """The text as a whole cannot be read: it is no script, or too much of one. `read` is how many characters
    were read before that was known, where the reader tells."""

    exit_status = 2

    def __init__(self, message: str, line: int = 0):
        self.line = line
        self.message = message
        self.read = 0
        super().__init__(f"line {line}: {message}" if line else message)


class Unreadable(Exception):
    """A part of a script that is beyond this reader. Whoever evaluates it notes that, with its line."""


class ReadOnly(Exception):
    """A variable would get another value that is to have none: whoever walks the statement goes on as bash
    does."""

    def __init__(self, name: str):
        self.name = name
        super().__init__(name)
