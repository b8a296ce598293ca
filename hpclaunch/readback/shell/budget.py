"""How much work an evaluation may be: texts that grow without end, or loops over all that there is, are
refused."""

from hpclaunch.readback.shell.errors import ScriptError, Unreadable

# Some ten microseconds each. A script of ours takes a few hundred.
MOST = 60_000
# Characters that ${x//a/b} and its like go through: some hundred nanoseconds each where all are replaced.
_MOST_TEXT = 8 << 20


class Budget:
    """Counts the work; `line` is where the script is, and `left` what it may still be."""

    def __init__(self, most: int = MOST) -> None:
        self.left = most
        self._text_left = _MOST_TEXT
        self.line = 1

    def renew(self, most: int) -> None:
        """Count from the start."""
        self.left = most

    def spend(self, amount: int = 1) -> None:
        """Count that much. Raises ScriptError where it is too much."""
        self.left -= amount
        if self.left < 0:
            raise ScriptError("too much to work out from here on", self.line)

    def change(self, characters: int) -> None:
        """Count a text of that length, which is changed. Raises Unreadable where that are too many: the
        value is not known then, and what stands around it is read."""
        if characters > self._text_left:
            raise Unreadable("a change of a long text, after many others")
        self._text_left -= characters
