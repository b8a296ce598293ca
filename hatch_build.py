"""Build hook: puts the compiled templates, the texts of ranks in one file, and the shipped site configs into
the wheel."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def texts(folder: Path) -> bytes:
    """The parts of the texts that ranks and pods run, by the names of their files."""
    from msgspec import msgpack

    paths = sorted(path for top in ("wrapper", "pod") for path in (folder / top).rglob("*.sh"))
    return msgpack.encode({path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths})


class Build(BuildHookInterface):
    """Templates become Python modules, since compiling one costs half of a start-up."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # a checkout reads templates/ and site-configs/ where they are
        root = Path(self.root)
        sys.path.insert(0, str(root))
        import jinja2

        from hpclaunch.render.templates import environment

        self.compiled = tempfile.TemporaryDirectory()
        env = environment(jinja2.FileSystemLoader(root / "templates"))
        env.compile_templates(self.compiled.name, zip=None, ignore_errors=False)
        Path(self.compiled.name, "texts").write_bytes(texts(root / "hpclaunch" / "rank"))
        build_data["force_include"][self.compiled.name] = "hpclaunch/_compiled"
        build_data["force_include"][str(root / "site-configs")] = "hpclaunch/_data/site-configs"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.compiled.cleanup()
