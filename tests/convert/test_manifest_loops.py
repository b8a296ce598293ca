"""MPIJobs whose launcher's text starts its ranks in a loop: trials where the loop counts them."""

import textwrap

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.options import Options

FILE = "bench.yaml"
HEAD = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: bench}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec: {containers: [{name: w, image: "reg.io/bench:1", resources: {limits: {nvidia.com/gpu: 8}}}]}
    Launcher:
      template:
        spec:
          containers:
          - name: l
            image: reg.io/bench:1
            command: [bash, -c]
            args:
            - |
"""
ABOVE = HEAD.count("\n")


def converted(text: str) -> Draft:
    draft = Draft()
    convert([(FILE, HEAD + textwrap.indent(text, " " * 14))], draft, Options({}))
    return draft


def facts(draft: Draft) -> dict[str, object]:
    assert not any(fact.is_open for fact in draft.facts.values())
    return {".".join(map(str, key)): fact.value for key, fact in draft.facts.items()}


def test_a_loop_of_trials_with_a_seed() -> None:
    text = """\
set -e
until mpirun -np 16 --bind-to none nvidia-smi -L; do
  sleep 5
done
for i in 1 2 3; do
  mpirun -np 16 -x SEED=$i --bind-to none ./bench --seed $i
done
"""
    draft = converted(text)
    found = facts(draft)
    assert (found["nodes"], found["ranks_per_node"]) == (2, 8)
    assert (found["trials.count"], found["trials.seed"], found["trials.first_seed"]) == (3, "SEED", 1)
    assert "trials.keep_going" not in found
    assert "env.SEED" not in found
    assert found["command"] == 'exec ./bench --seed "$HPCLAUNCH_TRIAL"'
    waited = [each for each in draft.findings if each.what.startswith("until mpirun")]
    assert [(each.kind, each.places[0].line, each.places[0].last) for each in waited] == [
        ("replaced", ABOVE + 2, ABOVE + 4)
    ]


def test_what_each_round_does_beside_the_run_is_told() -> None:
    text = """\
TRIALS=4
for run in $(seq 1 $TRIALS); do
  echo "trial $run"
  rm -rf /scratch/cache
  mpirun -np 16 -x NCCL_DEBUG=INFO -x RUN=run-$run --bind-to none ./bench --out /r/$run.log
done
python summary.py /r
"""
    draft = converted(text)
    found = facts(draft)
    assert (found["trials.count"], found["trials.keep_going"]) == (4, True)
    assert found["env.NCCL_DEBUG"] == "INFO"
    assert found["command"] == (
        'export RUN=run-"$HPCLAUNCH_TRIAL"; exec ./bench --out /r/"$HPCLAUNCH_TRIAL".log'
    )
    told = {each.what: (each.kind, each.places[0].line) for each in draft.findings}
    assert told["rm -rf /scratch/cache"] == ("left", ABOVE + 4)
    assert told["python summary.py /r"] == ("left", ABOVE + 7)
    assert told['echo "trial $run"'] == ("without effect", ABOVE + 3)


def test_a_loop_over_values_stays_a_question() -> None:
    text = """\
for size in small large; do
  mpirun -np 16 ./bench --size $size
done
"""
    draft = converted(text)
    assert draft.facts[("command",)].is_open
    assert ("trials", "count") not in draft.facts


def test_two_runs_in_a_round_stay_a_question() -> None:
    text = """\
for i in 1 2; do
  mpirun -np 16 ./first
  mpirun -np 16 ./second
done
"""
    draft = converted(text)
    assert draft.facts[("command",)].is_open
    assert ("trials", "count") not in draft.facts
