"""What the walk through a launcher finds: commands with what surrounds them, and where values come from."""

import pytest

from hpclaunch.convert.reading import Command, Output, ShellReading, Source
from hpclaunch.convert.shell.walk import inner, read
from hpclaunch.readback.shell.values import Unknown, shown
from hpclaunch.values.errors import InputError


def walked(text: str, **environment: str) -> ShellReading:
    return read([Source("run.sub", text)], environment)


def lines(reading: ShellReading, *programs: str) -> list[str]:
    """The commands as text; with `programs` theirs alone."""
    return [
        " ".join(map(shown, each.words))
        for each in reading.commands
        if not programs or each.program in programs
    ]


def command(text: str, program: str = "srun", **environment: str) -> Command:
    (found,) = [each for each in walked(text, **environment).commands if each.program == program]
    return found


def variable(name: str, splits: bool = False) -> Unknown:
    return Unknown("variable", name, splits)


@pytest.mark.parametrize(
    ("script", "given", "expected"),
    [
        ('srun ${X:-d} "${Y-e}"', {}, "srun d e"),
        (': "${X:=d}"; srun $X', {}, "srun d"),
        ('[[ -z "${X:-}" ]] && X=1; srun "$X"', {}, "srun 1"),
        ('[ -z "$X" ] && X=1; srun "$X"', {}, "srun 1"),
        ('if [[ -n $X ]]; then Y=a; else Y=b; fi; srun "$Y"', {}, "srun b"),
        ('[[ $X == "" ]] && Y=b; srun "$Y"', {}, "srun b"),
        ("[[ -v X ]] || Y=b; srun $Y", {}, "srun b"),
        ("srun a${X:+b}", {}, "srun a"),
        ("srun ${X:-d} a${X:+b}", {"X": "1"}, "srun 1 ab"),
        ("srun ${1:-8}", {}, "srun 8"),
        ('[[ -z "$SLURM_JOB_ID" ]] && Y=b; srun $Y ${SLURM_NNODES:-1}', {"Y": "y"}, "srun y ${SLURM_NNODES}"),
        ('if [[ -z "${SLURM_JOB_ID:-}" ]]; then srun wrong; else srun right; fi', {}, "srun right"),
    ],
)
def test_what_nobody_gave_is_unset_where_the_script_is_ready_for_that(
    script: str, given: dict[str, str], expected: str
) -> None:
    assert lines(walked(script, **given), "srun") == [expected]


def test_assumptions_are_told_with_their_line_and_defaults() -> None:
    reading = walked('\nexport NEXP=${NEXP:-5}\n: "${A:=b c}"\n[[ -n $D ]] && x\nsrun $NEXP\n')
    assert [(each.name, each.place.line, each.default) for each in reading.assumed] == [
        ("NEXP", 2, ("5",)),
        ("A", 3, ("b c",)),
        ("D", 4, ()),
    ]
    assert [(each.name, each.value, each.default) for each in reading.assigned] == [
        ("NEXP", ("5",), True),
        ("A", ("b c",), True),
    ]
    assert reading.wanted == {}


def test_what_is_asked_for_is_wanted_and_stays_in_what_is_made_of_it() -> None:
    reading = walked(
        ': "${CONT:?not set}"\nM="$DATA:/data,$LOGS:/logs"\nsrun --container-mounts="$M" $CONT\n'
    )
    assert {name: [each.line for each in places] for name, places in reading.wanted.items()} == {
        "CONT": [1, 3],
        "DATA": [2],
        "LOGS": [2],
    }
    (found,) = reading.commands
    assert found.words[1] == ("--container-mounts=", variable("DATA"), ":/data,", variable("LOGS"), ":/logs")
    assert [str(each) for each in reading.origin(found)] == ["run.sub:3", "run.sub:2"]


@pytest.mark.parametrize(
    "script",
    [
        'if [[ -z "$CONT" ]]; then echo needed; exit 1; fi; srun "$CONT"',
        '[ -z "${CONT:-}" ] && exit 1; srun "$CONT"',
        'die() { echo no; exit 1; }; [[ -n $CONT ]] || die; srun "$CONT"',
        'if [[ -n $CONT ]]; then srun "$CONT"; else exit 2; fi',
    ],
)
def test_a_script_that_gives_up_without_a_variable_asks_for_it(script: str) -> None:
    reading = walked(script)
    assert lines(reading, "srun") == ["srun ${CONT}"]
    assert "CONT" in reading.wanted
    assert reading.assumed == ()


