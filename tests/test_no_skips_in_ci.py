"""A skipped test is a failure in CI, and not elsewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = {
    "test": "import pytest\n\ndef test_it():\n    pytest.skip('no Slurm here')\n",
    "fixture": "import pytest\n\n@pytest.fixture\ndef slurm():\n    pytest.skip('no Slurm here')\n\n"
    "def test_it(slurm):\n    pass\n",
    "module": "import pytest\n\npytest.skip('no Slurm here', allow_module_level=True)\n",
}


@pytest.mark.parametrize("where", SKIPS)
@pytest.mark.parametrize("ci", ["true", ""])
def test_a_skip_fails_in_ci_and_gives_its_reason(tmp_path: Path, where: str, ci: str) -> None:
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "test_inner.py").write_text(SKIPS[where], encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    run = subprocess.run(
        argv, cwd=tmp_path, env={**os.environ, "CI": ci}, capture_output=True, text=True, check=False
    )
    nothing_ran = 5 if where == "module" else 0
    assert (run.returncode != nothing_ran) == bool(ci), run.stdout
    assert "no Slurm here" in run.stdout
