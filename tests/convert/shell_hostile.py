"""Texts that mean harm, or are very long."""

# Each would take for ever, or all memory, if it were carried out; or it is a megabyte of what people write.
HOSTILE = {
    "text that doubles": "a=xxxxxxxxxxxxxxxx\n" + "a=$a$a\n" * 60 + "srun $a\n",
    "unknown text that doubles": "a=$u\n" + "a=$a$a\n" * 60 + "srun $a\n",
    "text that grows by a word": "X=a\n" + "".join(f'X+=" word{n}"\n' for n in range(30000)) + 'srun "$X"\n',
    "text that grows, handed on": "export X=a\n"
    + "".join(f'X+=" {n:060}"\nsrun ./t "$X"\n' for n in range(10000)),
    "arrays that double": "a=(1 2 3)\n" + 'a+=("${a[@]}")\n' * 60,
    "long text again and again": "a=" + "x" * 400_000 + "\n" + "b=$a$a; srun $b\n" * 5000,
    "loops in loops": "for i in {1..9999}; do " * 20 + "srun x" + "; done" * 20,
    "loops that compute": "for i in {1..900}; do " * 3 + "x=$((x+1))" + "; done" * 3,
    "calls that double": "f0() { srun x; }\n"
    + "".join(f"f{n + 1}() {{ f{n}; f{n}; }}\n" for n in range(40))
    + "f40\n",
    "a function that calls itself": "f() { f; f; srun x; }\nf\n",
    "eval of eval": 'e=\'eval "$e"; eval "$e"\'\neval "$e"\n',
    "eval that doubles": "x=:\n" + 'x="$x; $x"\n' * 30 + 'eval "$x"\n',
    "a file that sources itself": "source run.sub\n. ./run.sub\n" * 50 + "srun x\n",
    "braces": "srun " + "{a,b}" * 40 + "\n",
    "braces in braces": "srun " + "{a," * 3000 + "}" * 3000 + "\n",
    "a long range": "for i in {1..99999999}; do srun $i; done\nfor i in $(seq 1 999999999); do srun $i; done",
    "1000 levels of if": "if x; then\n" * 1000 + "y\n" + "fi\n" * 1000,
    "1000 levels of (": "(" * 1000 + "x" + ")" * 1000,
    "1000 levels of $(": "$(" * 1000 + "x" + ")" * 1000,
    "1000 levels of ${": "${x:-" * 1000 + "}" * 1000,
    "1000 levels of backslashes in ``": "`" * 999,
    "arithmetic": "x=$((" + "(" * 5000 + "1" + ")" * 5000 + "))\n",
    "a pattern": "x=" + "*a" * 5000 + "\ny=${x%%" + "*a" * 2000 + "}\n",
    "conditions": "if a; then x=1; fi\n" * 4000,
    "conditions in each other": "if x; then " * 35 + "a=1" + "; fi" * 35,
    "many !": "! " * 20000 + "x",
    "many &&": "x && " * 20000 + "x",
    "many |": "x | " * 5000 + "x",
    "many here-documents": "cat <<E\nx $y\nE\n" * 20000,
    "here-documents without an end": "cat <<E\n" * 3000,
    "quotes": "'\"" * 20000,
    "many assignments": "".join(f"export V{n}=${{X{n}:-{'d' * 30}{n}}}\n" for n in range(18000)),
    "many commands": "export A=1 B=2\n" + "".join(f'srun -N 2 --x={n} "$A" b $B\n' for n in range(30000)),
    "many with an environment": "".join(f"export V{n}=1\n" for n in range(300))
    + "S=1 srun a\nV0=$V1 srun b\n" * 15000,
    "one here-document": "cat <<E\n" + "text of $X and more\n" * 50000 + "E\n",
    "one line": "srun " + "word $X " * 120000 + "\n",
    "one array": "a=(" + 'word "$X"\n' * 90000 + ')\nsrun "${a[@]}"\n',
    "many elements": "".join(f"a+=({n})\nb[{n}]=1\n" for n in range(20000)),
    "blocks in blocks": ("if x; then\n" * 30 + "a=1\nsrun b\n" + "fi\n" * 30) * 2000,
    "comments": "# words and words and words\n" * 36000,
}