def test_configurations_come_before_the_script_and_later_ones_win() -> None:
    sources = [
        Source("conf/config_common.sh", "export A=1 B=1\n"),
        Source("conf/config_X.sh", "source $(dirname ${BASH_SOURCE[0]})/config_common.sh\nexport B=2\n"),
        Source("run.sub", "#SBATCH -N1\nsrun $A $B $C\n"),
    ]
    reading = read(sources, {"C": "3", "A": "9"})
    assert reading.script == "run.sub"
    assert lines(reading, "srun") == ["srun 9 2 3"]  # what the operator exports last is what he means
    assert [(each.place.file, each.file) for each in reading.sourced] == [
        ("conf/config_X.sh", "conf/config_common.sh")
    ]
    assert [str(each.place) for each in reading.assigned if each.name == "B"] == [
        "conf/config_common.sh:1",
        "conf/config_X.sh:2",
    ]
    assert dict(reading.commands[-1].environment) == {"A": ("9",), "B": ("2",), "C": ("3",)}


@pytest.mark.parametrize("given", [{"SYSTEM": "X"}, {}])
def test_a_script_sources_what_was_given_where_it_says_so(given: dict[str, str]) -> None:
    run = Source("run.sub", "A=1\nsource config_${SYSTEM}.sh\nsrun $A\n. missing.sh\n")
    reading = read([Source("config_X.sh", "A=2\n"), run], given)
    assert lines(reading) == ["srun 2"]
    assert [each.file for each in reading.sourced] == ["config_X.sh", ""]
    assert [each.value for each in reading.assigned if each.name == "A"] == [("1",), ("2",)]


def test_files_that_source_each_other_end() -> None:
    reading = read([Source("a.sh", ". b.sh\nsrun a\n"), Source("b.sh", ". a.sh\nsrun b\n")], {})
    assert set(lines(reading)) == {"srun a", "srun b"}


def test_a_loop_is_walked_once_with_its_values() -> None:
    text = "NEXP=1000\nfor i in $(seq 1 $NEXP); do\n  SEED=$((S+i)) srun x $i |& tee log_$i.txt\ndone\n"
    reading = walked(text)
    found, _ = reading.commands[-2:]
    (loop,) = found.loops
    assert (loop.variable, loop.count, loop.values[0], loop.values[-1]) == ("i", 1000, ("1",), ("1000",))
    assert loop.over == "$(seq 1 $NEXP)"
    assert found.words == (("srun",), ("x",), (variable("i", True),))
    assert found.prefix == (("SEED", (Unknown("number", "$((S+i))"),)),)
    assert found.writes == (Output(("log_", variable("i", True), ".txt"), False, "&", tee=True),)
    assert found.unnoticed
    assert lines(walked("for i in {1..10000}; do for j in {1..10000}; do srun $i $j; done; done")) == [
        "srun ${i} ${j}"
    ]


@pytest.mark.parametrize(
    ("header", "count"),
    [
        ("for ((i=1; i<=N; i++))", 5),
        ("for ((i=0; i<$N; i+=2))", 3),
        ("for (( i = 9 ; i > 3 ; --i ))", 6),
        ("for ((i=0; i<M; i++))", None),
        ("for i in a b 'c d'", 3),
        ("for i in {1..5}", 5),
        ("for i in $(seq 2 2 10)", 5),
        ("for i in $UNKNOWN", None),
        ('for i in "$@"', None),
        ("while read -r i", None),
        ("until srun ok", None),
    ],
)
def test_how_often_a_loop_runs(header: str, count: int | None) -> None:
    text = f"N=5\n{header}; do srun x; done"
    (found,) = [each for each in walked(text).commands if each.words[-1] == ("x",)]
    assert [loop.count for loop in found.loops] == [count]


def test_a_loop_that_only_computes_is_carried_out() -> None:
    text = 'for v in A B; do ARGS+=" -x $v"; OPTS+=(-e "$v"); done\nsrun $ARGS "${OPTS[@]}"'
    assert lines(walked(text)) == ["srun -x A -x B -e A -e B"]
    text = "T=0\nfor v in A B; do srun $v; T=$((T+1)); done\nsrun $T"
    assert lines(walked(text)) == ["srun ${v}", "srun ${T}"]


