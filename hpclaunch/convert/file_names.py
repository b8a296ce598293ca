"""Whether a text names a file, also where a part of the name is a variable: bind_${SYSTEM/_multi*/}.sh."""

import re

# A word with variables in it. The parts of one are its letters and its variables.
_VARIABLE = r"\$(?:\w+|\{\w+[^{}\s]*\})"
_WORD = re.compile(rf"(?<![\w.$-])(?:[\w.-]|{_VARIABLE})*{_VARIABLE}(?:[\w.-]|{_VARIABLE})*")
_PART = re.compile(_VARIABLE)
_END = re.compile(r"\.\w+$")
_LEAST = 3  # letters that are told before the name's end: $A.sh may be any script


def names(text: str, name: str) -> bool:
    """Whether the name of a file, without folders, stands in the text."""
    if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None:
        return True
    return "$" in text and any(_may_be(word, name) for word in _WORD.findall(text))


def _may_be(word: str, name: str) -> bool:
    told = _PART.split(word)
    if len(_END.sub("", "".join(told))) < _LEAST:
        return False
    return re.fullmatch(r"[\w.-]*".join(map(re.escape, told)), name) is not None
