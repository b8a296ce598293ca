"""Arrays, also those with keys, and names that stand in variables: the walk gives commands the words that
bash, run for real, gives them."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_walk_bash import run, walk

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_KEYED = (
    'declare -A M=([/data]=/d [/scratch]=/s [x]=y); srun "${!M[@]}" ${M[@]} ${M[/data]} ${#M[@]} ${M[z]-n}',
    'declare -A M; M[a]=1; M[b]=2; M[a]+=3; M+=([c]=4);for k in ${!M[@]}; do X+="$k${M[$k]},"; done; srun $X',
    'declare -A M=(a 1 b 2); k=b; srun "${M[$k]}" "${!M[@]}"',
    'declare -A M=([a]=1 [b]=2); unset \'M[a]\'; srun "${!M[@]}" "${M[a]-gone}"',
    "declare -A M=([a]=1); [[ -v M[a] ]] && srun yes; [[ -v M[b] ]] && srun no; [ -v 'M[a]' ] && srun yes",
    'f() { local -A L=([x]=1); L[y]=2; srun "${!L[*]}" "${L[y]}"; }; f; srun "${L[y]-unset}"',
    "declare -A M=([n]=3); (( M[n] > 2 )) && srun big; srun $(( M[n] * 2 )) $(( ${M[n]} + 1 ))",
    'declare -A M=([a]=1 [b]=2); if [[ -n ${M[c]:-} ]]; then srun c; else srun n; fi; srun "${M[@]/#/x}"',
    'readonly -A R=([p]=1); srun "${R[p]}"; declare -Ax E=([q]=2); srun "${E[q]}"',
    'declare -A C; C[x,y]=1; C["a b"]=2; srun "${C[x,y]}" "${C[a b]}" "${C["a b"]}"',
    'A=(a b c); srun "${!A[@]}"; A[5]=z; srun "${!A[@]}" "${A[-1]}"; A[-1]=q; srun "${A[@]}"',
    'A=(a b c); unset \'A[0]\'; i=1; unset "A[$i]"; srun "${!A[@]}" "${A[@]}" ${#A[@]}',
    'A=([2]=7 [0]=a); srun "${A[@]}" "${!A[@]}" "${A[2]}" $((A[2] + A[1])); n=1; A=(4 5); srun $((A[n-1]))',
    'X=hello; n=X; srun "${!n}" ${!n:-d} "${!n^^}" x${!n}y; m=Q; srun "${!m:-none}" "${!m-}"',
    'L=(a "b c"); n=L[@]; srun "${!n}"; n=L[1]; srun "${!n}" "${!n/b/x}"; n=L; srun "${!n}"',
    'x=(); srun "${x[@]+"${x[@]}"}" end ${x[0]:-none} "${x[@]:+"${x[@]}"}" "${x[@]:-}" "${x[@]+a b}"',
    'x=(p "q r"); srun "${x[@]+"${x[@]}"}" "${x[@]:+a b}"; f() { srun "${@+"$@"}" "${1+x}" e; }; f; f a "b"',
    'f() { srun "${!#}"; n=2; srun "${!n}"; }; f a b "c d"',
    'x="a\'b c"; srun ${x@Q} "${x@U}" "${x@u}"; eval "srun ${x@Q}"; y=AB; srun ${y@L}',
)


@pytest.mark.parametrize("script", _KEYED)
def test_elements_are_those_of_bash(script: str) -> None:
    assert walk(script, {}) == run(script, {})


KEYS = st.lists(st.text(string.ascii_letters + string.digits + "/_-é", min_size=1, max_size=9), max_size=60)


@settings(max_examples=30, deadline=None)
@given(KEYS)
def test_keys_come_in_the_order_of_bash(keys: list[str]) -> None:
    lines = "\n".join(f"M['{key}']={number}" for number, key in enumerate(keys))
    script = f'declare -A M\n{lines}\nsrun "${{!M[@]}}"\nsrun "${{M[@]}}"'
    assert walk(script, {}) == run(script, {})


def test_an_array_that_mounts_are_made_of_is_told_as_such() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=8 --gpus-per-node=8 -t 9\n"
        "declare -A M=([/data]=/d)\nfor k in ${!M[@]}; do V=$k:${M[$k]}; done\ndeclare -A NOBODY=([x]=y)\n"
        "srun --mpi=none --container-image=a/b:1 --container-mounts=$V ./t\n"
    )
    found = convert(classified({"run.sub": text}), Options({}))
    kinds = {place.line: each.kind for each in found.findings for place in each.places}
    assert "/data:/d" in found.job
    assert (kinds[3], kinds[5]) == ("carried", "without effect")


_KEYS_NOT_TOLD = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 9
read -r -a crops <<< "${CROPS}"
declare -A barn=()
for crop in "${crops[@]}"; do
  barn["${crop}"]=$(store_of "$crop")
done
"""


@pytest.mark.parametrize("more", ["", "barn[rye]=/r\n"])
@pytest.mark.parametrize("key", ["${crop}", "rye-2", "8row", "/a/b"])
def test_an_element_behind_keys_that_nobody_knows_is_asked_for_and_not_empty(more: str, key: str) -> None:
    run = f'srun --mpi=none --container-image="${{barn[{key}]}}" --export=ALL,STORE="${{barn[{key}]}}" ./t\n'
    text = f'{_KEYS_NOT_TOLD}{more}for crop in "${{crops[@]}}"; do\n{run}done\n'
    found = convert(classified({"run.sub": text}), Options({}))
    asked = {each.key: each.why for each in found.findings if each.kind == "question"}
    said = "which elements barn has is not told"
    assert (asked["image"], asked["env.STORE"]) == (f"the image: {said}", said)


@pytest.mark.parametrize(
    "made", ["hosts=($(scontrol show hostnames))", "mapfile -t hosts < <(scontrol show hostnames)"]
)
@pytest.mark.parametrize(("index", "is_first"), [("0", True), ("-1", False), ("-2", False), ("1", False)])
def test_the_last_of_hosts_that_nobody_knows_is_not_the_first(made: str, index: str, is_first: bool) -> None:
    text = f"{made}\nsrun --mpi=none --container-image=a/b:1 --export=ALL,CHIEF=${{hosts[{index}]}} ./t\n"
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 9\n"
    found = convert(classified({"run.sub": head + text}), Options({}))
    asked = [each.key for each in found.findings if each.kind == "question"]
    assert ("MASTER_ADDR" in found.job, asked == ["env.CHIEF"]) == (is_first, not is_first)


def test_the_key_of_an_element_is_no_variable_that_somebody_may_give() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 9\ndeclare -A M\n"
        "while IFS== read -r k v; do M[$k]=$v; done < farm.txt\n"
        "srun --mpi=none --container-image=a/b:1 --export=ALL,HERD=${M[cows]} ./t\n"
    )
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.kind == "question"]
    assert (asked.why, "cows" in asked.todo) == ("which elements M has is not told", False)
