"""Breaks on purpose: whatever is changed in a script shows in what is read from it."""

from collections.abc import Callable

import pytest
from golden_scripts import golden

from hpclaunch.readback.script import read
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Launch

SCRIPT = golden("whole-node-8-ranks")
READ = read(SCRIPT)
LAST = SCRIPT.count("\n") + 1


def replaced(old: str, new: str) -> str:
    assert SCRIPT.count(old) == 1, (SCRIPT.count(old), old)
    return SCRIPT.replace(old, new)


def swapped(one: str, other: str) -> str:
    assert one in SCRIPT
    assert other in SCRIPT
    return SCRIPT.replace(one, "\0").replace(other, one).replace("\0", other)


MASKS = [line.strip().split()[0] for line in SCRIPT.split("hl_masks=(\n")[1].split("\n)")[0].splitlines()]
BEFORE_LAUNCH = "\nlaunch 3>&2 4>&1"

BREAKS: dict[str, tuple[str, Callable[[Launch], object]]] = {
    "a variable dropped": (replaced("  NCCL_DEBUG=INFO\n", ""), lambda seen: seen.environment),
    "a variable changed": (
        replaced("  NCCL_DEBUG=INFO\n", "  NCCL_DEBUG=WARN\n"),
        lambda seen: seen.environment,
    ),
    "another fence of PMIx": (replaced("PMIX_FENCE=ring", "PMIX_FENCE=tree"), lambda seen: seen.before),
    "no fence of PMIx": (replaced("export SLURM_PMIX_FENCE=ring", "true"), lambda seen: seen.before),
    "a mount read-write": (replaced(":/data:ro", ":/data"), lambda seen: seen.mounts),
    "a mount elsewhere": (replaced(":/results'", ":/result'"), lambda seen: seen.mounts),
    "two masks swapped": (swapped(MASKS[0] + " ", MASKS[5] + " "), lambda seen: seen.tables),
    "a mask of one CPU less": (
        replaced(MASKS[0] + " ", MASKS[0].replace("ff", "fe", 1) + " "),
        lambda seen: seen.tables,
    ),
    "memory swapped": (replaced("hl_memory=0x8,", "hl_memory=0x2,"), lambda seen: seen.tables),
    "memory only preferred": (replaced('="mask_mem:', '="prefer,mask_mem:'), lambda seen: seen.tables),
    "no masks": (
        replaced('--cpu-bind="mask_cpu:${hl_mask_list%,}"', "--cpu-bind=none"),
        lambda seen: seen.tables,
    ),
    "Slurm's own cores": (
        replaced('--cpu-bind="mask_cpu:${hl_mask_list%,}"', "--cpu-bind=cores"),
        lambda seen: seen.unbridged,
    ),
    "one HCA fewer": (
        replaced("        mlx5_9/0000:cc:00.0/1/InfiniBand'", "        '"),
        lambda seen: seen.tables,
    ),
    "another order of HCAs": (replaced("1:1,0,2,3", "1:0,1,2,3"), lambda seen: seen.tables),
    "one failing rank ends nothing": (
        replaced("  --kill-on-bad-exit=1 # one failing rank ends the job\n", ""),
        lambda seen: seen.one_failure_ends_all,
    ),
    "the wrapper's text": (replaced("set -uf # f:", "set -uf  # f:"), lambda seen: seen.wrapper),
    "the wrapper's settings": (replaced("  openib=1 ", "  strict=1 "), lambda seen: seen.settings),
    "an export added": (
        replaced(BEFORE_LAUNCH, "\nexport NCCL_ALGO=Ring" + BEFORE_LAUNCH),
        lambda seen: seen.environment,
    ),
    "an export taken back": (
        replaced(BEFORE_LAUNCH, "\nunset OMPI_MCA_btl" + BEFORE_LAUNCH),
        lambda seen: seen.before,
    ),
    "an export in srun's way": (
        replaced(BEFORE_LAUNCH, "\nexport SLURM_CPU_BIND=cores" + BEFORE_LAUNCH),
        lambda seen: seen.unread,
    ),
    "an element added to an array": (
        replaced(BEFORE_LAUNCH, "\nhl_environment+=(X=1)" + BEFORE_LAUNCH),
        lambda seen: seen.environment,
    ),
    "an option after the array": (
        replaced("    --error=/dev/fd/3 \\", "    --kill-on-bad-exit=0 --error=/dev/fd/3 \\"),
        lambda seen: seen.one_failure_ends_all,
    ),
    "an array appended to": (
        replaced(BEFORE_LAUNCH, "\nhl_step+=(--nodes=1)" + BEFORE_LAUNCH),
        lambda seen: seen.nodes,
    ),
    "a strange option": (
        replaced("    --error=/dev/fd/3 \\", "    --no-such-option \\"),
        lambda seen: seen.unread,
    ),
    "a word of the command": (replaced("  large.toml\n", "  large.tom\n"), lambda seen: seen.argv),
    "a separator other than ,": (
        replaced("%s,' \"${hl_masks", "%s:' \"${hl_masks"),
        lambda seen: seen.unread,
    ),
    "the environment not cleared": (
        replaced('    *) unset -v "$hl_name" ;;', "    *) ;;"),
        lambda seen: seen.unread,
    ),
    "a name kept": (
        replaced("    PATH | SLURM_CONF", "    FOO | PATH | SLURM_CONF"),
        lambda seen: seen.unread,
    ),
    "another program before it": (
        replaced(BEFORE_LAUNCH, "\nsync" + BEFORE_LAUNCH),
        lambda seen: seen.unbridged,
    ),
    "another link before it": (
        replaced('ln -sn -- "$hl_owner" "$1"', 'ln -sn -- "$hl_owner" "$2"'),
        lambda seen: seen.unbridged,
    ),
    "a file that is read in": (
        replaced(BEFORE_LAUNCH, "\n. ./more.sh" + BEFORE_LAUNCH),
        lambda seen: seen.unread,
    ),
    "only sometimes": (
        replaced(BEFORE_LAUNCH, "\n[ -e /x ] &&" + BEFORE_LAUNCH.lstrip("\n")),
        lambda seen: seen.unread,
    ),
    "a question that is cut short": (
        replaced(BEFORE_LAUNCH, "\ntimeout 10 scontrol --oneliner show" + BEFORE_LAUNCH),
        lambda seen: seen.unbridged,
    ),
    "twice": (SCRIPT + "launch 3>&2 4>&1\n", lambda seen: seen.unbridged),
    "fewer nodes": (replaced("#SBATCH --nodes=2", "#SBATCH --nodes=1"), lambda seen: seen.unread),
    "nodes shared": (
        replaced("#SBATCH --exclusive  # the CPU masks below name cores of the whole node\n", ""),
        lambda seen: seen.whole_node,
    ),
    "a longer time": (replaced("--time=01:00:00", "--time=01:00:01"), lambda seen: seen.seconds),
    "started again": (replaced("#SBATCH --no-requeue", "#SBATCH --requeue"), lambda seen: seen.retries),
    "cyclic": (
        replaced("  --distribution=block\n", "  --distribution=cyclic\n"),
        lambda seen: seen.numbering,
    ),
    "another image": (replaced("pytorch:24.07-py3'", "pytorch:24.08-py3'"), lambda seen: seen.image),
    "another folder": (
        replaced("--container-workdir=/workspace\n", "--container-workdir=/work\n"),
        lambda seen: seen.cwd,
    ),
    "root": (
        replaced("  --no-container-remap-root\n", "  --container-remap-root\n"),
        lambda seen: seen.rights,
    ),
    "read-only": (replaced("  --container-writable\n", "  --container-readonly\n"), lambda seen: seen.rights),
    "saved": (
        replaced("  --container-writable\n", "  --container-writable --container-save=/x.sqsh\n"),
        lambda seen: seen.unbridged,
    ),
    "fewer GPUs for the step": (
        replaced("  --gres=gpu:8\n", "  --gres=gpu:4\n"),
        lambda seen: seen.gpus_per_node,
    ),
    "not the wrapper": (replaced("hpclaunch-rank", "other-rank"), lambda seen: seen.wrapper),
    "no environment for the ranks": (
        replaced("  --export=ALL\n", "  --export=NONE\n"),
        lambda seen: seen.unread,
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_seen(name: str) -> None:
    text, part = BREAKS[name]
    assert part(read(text)) != part(READ)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "#!"),
        ("echo hello\n", "#!"),
        ("#!/bin/bash\necho hello\n", "no srun"),
        (SCRIPT.replace("\n", "\r\n"), "DOS"),
        (replaced("launch() {", "launch() {{"), "script:"),
        (SCRIPT + "echo 'open\n", f"script:{LAST}: reached EOF without closing quote"),
        (SCRIPT + "if true; then :\n", f"script:{LAST}: `if` statement must end with `fi`"),
        (SCRIPT + "\0", "zero byte"),
        (replaced("#SBATCH --nodes=2", "#SBATCH --nodes='2"), "script:5: "),
        (replaced("#SBATCH --nodes=2", "#SBATCH hetjob"), "hetjob"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text, "script")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
