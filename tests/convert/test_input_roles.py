"""What each given file is taken for."""

import pytest

from hpclaunch.convert.inputs import classified

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n"
HERE = f"kubectl apply -f - <<EOF\n{POD}EOF\n"


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("standard input", POD, "manifest"),
        ("copied.txt", "".join(f"{n}  {line}\n" for n, line in enumerate(POD.splitlines(), 1)), "manifest"),
        ("copied.txt", POD.replace("  ", "\u00a0 "), "manifest"),
        ("x.json", "[]", "manifest"),
        ("standard input", '{"kind": "Pod", "apiVersion": "v1"}', "manifest"),
        ("standard input", '{\n  "apiVersion": "v1",\n  "kind": "Pod"\n}', "manifest"),
        ("apply.sh", HERE, "shell"),
        ("apply.sh", "#!/bin/sh\n" + HERE, "shell"),
        ("run.sub", "#!/bin/bash\nsrun ./a\n", "shell"),
        ("hosts", "n1 slots=8\nn2 slots=8\n", "hostfile"),
        ("mounts.txt", "/a:/b\n/c:/d:ro\n", "mounts"),
        ("notes", "Dear all,\n", "unclear"),
        ("train.py", "#!/usr/bin/env python\nx = 1\n", "program"),
        ("train.py", "for i in x:\n    y=1\n", "program"),
    ],
)
def test_a_file_is_taken_for_what_it_is(name: str, text: str, role: str) -> None:
    assert [each.role for each in classified({name: text})] == [role]
