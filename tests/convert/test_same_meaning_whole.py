"""A launcher as a whole within what does not change it is the same launch: a function that is called with its
arguments, a branch that is taken, a here-document or a file that another script submits."""

import pytest
import script_cases
from test_same_meaning import is_script, texts_of

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_CASES = [(family, case) for family in ("pyxis", "plain_slurm") for case in script_cases.cases(family)]
_WITHIN = {
    "a function": ("its_main() {", '}\nits_main "$@"'),
    "a function behind a word": ("its_main() {\nshift", '}\nits_main now "$@"'),
    "a group": ("{", "}"),
    "another branch": ("ITS_WAY=a\nif [ $ITS_WAY = b ]; then\nexit 1\nelse", "fi"),
    "another case": ("ITS_WAY=a\ncase $ITS_WAY in\nb) exit 1 ;;\n*)", ";;\nesac"),
}
_SUBMITTED = {
    "a here-document": "#!/bin/bash\nsbatch <<'ITS_END'\n{text}\nITS_END\n",
    "a file": "#!/bin/bash\ncat > its.sh <<'ITS_END'\n{text}\nITS_END\nsbatch its.sh\n",
}


def _facts(texts: dict[str, str], options: Options) -> dict[str, tuple[str, str]]:
    return {each.name: (each.state, each.told) for each in convert(classified(texts), options).launch}


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_what_stands_around_it_changes_no_fact(family: str, case: str) -> None:
    texts, options = texts_of(family, case)
    script = next((name for name, text in texts.items() if is_script(text)), next(iter(texts)))
    plain, lines = _facts(texts, options), texts[script].split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    for name, (before, behind) in _WITHIN.items():
        changed = "\n".join([*lines[:first], before, *lines[first:], behind, ""])
        assert _facts({**texts, script: changed}, options) == plain, name


@pytest.mark.parametrize(("family", "case"), _CASES)
def test_a_script_that_another_one_writes_and_submits_is_the_same(family: str, case: str) -> None:
    texts, options = texts_of(family, case)
    (script, text), *others = texts.items()
    if others or options.environment or "sbatch" in text or "#SBATCH" not in text:
        return  # configurations and the operator tell what sbatch itself is given, and nobody gives it here
    for name, form in _SUBMITTED.items():
        assert _facts({script: form.format(text=text)}, options) == _facts(texts, options), name
