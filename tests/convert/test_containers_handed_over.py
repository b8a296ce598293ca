"""Containers that a launcher with docker has other programs start, in texts for them."""

from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SERVER = "nvidia-docker run -d -v ~/.ssh:/root/.ssh lab/server:1 ./serve"
_WORKER = "nvidia-docker run -d -v ~/.ssh:/root/.ssh lab/worker:1 ./work"


def test_a_container_in_a_text_that_is_not_read_may_be_the_run() -> None:
    script = f"#!/bin/bash\n{_SERVER}\nfor h in a b; do\nssh $h tmux new-session -d '{_WORKER}'\ndone\n"
    found = convert(classified({"go.sh": script}), Options({}))
    assert loaded(found.job)["command"] == ASK
    (told,) = (each for each in found.findings if each.what == _WORKER)
    assert (told.kind, "tmux" in told.why) == ("left", True)


def test_what_only_shows_such_a_text_starts_none() -> None:
    script = f"#!/bin/bash\nfor h in a b; do\necho 'on $h: {_WORKER}'\nssh $h {_WORKER}\ndone\n"
    found = convert(classified({"go.sh": script}), Options({}))
    assert loaded(found.job)["command"] == ["./work"]
    assert not any("no key" in each.why and each.what.startswith("echo") for each in found.findings)
