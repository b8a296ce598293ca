"""Words of a command, built up while a written word is expanded (bash's manual, "Word Splitting")."""

from collections.abc import Sequence

from msgspec import structs

from hpclaunch.readback.shell.patterns import is_pattern
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, shown

BLANKS = " \t\n"


class Fields:
    """The words that one written word becomes. `separators` is IFS, None where nothing is split or a pattern
    of file names, as in an assignment."""

    def __init__(self, separators: str | None = BLANKS):
        self._splits = separators is not None
        self._separators = separators or ""
        self._blanks = BLANKS
        if separators != BLANKS:
            self._blanks = "".join(char for char in self._separators if char in BLANKS)
        self._done: list[Value] = []
        self._parts: list[Part] = []
        self._begun = False
        self._is_pattern = False

    def add_text(self, text: str, quoted: bool) -> None:
        """Text as it was written."""
        self._begun = True
        self._parts.append(text)
        self._is_pattern |= self._splits and not quoted and is_pattern(text)

    def add_value(self, value: Value, quoted: bool) -> None:
        """What an expansion gave. Where it is not quoted it is split."""
        if quoted or not self._splits:
            self._begun = True
            self._parts += value
            return
        for part in value:
            if isinstance(part, str):
                self._split(part)
            else:
                self._begun = True
                self._parts.append(structs.replace(part, splits=True) if isinstance(part, Unknown) else part)

    def add_list(self, values: Sequence[Value], quoted: bool) -> None:
        """What "$@" or $@ gave: a word for each."""
        for index, value in enumerate(values):
            if index and (quoted or not self._separators):
                self._end()
            elif index:
                self._split(self._separators[0])  # between : and : a word is kept that has nothing in it
            self.add_value(value, quoted)

    def words(self) -> list[Value]:
        """The words. Call it once, at the end."""
        self._end()
        return self._done

    def _end(self) -> None:
        if self._begun:
            value = join(self._parts)
            if self._is_pattern:
                value = (Unknown("files", shown(value), splits=True),)
            self._done.append(value)
        self._parts, self._begun, self._is_pattern = [], False, False

    def _split(self, text: str) -> None:
        """Blanks among the separators count once, and not at either end; others each."""
        if not any(char in text for char in self._separators):
            self._flush([text] if text else [])
            return
        current: list[str] = []
        after_blank = False
        for char in text:
            if char in self._blanks:
                self._flush(current)
                if self._begun and not after_blank:
                    self._end()
                    after_blank = True
            elif char in self._separators:
                self._flush(current)
                if not after_blank:
                    self._begun = True
                    self._end()
                after_blank = False
            else:
                current.append(char)
                after_blank = False
        self._flush(current)

    def _flush(self, current: list[str]) -> None:
        if current:
            self.add_text("".join(current), quoted=False)
            current.clear()
