"""Secrets as they stand in texts: by the name beside them, by the option that takes them, in addresses and
headers, and by a form that only tokens have.

The forms of tokens are those that GitHub, GitLab, Hugging Face, OpenAI, AWS, Slack, NVIDIA's NGC, PyPI and
Docker's hub document for scanners of texts; options are those of curl(1), sshpass(1), docker-login(1),
mysql(1), sudo(8), kinit(1), ssh-keygen(1), openssl-enc(1), openssl-passphrase-options(1), redis-cli,
`aws configure set` and `wandb login`; the words of ~/.netrc are
those of curl(1).
"""

import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache

HIDDEN = "***"
# Names of variables and options whose value is a secret, as CI systems and vaults take them. What a tokenizer
# calls a token, and how many of them there are, is none.
_SECRET = re.compile(
    r"(?:(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|CREDENTIAL)S?|(?:^|_)(?:PASS|PAT)|PW|[A-Z_](?<!OLD)PWD"
    r"|(?:^|_)(?:DB|SSH|PG|SQL|MYSQL|REDIS|LDAP|SMTP|FTP|USER|ROOT|ADMIN|SUDO|VPN|GIT)PASS"
    r"|(?:^|_)(?:SECRET|PASSPHRASE|PASSWORD)_(?!\w*(?:NAME|FILE|PATH|DIR|MOUNT|VERSION)$)\w+|(?:^|_)CREDS?"
    r"|(?:^|_)(?:MY|ACCOUNT|ACCESS|SHAREDACCESS|SIGNING|ENCRYPTION|LICENSE)KEY|(?:^|_)WEBHOOK(?:_URL)?"
    r"|(?:^|_)(?<!USE_)(?<!NO_)(?<!ENABLE_)(?<!DISABLE_)(?<!REQUIRE_)AUTH"
    r"|(?<!(?:PAD|EOS|BOS|SEP|CLS|UNK|MAX|MIN|NUM|PER|END)_)(?<!(?:MASK|STOP|NEXT|LAST)_)TOKEN"
    r"|(?<!SORT)(?<!PUBLIC)(?<!PRIMARY)(?<!CACHE)(?<!ROUTING)_KEY)$",
    re.IGNORECASE,
)
# One of these is in each of them: to search a name for all takes ten times as long.
_IN_SECRETS = ("PASS", "PAT", "PW", "SECRET", "KEY", "CRED", "AUTH", "TOKEN", "WEBHOOK")
# Of options alone: a `key:` of a manifest and the shell's PWD have none.
_OPTIONS = frozenset(("KEY", "PWD"))
# Behind KEY= and AUTH= stand other words too: what has no digit in it and is shorter than a key is one. After
# an option of that name all is a secret but for files, numbers and schemes of authentication.
_LIKE_ONE = re.compile(r"(?:bearer|basic|token)\s.*|(?=[^0-9]*[0-9]).{6,}|.{20,}", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(
    r"kerberos|krb5|gssapi|spnego|basic|digest|ntlm|negotiate|oauth2?|oidc|saml|ldap|munge|jwt|mtls|token|bearer",
    re.IGNORECASE,
)
_FIELD = re.compile(r"[\d.,]+[a-zA-Z]*|[a-z_]{1,6}")  # of sort --key, or a field's name
# Keys of a dictionary of data, as programs that train ask for: --input-key prompt, --label_key answer.
_OF_DATA = re.compile(
    r"(?:^|_)(?:ANSWER|AUDIO|CAPTION|CHAT|CHOSEN|COLUMN|CONTEXT|DATA|DICT|FEATURE|ID|IMAGE|IMG|INDEX|INPUT|JSON"
    r"|LABEL|MESSAGES?|METRIC|OUTPUT|PROMPT|QUESTION|REJECTED|RESPONSE|REWARD|REWARD_FN|SPLIT|TARGET|TEXT|TOOL"
    r"|VIDEO)_KEY$"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.]{0,30}[0-9]?")
_FILE = re.compile(r"[\w./-]+\.(?:pem|key|crt|cer|pub|asc|gpg|json|ya?ml|txt|py)", re.IGNORECASE)
# The last one may begin with a quote that nothing closes: such a text is mended, and told.
_VALUE = r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[\"']?[^\s\"';|&<>()]+)"
_NAME = r"(?P<name>[A-Za-z_][\w-]{0,60})"
# Behind ${NAME:? stands what is said where nobody gave it, and an option is no value of a word before it.
_NAMED = re.compile(rf"(?<![\w$-]){_NAME}[\"']?(?:=|:(?!\?)[ \t]*(?!-\w\s))")
_OPTION = re.compile(rf"(?<![\w-])--?{_NAME}(?:=|[ \t]+)(?!-)")
_BEHIND = re.compile(_VALUE)
_ELEMENTS = re.compile(r"\(([^()]{0,4000})")
# `read` gives these a value that is in the text.
_READ = re.compile(rf"\bread\b(?P<names>[^\n|;&<]{{0,400}})<<<[ \t]*{_VALUE}")
_LINE = r"[^\n|;&]{0,400}?"
_PORTS = r"[\d.:-]*\d:\d[\d-]*(?:/\w+)?(?:\s|$)"  # docker run -p 8080:80
_INPUT = rf"(?:\bsudo\b{_LINE}[ \t]-\w*S\b|\bsudo\b{_LINE}--stdin\b|--password-stdin\b|\bkinit\b)"
_BEFORE = r"(?:-[enE]+[ \t]+|[\"']%s(?:\\n)?[\"'][ \t]+)?"
_FORMS = tuple(
    (name, re.compile(text))
    for name, text in (
        ("PASSWORD", r"\b\w[\w+.-]{0,20}://[^\s/:@\"'$]{0,80}:(?P<value>[^\s/@\"'$]+)@"),
        ("TOKEN", r"\b\w[\w+.-]{0,20}://(?P<value>[^\s/:@\"'${}]{16,200})@"),
        ("PASSWORD", r"\b[\w.+-]{1,40}:(?P<value>[^\s/@\"'$:#]+)@[\w.-]+#"),  # Enroot's USER@REGISTRY#IMAGE
        ("PASSWORD", rf"\bsshpass[ \t]+-p[ \t]*{_VALUE}"),
        ("PASSWORD", rf"[ \t]--user(?:name)?[ =](?!-)\S+{_LINE}[ \t]-p[ \t]+(?!-|{_PORTS}){_VALUE}"),
        ("PASSWORD", rf"\blogin\b{_LINE}[ \t]-p[ \t]*{_VALUE}"),
        ("PASSWORD", rf"\bcurl\b{_LINE}[ \t](?:-u[ \t]*|--(?:proxy-)?user[ =])[\"']?[^\s:\"'$]+:{_VALUE}"),
        ("PASSWORD", rf"\b(?:mysql|mysqldump|mariadb)\b{_LINE}[ \t]-p(?!\w*[ \t]*=){_VALUE}"),
        ("PASSWORD", rf"\b(?:echo|printf)[ \t]+{_BEFORE}{_VALUE}[ \t]*\|[^\n|]{{0,200}}?{_INPUT}"),
        ("PASSWORD", rf"{_INPUT}{_LINE}<<<[ \t]*{_VALUE}"),
        ("PASSWORD", rf"\bopenssl\b{_LINE}[ \t]-(?:[kK][ \t]+|pass(?:in|out)?[ \t]+[\"']?pass:){_VALUE}"),
        ("PASSWORD", r"\blogin(?:[ \t]+|\\t)\S+?(?:[ \t]+|\\n)password[ \t]+(?P<value>[^\s\"'\\]+)"),
        # A line of ~/.netrc. A sign behind the word that broke the line is a part of the password, or none.
        ("PASSWORD", r"^[ \t]*password[ \t]+[\"']?(?P<value>[^\s\"'=:]+)(?:[\"'=:]\S*)?(?:[ \t]+[^\w\s]*)*$"),
        ("PASSWORD", r"^[ \t]*password[ \t]+[\"']?(?P<value>[^\s\"'=:`|;&(){}<]+)\S*(?:[ \t]+[^\w\s]*)*$"),
        ("PASSWORD", rf"\bredis-cli\b{_LINE}[ \t](?:-a[ \t]*|--pass[ =]){_VALUE}"),
        ("PASSWORD", rf"\bssh-keygen\b{_LINE}[ \t]-[NP][ \t]*{_VALUE}"),
        ("SECRET", rf"\bconfigure[ \t]+set[ \t]+\S*(?:key|token|secret|password)\S*[ \t]+(?!-){_VALUE}"),
        ("SECRET", r"[?&](?:sig|[\w-]*[sS]ignature)=(?P<value>[^\s&\"']+)"),
        ("PASSWORD", rf"[;\"'][ \t]*(?i:pwd)={_VALUE}"),
        ("PASSWORD", rf"(?<![\w-])--[\w-]*(?:pwd|passw?d?|password|secret|token):{_VALUE}"),
        ("PASSWORD", r"(?<![\w-])--?(?:login|credentials?)[ =][^\s:\"'$]+:(?P<value>[^\s:/\"'$]+)"),
        # What the program is, and what its -p is, is not known: a number, a name or a path is none.
        (
            "PASSWORD",
            r"(?<![\w-])-[pk][ \t]+(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9])"
            r"(?P<value>[\w!@#%^*+-]{8,})(?![^\s\"';|&()`<>${}:]|:\S)",
        ),
        ("KEY", rf"\bwandb[ \t]+login(?:[ \t]+--?[\w-]+(?:=\S+)?)*[ \t]+(?![-#]){_VALUE}"),
        # The metadata of a machine at Oracle asks all for the same words, which its manual has.
        (
            "TOKEN",
            r"(?i:\bauthorization:)[ \t]*(?!Bearer[ \t]+Oracle(?:[\"'\s]|$))(?:\w+[ \t]+)?"
            r"(?P<value>[^\s\"'$]+)",
        ),
        (
            "TOKEN",
            r"\b(?P<value>gh[pousr]_\w{12,}|github_pat_\w{12,}|glpat-[\w-]{8,}|hf_[A-Za-z0-9]{8,}"
            r"|sk-(?:\w+-)?[A-Za-z0-9]{12,}|AKIA[0-9A-Z]{12,}|xox[abprs]-[\w-]{8,}|nvapi-[\w-]{12,}"
            r"|pypi-\w{12,}|dckr_pat_[\w-]{8,}|(?<![\w-])eyJ[\w-]{12,}\.[\w-]+\.[\w-]+)",
        ),
    )
)
# A variable of a pod: its name and its value side by side, in two lines or within braces.
_OF_POD = r"[\"']?%s[\"']?:[ \t]*"
_NAME_OF_POD = _OF_POD % "name" + r"[\"']?(?P<name>[A-Za-z_][\w-]{0,60})[\"']?"
_VALUE_OF_POD = _OF_POD % "value" + r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|%s)"
_LINES_OF_POD = _VALUE_OF_POD % r"[^\s\"',#][^\n]*?(?=,?[ \t]*(?:\s#|\n|\Z))"
_FLOW_OF_POD = _VALUE_OF_POD % r"[^\s\"',}][^\n,}]*"
_PAIRS = tuple(
    re.compile(text)
    for text in (
        rf"{_NAME_OF_POD},?[ \t]*(?:\s#[^\n]*)?\n[ \t]*{_LINES_OF_POD}",
        rf"{_LINES_OF_POD},?[ \t]*(?:\s#[^\n]*)?\n[ \t]*{_NAME_OF_POD}",
        rf"{_NAME_OF_POD},[ \t]*{_FLOW_OF_POD}",
        rf"{_FLOW_OF_POD},[ \t]*{_NAME_OF_POD}",
    )
)
_PEM = re.compile(r"-{3,}BEGIN [A-Z ]*PRIVATE KEY-*(?P<value>.*?)(?=-{3,}END|\Z)", re.DOTALL)
# What a line has, in small letters, where anything of _NAMED or of _FORMS may be in it.
_IN_NAMES = (
    *("pass", "pw", "token", "key", "secret", "credential", "auth"),
    *("creds", "cred=", "cred ", "webhook"),
    *("pat=", "pat:", "pat'", 'pat"', "pat ", "pat\t"),
)
_IN_FORMS = (
    *("://", "@", "sshpass", "login", "curl", "mysql", "mariadb", "sudo", "password", "authorization"),
    *("openssl", "wandb", "<<<", "--user", "kinit", "redis-cli", "ssh-keygen", "configure"),
    *("sig=", "signature=", "pwd", "-pass", "secret:", "token:", "-login", "-credential", "-p ", "-k "),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "akia", "xox", "nvapi-"),
    *("pypi-", "dckr_pat_", "eyj"),
)
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_NO_SECRET = re.compile(
    r"\\+|[~./$%{<*\[].*|true|false|yes|no|none|null|on|off|auto|", re.IGNORECASE | re.DOTALL
)
# Whether a word after an option such as --token is a secret is decided by the option's name, however short
# the word is: --token and those that say to what they let in (--hf-token, --auth-token) take secrets, but for
# words that say where the token is; any other (--image-token img) takes a piece of a vocabulary where that is
# short. Numbers are places in a vocabulary. Behind --password, --secret and --api-key each word but true,
# auto and their like is a secret.
_OF_ACCESS = re.compile(
    r"^TOKEN$|(?:^|_)(?:API|ACCESS|AUTH|BEARER|BOT|CI|DEPLOY|GH|GITHUB|GITLAB|HF|HUB|HUGGINGFACE|LOGIN|NGC|NVIDIA"
    r"|PERSONAL|PRIVATE|REFRESH|REGISTRY|SECRET|SESSION|VAULT|WANDB)_TOKEN$"
)
_FROM = re.compile(
    r"env|environment|stdin|file|prompt|ask|keyring|default|disabled?|enabled?|anonymous|public"
)
_PIECE = re.compile(r"[a-z_]{1,6}")
_NUMBER = re.compile(r"[0-9.]{1,7}[a-zA-Z]?(?:,[0-9.]{1,7}[a-zA-Z]?)?")
_PASS, _ROUND = re.compile(r"^PASS$"), re.compile(r"[0-9]{1,2}")  # which pass it is, pass=1


