"""Variables without which a script ends, and that it uses for nothing else."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=1 -t 60\n"
_RUN = "\nsrun --container-image=a/b:1 --container-mounts=/d:/d ./t\n"


def _of(lines: str, run: str = _RUN) -> Conversion:
    return convert(classified({"run.sub": _HEAD + lines + run}), Options({}))


@pytest.mark.parametrize(
    "guard",
    [
        '[ -z "$KILN_CACHE" ] && exit 1',
        'if [[ -z "${KILN_CACHE}" ]]; then\n  echo "set KILN_CACHE"\n  exit 2\nfi',
        'test -n "$KILN_CACHE" || { echo none; exit 1; }',
        ': "${KILN_CACHE:?which folder?}"',
        '[ -z "$KILN_CACHE" ] && exit 1\necho "in $KILN_CACHE"',
    ],
)
def test_the_ranks_inherit_what_the_script_cannot_do_without(guard: str) -> None:
    found = _of(guard)
    assert loaded(found.job)["inherit"] == ["KILN_CACHE"]
    (said,) = [each for each in found.findings if each.what == "the script ends without KILN_CACHE"]
    assert said.kind == "carried"
    assert said.places[0].line == 3


def test_a_token_among_them_is_a_secret() -> None:
    job = loaded(_of('[ -z "$WANDB_API_KEY" ] && exit 1').job)
    assert job["secrets"] == ["WANDB_API_KEY"]
    assert "inherit" not in job


@pytest.mark.parametrize(
    "lines",
    [
        '[ -z "$KILN" ] && exit 1\nmkdir -p "$KILN"',
        '[ -z "$KILN" ] && KILN=here',
        'KILN=a\n[ -z "$KILN" ] && exit 1',
        '[ -z "$SLURM_JOB_ID" ] && exit 1',
        '[ -z "$CUDA_VISIBLE_DEVICES" ] && exit 1',
        'for each in $KILN; do echo $each; done\n[ -z "$KILN" ] && exit 1',
    ],
)
def test_what_the_script_uses_itself_or_slurm_sets_is_none_of_them(lines: str) -> None:
    found = _of(lines)
    assert not [each for each in found.findings if each.what.startswith("the script ends without")]
    assert not {"SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES"}.intersection(loaded(found.job).get("inherit", []))


@pytest.mark.parametrize("export", ["export KILN", "export A KILN B", "declare -x KILN"])
def test_what_the_script_exports_as_it_is_the_ranks_have_though_it_uses_that_itself(export: str) -> None:
    found = _of(f': "${{KILN:?}}"\n{export}\numask 077\n./prepare.py --from "$KILN"')
    assert "KILN" in loaded(found.job)["inherit"]


def test_what_srun_keeps_from_the_ranks_is_not_inherited() -> None:
    run = "\nsrun --export=NONE --container-image=a/b:1 ./t\n"
    assert "inherit" not in loaded(_of('[ -z "$KILN" ] && exit 1', run).job)


@pytest.mark.parametrize("before", ["module load kiln/2", "source kiln-settings.sh"])
def test_where_something_else_may_set_it_that_is_said(before: str) -> None:
    found = _of(f'{before}\n[ -z "$KILN" ] && exit 1')
    assert "KILN" not in loaded(found.job).get("inherit", [])
    (said,) = [each for each in found.findings if each.what == "the script ends without KILN"]
    assert (said.kind, said.places[0].line) == ("left", 4)


def test_of_a_variable_with_another_to_stand_in_for_it_both_are_told() -> None:
    lines = 'export HF_TOKEN="${HF_TOKEN:-${HUB_PASS:-}}"\nif [ -z "$HF_TOKEN" ]; then exit 1; fi'
    found = _of(lines)
    assert loaded(found.job)["secrets"] == ["HF_TOKEN"]
    (said,) = [each for each in found.findings if "HUB_PASS" in each.why]
    assert (said.kind, said.what, said.places[0].line) == ("assumed", "HF_TOKEN", 3)
    assert "export HF_TOKEN=$HUB_PASS" in said.todo
    alone = _of('export HF_TOKEN="${HF_TOKEN:-}"\nif [ -z "$HF_TOKEN" ]; then exit 1; fi')
    assert not [each for each in alone.findings if "the script takes" in each.why]


def test_what_the_script_exports_and_gives_no_value_is_inherited() -> None:
    found = _of("export KILN GLAZE_TEMP\nexport CLAY_TOKEN")
    job = loaded(found.job)
    assert (job["inherit"], job["secrets"]) == (["KILN", "GLAZE_TEMP"], ["CLAY_TOKEN"])
    assert next(each.told for each in found.launch if each.name == "environment").startswith("KILN, GLAZE")
    inside = "\nsrun --container-image=a/b:1 bash -c './t $KILN'\n"
    found = _of("export KILN", inside)
    assert loaded(found.job)["inherit"] == ["KILN"]
    assert not [each for each in found.findings if "in the ranks' own shell" in each.what]


@pytest.mark.parametrize("before", ["source kiln.conf", "module load pottery", "mamba activate pottery"])
def test_what_a_file_or_a_module_may_give_it_is_said(before: str) -> None:
    found = _of(f"{before}\nexport KILN GLAZE_TEMP")
    assert "inherit" not in loaded(found.job)
    (said,) = [each for each in found.findings if each.what == "export KILN GLAZE_TEMP"]
    assert said.kind == "left"
    assert "the ranks had it" in said.why


@pytest.mark.parametrize(
    ("lines", "run"),
    [
        ("export KILN\nKILN=3", _RUN),
        ("export KILN=3\nunset KILN", _RUN),
        ("export KILN\nunset KILN", _RUN),
        ("if [ -f hot ]; then KILN=4; fi\nexport KILN", _RUN),
        ("export KILN\nexport -n KILN", _RUN),
        ("( export KILN; ./look )", _RUN),
        ("export KILN", _RUN.replace("srun", "srun --export=NONE")),
        ("", f"{_RUN}export KILN\n"),
    ],
)
def test_what_has_a_value_or_does_not_reach_the_ranks_is_not(lines: str, run: str) -> None:
    assert "KILN" not in loaded(_of(lines, run).job).get("inherit", [])
