"""Whether a text is a manifest of Kubernetes, also a damaged one."""

import re

from hpclaunch.convert.programs.names import STEPS, SUBMITTERS, any_of

_HEAD = 64_000
# Line numbers, bullets, tags and quotes that copies have in front of a key.
_BEFORE = r"""^[ \t\u00a0\d>*•\-{"']{0,120}(?:<\w{1,8}>)?[ \t\u00a0{"']{0,40}"""
_VERSION = re.compile(_BEFORE + r"apiVersion[\"'\u201d]?[ \t\u00a0]{0,9}:", re.MULTILINE)
_KIND = re.compile(_BEFORE + r"kind[\"'\u201d]?[ \t\u00a0]{0,9}:", re.MULTILINE)
_SHELL = re.compile(
    r"#!|set -|export\s|source\s|if \[|for \w+ in |\w+=|function |cat\s+<<"
    rf"|{any_of(STEPS, SUBMITTERS)}|kubectl|oc "
)
_FIRST_KEY = re.compile(
    _BEFORE + r"[A-Za-z][\w./-]{0,200}[\"'\u201d]?[ \t\u00a0]{0,9}:(?:\s|$|\")", re.MULTILINE
)


def is_manifest(text: str) -> bool:
    """Whether the text looks like an object of Kubernetes' API in YAML or JSON. A shell script with a
    manifest in a here-document is none."""
    head = text[:_HEAD]
    if not (_VERSION.search(head) and _KIND.search(head)):
        return False
    for line in head.split("\n"):
        bare = line.strip().lstrip("\ufeff")
        if bare.startswith("#!"):
            return False
        if bare.startswith(("#", "%")) or not bare or bare in ("---", "{", "[", "```", "```yaml"):
            continue
        return not _SHELL.match(bare) or _FIRST_KEY.match(line) is not None
    return False