@lru_cache(maxsize=1 << 16)  # names of a long text: each is asked about again and again
def is_secret(name: str) -> bool:
    """Whether a variable or an option of that name has a secret for its value."""
    large = name.upper()
    if name.isascii() and not any(part in large for part in _IN_SECRETS):
        return False
    return _SECRET.search(name) is not None


@lru_cache(maxsize=4096)  # findings repeat themselves
def hide(text: str) -> str:
    """The text with *** for each secret in it."""
    last = len(text)
    for start, end in sorted({span for *_, span in _found(text)}, reverse=True):
        if end <= last:
            text, last = text[:start] + HIDDEN + text[end:], start
    return text


def values(text: str) -> dict[str, str]:
    """The secrets that stand in a text, each with a name for it."""
    found: dict[str, str] = {}
    for name, value, _ in _all_of(text):
        found.setdefault(value, name)
    return found


def lines(text: str) -> dict[int, str]:
    """The lines, from 1, in which secrets stand, each with the name of the first."""
    found: dict[int, str] = {}
    number, at = 1, 0
    for start, name in sorted((span[0], name) for name, _, span in _all_of(text)):
        number, at = number + text.count("\n", at, start), start
        found.setdefault(number, name)
    return found


@lru_cache(maxsize=4)  # a file is asked about twice: for the values, and for their lines
def _all_of(text: str) -> tuple[tuple[str, str, tuple[int, int]], ...]:
    return tuple(_found(text))


