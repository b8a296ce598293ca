"""Scripts that sbatch is given by name, and that are not among the files."""

from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


def test_what_the_command_says_is_told_and_the_rest_is_asked() -> None:
    script = (
        "#!/bin/bash\nexport LR=0.1\nWD=3 sbatch --export=ALL,A=5 -N 2 --gpus-per-node=4 -t 60 train.sh\n"
    )
    job = loaded(convert(classified({"go.sh": script}), Options({})).job)
    assert (job["nodes"], job["gpus_per_node"], job["time"]) == ("2", "4", "01:00:00")
    assert job["env"] == {"LR": "0.1", "WD": "3", "A": "5"}
    assert [job[key] for key in ("command", "ranks_per_node", "mpi")] == [ASK] * 3


def test_a_value_of_each_round_is_told() -> None:
    script = "#!/bin/bash\nfor i in 1 2; do sbatch --export=ALL,A=$i train.sh; done\n"
    found = convert(classified({"go.sh": script}), Options({}))
    assert any(each.what == "A" and "${i}" in each.why for each in found.findings if each.kind == "left")
    job = loaded(found.job)
    assert [job[key] for key in ("nodes", "gpus_per_node", "ranks_per_node")] == [ASK] * 3