def test_conditions_are_told_with_their_lines() -> None:
    text = (
        "if [[ $SLURM_NNODES -gt 1 ]]; then\n  srun a\nelif test -d /x; then\n  srun b\nelse\n  srun c\nfi\n"
        'case "$SYSTEM" in\n  DGX1*) srun d ;;\n  *) srun e ;;\nesac\ntest -f /x && srun f\nsrun g'
    )
    found = {each.words[1]: each.conditions for each in walked(text).commands}
    first = "$SLURM_NNODES -gt 1"
    assert found == {
        ("a",): (f"run.sub:1: if [[ {first} ]]",),
        ("b",): (f"run.sub:1: not ([[ {first} ]])", "run.sub:3: if test -d /x"),
        ("c",): (f"run.sub:1: not ([[ {first} ]])", "run.sub:3: not (test -d /x)"),
        ("d",): ('run.sub:8: case "$SYSTEM" in DGX1*)',),
        ("e",): ('run.sub:8: case "$SYSTEM" in *)',),
        ("f",): ("run.sub:12: test -f /x",),
        ("g",): (),
    }


@pytest.mark.parametrize(
    ("text", "unnoticed"),
    [
        ("srun a", False),
        ("srun a || true", True),
        ("srun a || exit 1", False),
        ("srun a | tee log", True),
        ("set -euo pipefail\nsrun a | tee log", False),
        ("cat x | srun a", False),
        ("srun a & wait", True),
        ("if srun a; then :; fi", True),
        ("while srun a; do :; done", True),
        ("( srun a )", False),
    ],
)
def test_failures_that_nobody_notices(text: str, unnoticed: bool) -> None:
    assert command(text).unnoticed is unnoticed


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("srun a > out.txt 2> err.txt", [("out.txt", False, "1", False), ("err.txt", False, "2", False)]),
        ("srun a >> $D/out 2>&1", [("${D}/out", True, "1", False)]),
        ("srun a &> all", [("all", False, "&", False)]),
        ("srun a | grep x | tee -a log", [("log", True, "1", True)]),
        ("( srun a ) |& tee log", [("log", False, "&", True)]),
        ("{ srun a; } > out", [("out", False, "1", False)]),
        ("exec > >(tee all.log) 2>&1\nsrun a", [("all.log", False, "&", True)]),
        ("exec 2>err\nsrun a", [("err", False, "2", False)]),
    ],
)
def test_where_output_goes(text: str, writes: list[tuple[str, bool, str, bool]]) -> None:
    found = command(text).writes
    assert [(shown(each.path), each.append, each.descriptor, each.tee) for each in found] == writes


def test_what_a_command_reads() -> None:
    found = command("H=b\nsrun bash <<EOF\na $H \\$H $U\nEOF\nc")
    assert found.stdin == ("a b $H ", variable("U"), "\n")
    assert str(found.place) == "run.sub:2-4"
    assert set(found.uses) == {"H", "U"}
    assert command("srun cat <<<'a b'").stdin == ("a b\n",)
    hosts = walked("readarray -t H < <(scontrol show hostnames)\nsrun -w ${H[0]} a").commands[-1]
    assert hosts.words[2] == (Unknown("output", "$(scontrol show hostnames | head -n 1)", splits=True),)


def test_outputs_that_are_known_and_those_that_are_not() -> None:
    script = (
        "P=/a/b.sh/\nsrun $(basename $P .sh) $(dirname /a/b) $(expr 2 + 3) $(echo a b | tr ' ' ,) `seq 2`"
        " $(printf '%s-' a b) $(cat <<< x)"
    )
    assert lines(walked(script), "srun") == ["srun b /a 5 a,b 1 2 a-b- x"]
    hosts = command("hosts=( $(scontrol show hostname | tr '\\n' ' ') )\nsrun ${hosts[@]}").words[1]
    assert hosts == (Unknown("output", "$(scontrol show hostname | tr '\\n' ' ')", splits=True),)
    date = command('D=$(date +%s)\nsrun "log-$D"').words[1]
    assert date == ("log-", Unknown("output", "$(date +%s)"))


def test_arrays_of_options_become_others() -> None:
    text = (
        'V=( -e "A=$A" -e B )\nsrun "${V[@]//-e/-x}"\n'
        'W="-e A=$A -e B"\nsrun ${W//-e/-x}\nsrun ${V[@]/#-e/--env}'
    )
    assert lines(walked(text)) == ["srun -x A=${A} -x B", "srun -x A=${A} -x B", "srun --env A=${A} --env B"]


