"""The rank wrapper's words: what is read from them, and what is said of those that it would not take."""

import subprocess

import pytest

from hpclaunch.rank import wrapper_text
from hpclaunch.readback.wrapper_words import identity, is_own_wrapper, wrapper_words
from hpclaunch.values.launch import SeenSeat, SeenVariable

HCAS = ("mlx5_0/0000:0c:00.0/1/InfiniBand", "mlx5_1/0000:12:00.0/1/InfiniBand")


def test_each_rank_has_its_entry_of_each_table() -> None:
    seen = wrapper_words(
        [
            "from=slurm",
            "memlock=1048576",
            f"hcas={HCAS[0]}\n        {HCAS[1]}",
            "near=1:0,1;\n   1:1,0",
            "cpus=0-1,8;\n 2",
            "membind=0;1",
            "--",
            "A=1=2",
            SeenVariable("P", source="submitter"),
            "A=",
            "--",
            "=run",
            "==x",
            "--",
        ],
        2,
    )
    assert seen.unread == ()
    assert seen.source == "slurm"
    assert seen.settings == (("memlock", "1048576"),)
    assert seen.environment == (SeenVariable("A", ""), SeenVariable("P", source="submitter"))
    assert seen.argv == ("run", "=x", "--")
    (table,) = seen.tables
    assert table.hcas == HCAS
    assert table.seats == (
        SeenSeat(0, (0, 1, 8), (0,), "membind", HCAS[:1], HCAS[1:]),
        SeenSeat(1, (2,), (1,), "membind", HCAS[1:], HCAS[:1]),
    )


def test_a_table_has_what_stands_before_all_of_them() -> None:
    seen = wrapper_words(
        ["from=slurm", "membind=0", "hosts=a[1-2]", "hosts=b", "membind=1", "--", "--", "=x"], 1
    )
    assert [(table.hosts, table.seats[0].mems) for table in seen.tables] == [("a[1-2]", (0,)), ("b", (1,))]


def test_a_part_of_a_node_keeps_what_finds_its_cores() -> None:
    words = [
        "from=slurm",
        f"hcas={HCAS[0]}",
        "cores=0.0:0-3\n  1.1:4-7",
        "seats=0;1-2;",
        "part=cpus",
        "--",
        "--",
        "=x",
    ]
    (table,) = wrapper_words(words, 3).tables
    assert [seat.gpus for seat in table.seats] == [(0,), (1, 2), ()]
    assert [seat.hcas for seat in table.seats] == [(), (), ()]
    assert table.part == (("cores", "0.0:0-3 1.1:4-7"), ("part", "cpus"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["from=slurm", "no-such=1", "--", "--", "=x"], "no-such"),
        (["from=slurm", "bare", "--", "--", "=x"], "bare"),
        (["from=slurm", "cpus=0;1;2", "--", "--", "=x"], "3 entries"),
        (["from=slurm", "cpus=0-x", "--", "--", "=x"], "0-x"),
        (["from=slurm", f"hcas={HCAS[0]}", "near=1:0,7", "--", "--", "=x"], "1:0,7"),
        (["from=slurm", "--", "NAME", "--", "=x"], "NAME"),
        (["from=slurm", "--", "A=1"], "environment"),
        (["from=slurm"], "settings"),
        (["from=slurm", "--", "--"], "no command"),
    ],
)
def test_what_the_wrapper_would_not_take_is_told(words: list[str], told: str) -> None:
    assert any(told in line for line in wrapper_words(words, 2).unread)


def test_a_wrapper_is_hpclaunchs_own_to_the_last_byte() -> None:
    settings = ["from=slurm", "cpus=0"]
    text = wrapper_text(settings)
    assert is_own_wrapper(text, settings)
    assert not is_own_wrapper(text + "\n", settings)
    assert not is_own_wrapper(text, ["from=slurm"])
    assert identity(text, settings) == "own"
    assert identity(text + " ", settings) != identity(text + "\n", settings)


def test_the_wrapper_itself_reads_the_words_so() -> None:
    settings = ["from=local", "rank=0", "ranks=1"]
    words = [
        *settings,
        "--",
        "A=1=2",
        "B=x\n",
        "A=",
        "--",
        "=/bin/sh",
        "=-c",
        '=printf "%s|" "$A" "$B" "$@"',
        "=s",
        "==x",
        "=--",
    ]
    done = subprocess.run(
        ["/bin/sh", "-c", wrapper_text(settings), "hpclaunch-rank", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = wrapper_words(words, 1)
    values = {variable.name: variable.value for variable in seen.environment}
    assert done.stdout.split("|")[:-1] == [values["A"], values["B"], *seen.argv[4:]]
