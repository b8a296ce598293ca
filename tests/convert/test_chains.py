"""Chains with && and ||: what a part sets is so where the parts behind it run."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_RUN = "torchrun --nproc_per_node 4 --nnodes $N --node_rank 0 train.py"


@pytest.mark.parametrize(
    "text",
    [
        f"cd /w && export N=3 && {_RUN}",
        f"cd /w && N=2 && N=3 && {_RUN} || echo failed",
        f"test -d /w && cd /w && export N=3 && {_RUN}",
    ],
)
def test_what_a_part_sets_is_so_where_the_later_ones_run(text: str) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{text}\n"}), Options({}))
    assert loaded(found.job)["nodes"] == "3"


def test_what_a_part_sets_is_not_so_behind_the_chain() -> None:
    text = f"#!/bin/bash\nexport N=2\ntest -d /w && cd /w && export N=3\n{_RUN}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert loaded(found.job)["nodes"] == "ASK"


def test_what_stands_behind_or_is_not_gone_along() -> None:
    text = f"#!/bin/bash\nexport N=2\ntest -d /w && export N=3 || export N=4 && {_RUN}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert loaded(found.job)["nodes"] == "ASK"


def test_one_run_on_two_hosts_by_its_own_script_and_over_ssh() -> None:
    run = "N=${N:-2}\nR=${R:-0}\ntorchrun --nproc_per_node 4 --nnodes $N --node_rank $R train.py\n"
    go = "export N=2 R=0\nbash /w/run.sh &\n"
    go += 'ssh other "cd /w && \\\n  export N=2 && \\\n  export R=1 && \\\n  bash /w/run.sh" &\nwait\n'
    found = convert(classified({"go.sh": f"#!/bin/bash\n{go}", "run.sh": run}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"]) == ("2", "4")
    assert job["command"] == 'export R="$NODE_RANK"; exec python -u train.py'
    assert any("the run on another node" in each.why for each in found.findings)
