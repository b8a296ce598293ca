"""Texts by the grammar of the Kubernetes API. Each check raises ValueError with what would be right.

The grammar is that of k8s.io/apimachinery/pkg/util/validation and k8s.io/kubernetes/pkg/apis/core/validation.
As in `check_text` there are no patterns: compiling them would cost every start more than all checks.
"""

from hpclaunch.spec.scalars import shown
from hpclaunch.values import quantity

LONGEST_LABEL = 63
LONGEST_NAME = 253

_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
ALNUM = _LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_IN_LABEL = _LOWER | {"-"}
_IN_WORD = ALNUM | set("-_.")
_ENDS = "a letter or digit at both ends"


def label(text: str) -> str:
    """A DNS label (RFC 1123): the name of a namespace."""
    if not _is_label(text):
        raise ValueError(
            f"{shown(text)} is not a DNS label: small letters, digits and '-', {_ENDS}, "
            f"at most {LONGEST_LABEL} characters"
        )
    return text


def name(text: str) -> str:
    """The name of most objects: DNS labels joined by dots."""
    if len(text) > LONGEST_NAME or not all(_is_part(part) for part in text.split(".")):
        raise ValueError(
            f"{shown(text)} is not a name that Kubernetes takes: small letters, digits, '-' and '.', "
            f"{_ENDS}, at most {LONGEST_NAME} characters"
        )
    return text


def short_name(text: str) -> str:
    """The name of an object that also stands in labels, as a queue's does."""
    name(text)
    if len(text) > LONGEST_LABEL:
        raise ValueError(f"{shown(text)} has {len(text)} characters, and a label takes {LONGEST_LABEL}")
    return text


def label_key(text: str) -> str:
    """The key of a label, an annotation or a taint, or the name of a resource: [PREFIX/]NAME."""
    prefix, slash, last = text.rpartition("/")
    if not _is_word(last) or (slash and not _is_name(prefix)):
        raise ValueError(
            f"{shown(text)} is not a key such as example.com/name: letters, digits, '-', '_' and '.', "
            f"{_ENDS}, at most {LONGEST_LABEL} characters after a domain and '/'"
        )
    return text


def label_value(text: str) -> str:
    """The value of a label or a taint; it may be empty."""
    if text and not _is_word(text):
        raise ValueError(
            f"{shown(text)} is not a label's value: letters, digits, '-', '_' and '.', "
            f"{_ENDS}, at most {LONGEST_LABEL} characters"
        )
    return text


def resource(text: str) -> str:
    """The name of a resource that a device plugin gives out: DOMAIN/NAME."""
    prefix = label_key(text).rpartition("/")[0]
    if not prefix:
        raise ValueError(f"{shown(text)} has no domain: a device plugin's resource is such as nvidia.com/gpu")
    if prefix == "kubernetes.io" or prefix.endswith(".kubernetes.io"):
        raise ValueError(f"{shown(text)}: kubernetes.io/ is for the resources of Kubernetes itself")
    return text


def secret_key(text: str) -> str:
    """A key of a Secret or a ConfigMap."""
    if not 1 <= len(text) <= LONGEST_NAME or not _IN_WORD.issuperset(text) or text in (".", ".."):
        raise ValueError(f"{shown(text)} is not a key of a Secret: letters, digits, '-', '_' and '.'")
    return text


def memory(text: str) -> int:
    """The bytes of an amount of memory or storage, which is above zero."""
    found = quantity.whole(text)
    if found <= 0:
        raise ValueError(f"{shown(text)} must be above 0")
    return found


def network(text: str) -> str:
    """A Multus attachment: [NAMESPACE/]NAME[@INTERFACE] (multus-cni, parsePodNetworkObjectName)."""
    where, at, device = text.partition("@")
    parts = where.split("/")
    if len(parts) > 2 or not all(_is_part(part) for part in parts):
        raise ValueError(f"{shown(text)} is not a network attachment: NAME, NAMESPACE/NAME or NAME@INTERFACE")
    if at:
        interface(device)
    return text


def interface(text: str) -> str:
    """The name of a network interface, as Linux takes it."""
    if not 1 <= len(text) <= 15 or text in (".", "..") or any(c in "/:@ \t" for c in text):
        raise ValueError(f"{shown(text)} is not the name of an interface: 1 to 15 characters, no '/' or ':'")
    return text


def page_size(text: str) -> int:
    """The bytes of a huge page: 2Mi, 1Gi."""
    try:
        size = quantity.whole(text)
    except ValueError:
        size = 0
    if size <= 0 or size & (size - 1) or quantity.of_bytes(size) != text:
        raise ValueError(f"{shown(text)} is not the size of a huge page: write 2Mi or 1Gi")
    return size


def relative(text: str) -> str:
    """A folder inside a volume (subPath)."""
    if not text or text.startswith("/") or ".." in text.split("/"):
        raise ValueError(f"{shown(text)} is not a folder inside the volume: no / first, and no .. in it")
    return text


def _is_part(text: str) -> bool:
    """One part of a name; its length is the name's affair."""
    return bool(text) and _IN_LABEL.issuperset(text) and text[0] in _LOWER and text[-1] in _LOWER


def _is_label(text: str) -> bool:
    return len(text) <= LONGEST_LABEL and _is_part(text)


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and all(map(_is_part, text.split(".")))


def _is_word(text: str) -> bool:
    ends = bool(text) and text[0] in ALNUM and text[-1] in ALNUM
    return ends and len(text) <= LONGEST_LABEL and _IN_WORD.issuperset(text)