def _found(text: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """The name, the value and where it is."""
    for start, line in _lines_with(_IN_NAMES, text):
        yield from _named(text, line, start)
        if "name" in line:
            yield from _of_pod(text, start, start + len(line))
    for start, line in _lines_with(_IN_FORMS, text):
        for name, pattern in _FORMS:
            for found in pattern.finditer(line):
                yield from _value(name, found, start, is_option=True)
        for found in _READ.finditer(line):
            names = found["names"].split()
            name = next((each for each in names if is_secret(each) or each.upper() == "TOK"), "")
            if name:
                yield from _value(name, found, start)
    for found in _PEM.finditer(text):
        start = found.start("value")
        for part in re.finditer(r"\S+", found["value"]):
            yield "PRIVATE_KEY", part[0], (start + part.start(), start + part.end())


def _named(text: str, line: str, start: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Those with their names beside them: a value, or all elements of an array."""
    for pattern in (_NAMED, _OPTION):
        behind = 0
        for found in pattern.finditer(line):
            name = found["name"].replace("-", "_").upper()
            is_one = is_secret(name) or (pattern is _OPTION and name in _OPTIONS)
            if not is_one or found.start() < behind:
                continue
            if value := _BEHIND.match(line, found.end()):
                behind = value.end()
                yield from _value(name, value, start, is_option=pattern is _OPTION)
            elif elements := _ELEMENTS.match(text, start + found.end()):
                for each in _BEHIND.finditer(elements[1]):
                    yield from _value(name, each, elements.start(1))


def _of_pod(text: str, start: int, end: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Those that a line names, with the line before it or after it."""
    before = text.rfind("\n", 0, max(start - 1, 0)) + 1
    after = text.find("\n", end + 1)
    window = text[before : len(text) if after < 0 else after]
    for pattern in _PAIRS:
        for found in pattern.finditer(window):
            if is_secret(found["name"]):
                yield from _value(found["name"].upper(), found, before)


def _lines_with(hints: Sequence[str], text: str) -> Iterator[tuple[int, str]]:
    """The lines in which something may be found, and where they begin: of a megabyte it is few."""
    small = text.translate(_SMALL)
    lines: set[tuple[int, int]] = set()
    for hint in hints:
        at = small.find(hint)
        while at >= 0:
            end = small.find("\n", at)
            end = len(text) if end < 0 else end
            lines.add((small.rfind("\n", 0, at) + 1, end))
            at = small.find(hint, end)
    return ((start, text[start:end]) for start, end in sorted(lines))


def _value(
    name: str, found: re.Match[str], at: int, *, is_option: bool = False
) -> Iterator[tuple[str, str, tuple[int, int]]]:
    value, (start, end) = found["value"], found.span("value")
    if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
        value, start, end = value[1:-1], start + 1, end - 1
    elif value[:1] in ("'", '"'):
        value, start = value[1:], start + 1
    is_other = name.endswith(("TOKEN", "KEY", "AUTH")) and bool(_NUMBER.fullmatch(value))
    if is_option and name.endswith("TOKEN"):
        words = _FROM if _OF_ACCESS.search(name) else _PIECE
        is_other = is_other or bool(words.fullmatch(value))
    is_other = is_other or bool(_PASS.search(name) and _ROUND.fullmatch(value))
    is_other = is_other or bool(_OF_DATA.search(name) and _IDENTIFIER.fullmatch(value))
    if name == "KEY" or name.endswith("AUTH"):
        other_words = _SCHEME.fullmatch(value) or _FIELD.fullmatch(value)
        is_other = is_other or bool(_FILE.fullmatch(value))
        is_other = is_other or (bool(other_words) if is_option else not _LIKE_ONE.fullmatch(value))
    if value and not value.endswith(HIDDEN) and not is_other and not _NO_SECRET.fullmatch(value):
        yield name, value, (at + start, at + end)
