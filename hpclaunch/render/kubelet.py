"""Words for a container: the kubelet replaces `$(NAME)` and `$$` in its command, args and env values."""

import re

# `$` before anything else stays as it is, so that a shell text can be read; but before a character of several
# bytes the kubelet would take the first of them for a character
# (k8s.io/kubernetes, third_party/forked/golang/expansion).
_REPLACED = r"\$(?=[$(]|[^\x00-\x7f])"


def word(text: str) -> str:
    """The text that the kubelet makes `text` of."""
    return re.sub(_REPLACED, "$$", text) if "$" in text else text
