"""Texts of a given size for `hpclaunch convert`: some as people write them, and some that no shell takes.

`kinds` has them by name. All are the same in each run.
"""

import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "tests" / "convert" / "scripts"
LAUNCHERS = {
    "pyxis": (SCRIPTS / "pyxis" / "resnet" / "run.sub").read_text(),
    "docker": (SCRIPTS / "docker_ssh" / "keys.sub").read_text(),
}
_ALPHABET = "abcXY_019 \n\n\t$${}()[]\"'`;&|<>#=\\!*?~-/:.,"
_WORDS = "if then fi for in do done case esac { } (( )) [[ ]] $( )"
_SIGNS = r"""" ' ( ) ` ${ $( $(( { } (( [[ if fi do case <<EOF a=( && | ;; \ """
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: pod-%06d}
spec:
  containers:
  - {name: c, image: "nvcr.io/x/y:1", command: [python, train.py], env: [{name: A, value: "%06d"}]}
---
"""
_MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: l
            image: nvcr.io/x/y:1
            command: [mpirun, -n, "16", python, train.py]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: w
            image: nvcr.io/x/y:1
            resources: {limits: {nvidia.com/gpu: 8}}
"""


def repeated(line: str, size: int, end: str = "") -> str:
    """As many of these lines as fit, each with its number in the places for it."""
    places = len(re.findall("%0?[0-9]*d", line))
    first = line % ((0,) * places) if "%" in line else line
    count = max((size - len(end)) // len(first), 1)
    if not places:
        return first * count + end
    return "".join(line % ((number,) * places) for number in range(count)) + end


def nested(begin: str, middle: str, end: str, count: int, indent: bool = False) -> str:
    """A command within others."""
    pad = [" " * (number if indent else 0) for number in range(count)]
    return "".join(p + begin for p in pad) + middle + "".join(p + end for p in reversed(pad))


def _random(size: int, tokens: tuple[str, ...] | str, seed: int) -> str:
    return "".join(random.Random(seed).choices(tokens, k=size))


def _characters(text: str, size: int) -> str:
    return text * (size // len(text))


def _nested_of(begin: str, end: str) -> Callable[[int], str]:
    def made(size: int) -> str:
        one = nested(begin, "srun a\n", end, 30)
        return one * max(size // len(one), 1)

    return made


def _deep_of(begin: str, middle: str, end: str) -> Callable[[int], str]:
    return lambda size: nested(begin, middle, end, size // len(begin + end))


def _lines(line: str, begin: str = "", end: str = "") -> Callable[[int], str]:
    return lambda size: begin + repeated(line, size - len(begin), end)


def _one_run(begin: str, option: str, end: str = "") -> Callable[[int], str]:
    return lambda size: begin + repeated(option, size - len(begin)) + end + "\n"


_RUN = "srun --mpi=none --ntasks-per-node=8 --container-image=a/b:1"
_PLAIN: dict[str, Callable[[int], str]] = {
    "exports": _lines('export SETTING_%06d="${HOME}/some/folder"\n'),
    "short exports": _lines("export S%06d=1\n"),
    "one export": _lines("export SETTING=%06d\n"),
    "appended": _lines('export LIST="$LIST %06d"\n'),
    "defaults": _lines('SETTING_%06d="${SETTING_%06d:-value}"\n'.replace("SETTING_%06d:", "OTHER:")),
    "defaults of their own": _lines(': "${SETTING_%06d:=value of it}"\n'),
    "wanted": _lines('x="$SETTING_%06d/folder"\n'),
    "chain": lambda size: "A0=1\n" + "".join(f'A{n + 1}="$A{n}"\n' for n in range(size // 24)),
    "echoes": _lines('echo "line %06d of the log"\n'),
    "launchers in texts": _lines(
        f"srun bash -c 'cd /w; source e.sh; torchrun --nproc_per_node 8 t.py --seed %06d {'--a b ' * 8}'\n"
    ),
    "few long launchers in texts": _lines(
        f"srun bash -c 'cd /w && torchrun --nnodes 2 --nproc_per_node 8 t.py {'--a x%06d ' * 500}'\n"
    ),
    "tests and echoes": _lines('[[ -z "${A:-}" ]] || echo "line %06d" >> "$LOGDIR/log.txt"\n'),
    "comments": _lines("# a line of text, number %06d\n"),
    "empty lines": _lines("\n"),
    "directives": _lines("#SBATCH --comment=number%06d\n"),
    "document": _lines("# a line of text, number %06d\n", "cat > notes.txt <<'EOF'\n", "EOF\n"),
    "document of variables": _lines("line $A of ${B:-%06d}\n", "cat > notes.txt <<EOF\n", "EOF\n"),
    "short directives": _lines("#SBATCH -N 2\n"),
    "short documents": _lines("cat <<E\nx\nE\n"),
    "short documents in files": _lines("cat <<E > f\nx $A\nE\n"),
    "documents": _lines("cat > notes.txt <<'EOF'\ntext %06d\nEOF\n"),
    "one line": lambda size: "echo " + repeated("word%06d ", size - 6) + "\n",
    "one line of commands": _lines("true %06d; "),
    "one pipeline": lambda size: "cat x" + " | cat x" * (size // 8) + "\n",
    "one list": lambda size: "true" + " && true" * (size // 8) + "\n",
    "one value": lambda size: "A='" + "x" * (size - 5) + "'\n",
    "array": lambda size: "NODES=(" + repeated("node%06d ", size) + ")\n",
    "array of lines": lambda size: "NODES=(\n" + repeated("  node%06d\n", size) + ")\n",
    "array appended": _lines("NODES+=(node%06d)\n"),
    "functions": _lines("function_%06d() {\n  echo one\n  export A=1\n}\n"),
    "functions called": _lines("f_%d() { echo one; }\n".replace("%d", "%06d") + "f_000000\n"),
    "ifs": _lines('if [ "$A" = %06d ]; then\n  echo one\nfi\n'),
    "ifs that set": _lines('if [ "$A" = %06d ]; then\n  export B=1\nelse\n  B=2\nfi\n'),
    "ifs that ask": _lines('if [ "$A" = 1 ]; then export B%06d="$C"; else export D=2; fi\n'),
    "lists that ask": _lines("[ $A = 1 ] && export B%06d=1\n"),
    "mounts that ask": _lines('[ $A = 1 ] && MOUNTS+=",/a%06d:/b"\n'),
    "sources and exports": _lines("source x%06d.sh\nexport A%06d=1\n"),
    "exports of unknowns": _lines("export A%06d=$B%06d\n"),
    "steps": _lines("srun -n 2 --ntasks-per-node=1 mkdir -p /raid/a%06d\n"),
    "steps in functions": _lines("f%06d() { srun -n 2 touch /raid/a%06d; }\nf%06d\n"),
    "steps on a condition": _lines("if [ $A = 1 ]; then srun -n 2 touch /raid/a%06d; fi\n"),
    "unset and set": _lines("unset A%06d; export A%06d=1\n"),
    "environment of a container": _one_run(f"{_RUN} --container-env=A", ",A%06d", " ./train"),
    "words of a run": _one_run(f"{_RUN} ./train", " --a%06d $A%06d"),
    "script of a run": _one_run(f"{_RUN} bash <<E\n", "export A%06d=$A%06d\n", "./train\nE"),
    "variables before a run": _one_run("", "A%06d=1 ", f"{_RUN} ./train"),
    "options of docker": _one_run("docker run --gpus all", " -v /a%06d:/b%06d -e A%06d", " a/b:1 ./train"),
    "options of srun": _one_run("srun --mpi=pmix", " -v --comment=a%06d", " ./train"),
    "options of mpirun": _one_run("mpirun -np 16", " -x A%06d --mca a%06d b", " ./train"),
    "one case": _lines("  %06d) echo one;;\n", 'case "$A" in\n', "esac\n"),
    "one case that falls through": _lines("  %06d) echo one;&\n", 'case "$A" in\n', "esac\n"),
    "one elif": lambda size: "if a; then b\n" + "elif c; then d\n" * (size // 15) + "fi\n",
    "loops": _lines("for i in 1 2 3 %06d; do\n  echo $i\ndone\n"),
    "loops that compute": _lines("for i in 1 2 3 %06d; do\n  A=$((A+i))\ndone\n"),
    "cases": _lines('case "$A" in\n  x) echo %06d;;\n  *) B=2;;\nesac\n'),
    "nested cases": _nested_of('case "$A" in\nx)\n', ";;\nesac\n"),
    "documents in loops": _lines("for i in 1 2; do\n  cat > n$i <<EOF\ntext $i %06d\nEOF\ndone\n"),
    "loop of many words": lambda size: "for i in " + repeated("w%06d ", size) + "; do srun $i; done\n",
    "computing loop of many words": lambda size: (
        "for i in " + repeated("%06d ", size) + "; do A=$((A+i)); done\n"
    ),
    "elements": _lines("NODES[%06d]=node\n"),
    "all elements": lambda size: (
        "NODES=(" + repeated("n%06d ", size // 2) + ")\n" + repeated('A="${NODES[@]}"\n', size // 2)
    ),
    "continued lines": lambda size: "srun \\\n" + repeated("  --option-%06d=1 \\\n", size) + "  x\n",
    "continued commands": _lines("program --with %06d \\\n  --and more \\\n  --end\n"),
    "conditions": _lines('[[ "$A" == %06d ]] && echo one || B=two\n'),
    "many conditions": _lines('[[ -n "$A" && "$B" != %06d || -f "$C" ]]\n'),
    "printfs": _lines('printf \'%%s %06d\\n\' "$A" >> "$LOG" 2>&1\n'),
    "lengths": _lines('A="${B%%%%.*}${#C}${D:%06d:2}"\n'),
    "chain of few": lambda size: (
        "A0=1\n"
        + "".join(f"A{n + 1}=$A{n}x\n" for n in range(3000))
        + repeated('export B="$A3000"\n', size // 2)
    ),
    "nested ifs": _nested_of("if x; then\n", "fi\n"),
    "nested loops": _nested_of("for i in a b; do\n", "done\n"),
    "nested functions": _nested_of("f() {\n", "}\n"),
    "deep ifs": _deep_of("if x; then\n", "srun a\n", "fi\n"),
    "3000 deep ifs": lambda size: nested("if x; then\n", "srun a\n", "fi\n", 3000),
    "deep loops": _deep_of("while x; do\n", "srun a\n", "done\n"),
    "deep subshells": _deep_of("(", "srun a", ")"),
    "deep substitutions": _deep_of("$(", "srun a", ")"),
    "deep parameters": _deep_of("${a:-", "b", "}"),
    "deep arithmetic of parentheses": lambda size: f"A=$(( {'(' * (size // 2)}1{')' * (size // 2)} ))\n",
    "lines of nested substitutions": _lines("A=$(a $(b $(c %06d)))\n"),
    "deep arithmetic": _deep_of("$((", "1", "))"),
    "substitutions": _lines("A=$(date +%%s%06d)\n"),
    "a line of --user": lambda size: "./upload.sh --user " * (size // 19) + "\n",
    "a line of arrays": lambda size: "TOKEN=(a " * (size // 9) + "\n",
    "a line of quotes": lambda size: ';"pwd=' * (size // 6) + "\n",
    "a line of dashes": lambda size: "srun " + "-" * size + "\n",
    "names of one read": lambda size: "read " * (size // 5) + "<<< x\n",
    "backticks": _lines("A=`date +%%s%06d`\n"),
    "arithmetic": _lines("A=$((A + %06d))\n"),
    "scripts written and submitted": _lines(
        "cat > r%06d.sh <<E\n#!/bin/bash\n#SBATCH -N 2\nsrun ./t %06d\nE\nsbatch r%06d.sh\n"
    ),
    "sources": _lines("source folder/config_%06d.sh\n"),
    "environments": _lines("source /opt/x%06d/env.sh\n"),
    "environments on conditions": _lines("if [ -f /opt/x%06d ]; then source /opt/x%06d; fi\n"),
    "environments and unset": _lines("source /opt/x%06d/env.sh; unset A%06d\n"),
    "modules": _lines("module load a/%06d\n"),
    "modules in lists": _lines("module load a/%06d && module load b/%06d\n"),
    "folders": _lines("cd /data/a%06d\n"),
    "removals": _lines("rm -f /data/a%06d\n"),
    "traps": _lines("trap 'rm -f /data/a%06d' EXIT\n"),
    "scripts": _lines("./prepare.sh %06d\n"),
    "branches that end": _lines("if [ -f /data/a%06d ]; then exit 1; fi\n"),
    "evals": _lines('eval "A=%06d"\n'),
    "sruns": _lines("srun -N 2 --ntasks-per-node 8 --container-image=x:%06d python train.py\n"),
    "docker runs": _lines("docker run --rm --gpus all -v /a:/b image:%06d python train.py\n"),
    "ssh": _lines("ssh node%06d docker exec c python train.py\n"),
    "mpiruns": _lines("mpirun -n 16 -x A%06d python train.py\n"),
    "mounts": lambda size: 'srun --container-mounts="' + repeated("/a/%06d:/b,", size) + '" x\n',
    "programs": _lines("program --with %06d\n"),
    "keys": _lines("export API_%06d_TOKEN=abcdef%06d\n".replace("abcdef%06d", "abcdef")),
    "CR LF": _lines('export SETTING_%06d="${HOME}/some/folder"\r\n'),
}
_BROKEN: dict[str, Callable[[int], str]] = {
    **{f"a million of {char}": partial(_characters, char) for char in "\"'()`${}[]\\<>&|;#=!*~a"},
    **{f"lines of {char}": partial(_characters, char + "\n") for char in _SIGNS.split()},
    "quotes among words": _lines("echo it's line %06d\n"),
    "an odd quote": lambda size: (
        repeated("echo line %06d\n", size // 2) + "echo it's\n" + repeated("echo line %06d\n", size // 2)
    ),
    "an odd quote among quotes": lambda size: (
        repeated('echo "line %06d"\n', size // 2) + 'echo it"s\n' + repeated('echo "line %06d"\n', size // 2)
    ),
    "missing fi": lambda size: "if true; then\n" + repeated("echo line %06d\n", size),
    "many missing fi": _lines("if true; then\n  echo %06d\n"),
    "stray done": _lines("echo %06d\ndone\n"),
    "unclosed documents": _lines("cat <<EOF%06d\n"),
    "quoted lines without an end": _lines('echo "line %06d\n'),
    "shell alphabet": lambda size: _random(size, _ALPHABET, 1),
    "shell words": lambda size: _random(
        size // 3, (*(f"{word} " for word in _WORDS.split()), "\n", "a ", "x "), 3
    ),
    "letters": lambda size: _random(size, "abc \n", 4),
    "unicode": lambda size: _random(size // 3, "aä€😀\u202e\u2028 \n\"'", 5),
    "zero bytes": lambda size: "srun a\n" + "\0" * size,
    "garbage of one letter": lambda size: "x\n" * (size // 2),
    "CR": lambda size: "export A=1\r" * (size // 11),
    "control characters": lambda size: _random(size, "".join(map(chr, range(1, 128))), 6),
    "one word": lambda size: "a" * size,
    "base64": lambda size: _random(size, "ABCDEFabcdef0123456789+/\n", 7),
    "prose": lambda size: repeated("This is line %06d of a report; it isn't a script (really).\n", size),
    "log": lambda size: repeated("0: [2021-06-01 12:00:%06d] epoch=1 loss=0.1 (it/s: 12)\n", size),
    "Python": lambda size: repeated("def f_%06d(x):\n    return {'a': [x, \"b\"], 'c': (1, 2)}\n\n", size),
    "HTML": lambda size: repeated('<p class="a">it\'s %06d &amp; <b>more</b></p>\n', size),
    "JSON": lambda size: "[" + repeated('{"a": %06d, "b": ["c"]},\n', size) + "]",
}
_MANIFESTS: dict[str, Callable[[int], str]] = {
    "pods": lambda size: "".join(_POD % (n, n) for n in range(size // len(_POD))),
    "MPIJobs": lambda size: (_MPIJOB + "---\n") * (size // (len(_MPIJOB) + 4)),
    "MPIJob with variables": lambda size: (
        _MPIJOB + "            env:\n" + repeated("            - {name: V%06d, value: x}\n", size)
    ),
    "MPIJob with comments": lambda size: _MPIJOB + repeated("# comment %06d\n", size),
    "MPIJob with one text": lambda size: _MPIJOB + "            args:\n            - " + "x" * size + "\n",
    "MPIJob with one text of variables": lambda size: (
        _MPIJOB + "            args:\n            - " + "$(A)" * (size // 4) + "\n"
    ),
    "MPIJob with a script": lambda size: _MPIJOB.replace(
        '[mpirun, -n, "16", python, train.py]',
        "\n            - bash\n            - -c\n            - |\n"
        + repeated("              echo line %06d\n", size)
        + "              mpirun -n 16 python train.py",
    ),
    "deep flow": lambda size: "kind: " + "[" * (size // 2) + "]" * (size // 2) + "\n",
    "open flow": lambda size: "kind: " + "[" * size + "\n",
    "open maps": lambda size: "kind: " + "{" * size + "\n",
    "deep block": lambda size: (
        "kind: Pod\n" + "".join(" " * n + "a:\n" for n in range(int((2 * size) ** 0.5)))
    ),
    "deep lists": lambda size: "kind: Pod\na:\n" + "- " * (size // 2) + "x\n",
    "wide": _lines("key_%06d: value\n", "apiVersion: v1\nkind: Pod\n"),
    "wide list": _lines("- value %06d\n", "apiVersion: v1\nkind: Pod\nspec:\n"),
    "same keys": _lines("key: value\n", "apiVersion: v1\nkind: Pod\n"),
    "aliases": lambda size: (
        "apiVersion: v1\nkind: Pod\na0: &a0 [x, x]\n"
        + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(size // 38))
    ),
    "one alias": _lines("- *a\n", "apiVersion: v1\nkind: Pod\na: &a {x: y}\nb:\n"),
    "merges": lambda size: (
        "apiVersion: v1\nkind: Pod\na0: &a0 {x: y}\n"
        + "".join(f"a{n + 1}: &a{n + 1}\n  <<: *a{n}\n  k{n}: v\n" for n in range(size // 40))
    ),
    "empty documents": _lines("---\n", "kind: Pod\n"),
    "broken documents": _lines("---\nkind: Pod\n  name: [x\n"),
    "tabs": _lines("kind: Pod\n\tname: x%06d\n"),
    "wrong indentation": _lines("   name: x\n  kind: Pod\n    a: %06d\n"),
    "missing colons": _lines("kind Pod\nname: x%06d\n", "apiVersion: v1\nkind: Pod\n"),
    "quotes": _lines("a%06d: 'it's'\n", "apiVersion: v1\nkind: Pod\n"),
    "numbers": lambda size: "kind: Pod\na: " + "1" * size + "\n",
    "template": _lines("a%06d: {{ .Values.x }}\n", "apiVersion: v1\nkind: Pod\n"),
}


def kinds(size: int) -> dict[str, tuple[str, Callable[[], str]]]:
    """The name of a file and what makes its text, by what it is. Shell texts stand behind a launcher and
    before one; manifests alone."""
    found: dict[str, tuple[str, Callable[[], str]]] = {}
    for family, launcher in LAUNCHERS.items():
        for name, made in (_PLAIN | _BROKEN).items():
            left = size - len(launcher) - 14
            found[f"{name}, behind {family}"] = ("a.sh", partial(_behind, launcher, made, left))
            found[f"{name}, before {family}"] = ("a.sh", partial(_before, launcher, made, left))
        found[f"{family}, repeated"] = ("a.sh", partial(_again, launcher, size))
    for name, made in _MANIFESTS.items():
        found[f"manifest: {name}"] = ("a.yaml", partial(made, size))
    return found


def _behind(launcher: str, made: Callable[[int], str], size: int) -> str:
    return f"{launcher}\n{made(size)}"


def _before(launcher: str, made: Callable[[int], str], size: int) -> str:
    return f"#!/bin/bash\n{made(size)}\n{launcher}"


def _again(launcher: str, size: int) -> str:
    return f"{launcher}\n" * (size // len(launcher))
