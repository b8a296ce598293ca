"""Which nodes are good where some lack the program that measures, under the shells that nodes have. A
stand-in for srun says what the check of each node says."""

import os
import subprocess
from pathlib import Path

import pytest
from running import SHELLS

from hpclaunch.rank import beside

SRUN = """\
#!/bin/sh
for node in $SLURM_JOB_NODELIST; do
  case " $LACKS " in *" $node "*) echo "hpclaunch-check $node skip all_reduce: there is no measure" ;; esac
  say=ok
  case " $SLOW " in *" $node "*) say="bad slow" ;; esac
  echo "hpclaunch-check $node $say"
done
"""
ABSENT = "all_reduce: there is no measure"


@pytest.mark.parametrize(
    ("lacks", "slow", "said"),
    [
        ("b", "", [f"b is left out: {ABSENT}", "the ranks are on a,c"]),
        ("a b c", "", [f"not checked: {ABSENT}", "the ranks are on a,b"]),
        (
            "a c",
            "b",
            [
                "b is left out: slow",
                f"a is left out: {ABSENT}",
                f"c is left out: {ABSENT}",
                "only 0 of 3 nodes are good, and the ranks need 2",
            ],
        ),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_node_without_the_program_that_others_have_is_left_out(
    tmp_path: Path, shell: str, lacks: str, slow: str, said: list[str]
) -> None:
    for name, text in (("srun", SRUN), ("scontrol", '#!/bin/sh\nfor word in $3; do echo "$word"; done\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    words = ["hpclaunch-preflight", str(tmp_path / "claim"), "2", "20", "first", "", "/bin/sh"]
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_NODELIST": "a b c",
        "LACKS": lacks,
        "SLOW": slow,
    }
    done = subprocess.run(
        [*SHELLS[shell], "-c", beside.text("preflight"), *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    chosen = said[-1].removeprefix("the ranks are on ") if done.returncode == 0 else ""
    assert (done.returncode in (0, 122), done.stdout.strip()) == (True, chosen), done.stderr
    assert (tmp_path / "preflight").read_text().splitlines() == said
