"""A docker command in a variable to which conditions add: what is there for certain is told, and of the rest
it is said that it hangs on something."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_BASE = 'RUN="docker run --rm -v /srv/in:/in -e SIZE=3"\n'
_LIMIT = 'if [ -n "$(lspci)" ]; then RUN="$RUN --cpus 4"; fi\n'


def _converted(lines: str, head: str = "#!/bin/bash\n") -> Conversion:
    return convert(classified({"go.sh": f"{head}{lines}"}), Options({}))


def _told(found: Conversion) -> tuple[str, ...]:
    its = {each.name: each.told for each in found.launch}
    return its["image"], its["mounts"], its["environment"]


@pytest.mark.parametrize("head", ["#!/bin/bash\n", "#!/bin/bash\n#SBATCH -N 1 -t 9\n"])
@pytest.mark.parametrize(
    "lines",
    [
        f"{_BASE}{_LIMIT}$RUN lab/t:1 ./t\n",
        f'{_BASE}{_LIMIT}RUN="$RUN lab/t:1"\nexec $RUN ./t\n',
        f'{_BASE}{_LIMIT}RUN+=" lab/t:1 ./t"\necho $RUN\n$RUN\n',
        f'{_BASE}[ -e /srv/big ] && RUN+=" --cpus 4"\n$RUN lab/t:1 ./t\n',
    ],
)
def test_what_is_there_for_certain_is_told(lines: str, head: str) -> None:
    found = _converted(lines, head)
    assert _told(found) == ("lab/t:1", "/srv/in:/in", "SIZE")
    (said,) = [each for each in found.findings if each.what == "--cpus 4"]
    assert ("hangs on `[ " in said.why, {each.file for each in said.places}) == (True, {"go.sh"})


@pytest.mark.parametrize(
    "lines",
    [
        f'{_BASE}if [ -e /x ]; then RUN="docker run -v /other:/in"; fi\n$RUN lab/t:1 ./t\n',
        f'{_BASE}if [ -e /x ]; then RUN="${{RUN}}2"; fi\n$RUN lab/t:1 ./t\n',
        f'{_BASE}for i in $LIST; do if [ -e $i ]; then RUN="$RUN -v /$i:/$i"; fi; done\n$RUN lab/t:1 ./t\n',
        'RUN="mpirun -np 4"\nif [ -e /x ]; then RUN="$RUN --oversubscribe"; fi\n$RUN ./t\n',
    ],
)
def test_what_takes_the_place_of_the_command_is_not_taken(lines: str) -> None:
    found = _converted(lines)
    assert "what starts there is not determined" in found.refused
    assert not [each for each in found.findings if "hangs on" in each.why]