def test_functions_traps_eval_and_the_background() -> None:
    text = 'f() { local n=$1; srun "$n" "$2"; }\nf a b\ntrap "docker rm x" EXIT\nC="srun e $U"\neval "$C" &\n'
    found = {each.program: each for each in walked(text).commands if each.program != "srun"}
    first, second = (each for each in walked(text).commands if each.program == "srun")
    assert (first.words, first.function, first.place.line) == ((("srun",), ("a",), ("b",)), "f", 1)
    assert second.words == (("srun",), ("e",), (variable("U", True),))
    assert second.background
    assert found["docker"].function == "trap EXIT"


def test_the_environment_is_what_is_exported_at_that_moment() -> None:
    text = "A=1\nexport B=2 C\nC=3\nsrun x\nexport A\nD=4 srun y\nunset B\nsrun z\n"
    x, y, z = (each for each in walked(text).commands if each.program == "srun")
    assert dict(x.environment) == {"B": ("2",), "C": ("3",)}
    assert dict(y.environment) == {"A": ("1",), "B": ("2",), "C": ("3",)}
    assert y.prefix == (("D", ("4",)),)
    assert dict(z.environment) == {"A": ("1",), "C": ("3",)}
    several = walked("export A=1\n" + "X=1 srun a\n" * 3).commands
    assert all(each.environment is several[0].environment for each in several)


def test_the_commands_within_a_shell() -> None:
    outer = command("export E=1\nL=2\nsrun bash -c \"a $L \\$L; b '$U' && c \\$E\"")
    assert [" ".join(map(shown, each.words)) for each in inner(outer, outer.words[1:])] == [
        "a 2 ${L}",
        "b ${U}",
        "c 1",
    ]
    document = command("srun bash <<'EOF'\nmkdir -p $X\nEOF")
    assert [shown(each.words[0]) for each in inner(document, document.words[1:])] == ["mkdir"]
    assert inner(outer) == ()


def test_directives_of_each_scheduler() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --job-name='a b' # x\n##SBATCH -n 1\n#PBS -l select=2\n"
        "#$ -pe mpi 4\nsrun a\n#SBATCH -n 9\n"
    )
    found = [(each.system, each.words, each.place.line) for each in walked(text).directives]
    assert found == [
        ("SBATCH", ("-N", "2", "--job-name=a b"), 2),
        ("PBS", ("-l", "select=2"), 4),
        ("$", ("-pe", "mpi", "4"), 5),
    ]
    assert [each.words for each in walked("#SBATCH -N 3\nsrun a").directives] == [("-N", "3")]


def test_every_statement_has_its_lines() -> None:
    text = "A=1\nif x; then\n  srun a \\\n    b\nfi\nf() {\n  c\n}\nd <<E\nq\nE\n"
    found = [(each.place.line, each.place.last, each.written) for each in walked(text).statements]
    assert found == [
        (1, 0, "A=1"),
        (2, 0, "if"),
        (2, 0, "x"),
        (3, 4, "srun a \\\n    b"),
        (6, 0, "f()"),
        (7, 0, "c"),
        (9, 11, "d <<E"),
    ]


@pytest.mark.parametrize(
    ("text", "line"), [("a\nif b; then c\n", 2), ("a\n\n)\n", 3), ("x 'y\n", 1), ("a <<E\n$(\nE\n", 2)]
)
def test_what_no_shell_takes_is_an_error_with_file_and_line(text: str, line: int) -> None:
    with pytest.raises(InputError) as error:
        walked(text)
    assert error.value.problems[0].where == f"run.sub:{line}"


def test_characters_beyond_ascii_come_back() -> None:
    assert lines(walked('srun é $(basename /a/ö) "${X:-ü}"')) == ["basename /a/ö", "srun é ö ü"]


def test_a_part_of_a_long_pipeline_has_no_more_than_the_nearest_files_of_tee() -> None:
    found = walked("echo a" + "".join(f" | tee log{n}" for n in range(100)) + "\n").commands
    assert [shown(each.path) for each in found[0].writes[:2]] == ["log0", "log1"]
    assert sum(len(each.writes) for each in found) <= 20 * len(found)
