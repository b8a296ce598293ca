"""Names whose values are secrets, and words beside such a name that are none.

The words are those that CI systems, vaults, HTTP and trackers of experiments take for names; what a tokenizer
calls a token, and how many of them there are, is none.
"""

import re
from functools import lru_cache

_SECRET = re.compile(
    r"(?:(?:PASSWOR[DT]|PASSWD|PASSWRD|PASSPHRASE|SECRET|API_?KEY|CREDENTIAL)S?|(?:^|_)(?:PASS|PAT)"
    r"|PW|[A-Z_](?<!OLD)(?<!^SINGULARITY_)(?<!^APPTAINER_)(?<!_TARGET_)PWD|(?:^|_)(?:PSWD|PASS_?CODE|PIN_?CODE|OTP|KENNWORT|MOT_?DE_?PASSE)"
    r"|(?:^|_)(?:DB|SSH|PG|SQL|MYSQL|REDIS|MONGO|LDAP|SMTP|MAIL|FTP|HTTP|PROXY|USER|ROOT|ADMIN|SUDO|VPN|VNC|GIT"
    r"|MY|NGC|HUB|DOCKER|REGISTRY|LOGIN|HOST|IPMI|BMC|ZIP|KEY|STORE|APP)PASS"
    r"|(?:^|_)(?:SECRET|PASSPHRASE|PASSWORD)_(?!\w*(?:NAME|FILE|PATH|DIR|MOUNT|VERSION)$)\w+|(?:^|_)CREDS?"
    r"|(?:^|_)(?:MY|ACCOUNT|ACCESS|SHAREDACCESS|SIGNING|ENCRYPTION|LICENSE|SECRET|PRIVATE|PRIV|PASS|AUTH|A|S)KEY"
    r"|(?:^|_)(?:MINIO|S3|OSS|OBS|COS|TOS|AWS|HUAWEI|ALIYUN|VOLC)_[AS]K"
    r"|(?:^|_)WEBHOOK(?:_URL)?|(?:^|_)(?:JWT|BEARER|AUTHORIZATION|COOKIE)"
    r"|(?:^|_)(?<!USE_)(?<!NO_)(?<!ENABLE_)(?<!DISABLE_)(?<!REQUIRE_)AUTH"
    r"|(?<!(?:PAD|EOS|BOS|SEP|CLS|UNK|MAX|MIN|NUM|PER|END)_)(?<!(?:MASK|STOP|NEXT|LAST|INIT)_)"
    r"(?<!(?:SPECIAL|TRIGGER)_)(?<!(?:PLACEHOLDER|INITIALIZER)_)(?<!MODIFIER_)TOKEN"
    r"|(?<!SORT)(?<!PUBLIC)(?<!PRIMARY)(?<!CACHE)(?<!ROUTING)_KEY)$",
    re.IGNORECASE,
)
# What a script is to do with one, GENERATE_SSH_KEY=true: it is a secret where it looks like one.
_DONE_WITH = re.compile(
    r"^(?:ALLOW|CHECK|CREATE|DISABLE|ENABLE|GEN|GENERATE|HAS|IGNORE|NEEDS?|NO|PERMIT|REQUIRES?|RESET|ROTATE|SKIP)_",
    re.IGNORECASE,
)
# One of these is in each of them: to search a name for all takes ten times as long.
_IN_SECRETS = (
    *("PASS", "PAT", "PW", "SECRET", "KEY", "CRED", "AUTH", "TOKEN", "WEBHOOK", "_AK", "_SK"),
    *("PSWD", "PIN", "OTP", "KENNWORT", "JWT", "BEARER", "COOKIE"),
)
# The second of several: PASSWORD1, HF_TOKEN_2. A pattern and a pass of several have numbers, too.
_WHICH = re.compile(r"(?<!PAT)(?<!PASS)(?<!PAT_)(?<!PASS_)(?<![0-9_])_?[0-9]{1,2}$", re.IGNORECASE)
_DRAWN = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[\w!@#%^*+=-]{8,}")
# Several in one, what a session is, a number that people know by heart, and a licence: they are secrets where
# they look like one, such as if a program had drawn them. PIN=compact and LICENSE=27000@host are none.
_PERHAPS = {
    **dict.fromkeys(("TOKENS", "KEYS", "SESSION_ID", "SESSION"), _DRAWN),
    "PIN": re.compile(r"[0-9]{4,12}"),
    **dict.fromkeys(
        ("LICENSE", "LICENCE"),
        re.compile(rf"{_DRAWN.pattern}|(?=\D*\d)(?:[A-Za-z0-9]{{4,}}-){{2,}}[A-Za-z0-9]{{4,}}"),
    ),
}
_LONG = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w+/=-]{16,}")
# Names with such a word in front or within (TOKEN_HF, GITHUB_TOKEN_RO, KEY_API, HF_TOK), or that end in KEY
# without a sign before it, as MONKEY does: their values are secrets where they look like one.
_BY_LOOK = (
    (re.compile(r"(?:^|_)TOK$|(?:^|_)(?:TOKEN|PASSWD|API_?KEY|CRED)_\w+$|^(?:KEY|PWD)_\w+$"), _DRAWN),
    (re.compile(r"[A-Z]{2}(?<!SORT)(?<!PUBLIC)(?<!PUB)(?<!HOT)(?<!CACHE)(?<!PRIMARY)KEY$"), _LONG),
)
# Of options alone: a `key:` of a manifest and the shell's PWD have none.
_OPTIONS = frozenset(("KEY", "PWD"))
# Behind KEY= and AUTH= stand other words too: what has no digit in it and is shorter than a key is one. After
# an option of that name all is a secret but for files, numbers and schemes of authentication.
_LIKE_ONE = re.compile(r"(?:bearer|basic|token)\s.*|(?=[^0-9]*[0-9]).{6,}|.{20,}", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(
    r"kerberos|krb5|gssapi|spnego|basic|digest|ntlm|negotiate|oauth2?|oidc|saml|ldap|munge|jwt|mtls|token|bearer"
    r"|daemon|[hrep]s(?:256|384|512)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"[\d.,]+[a-zA-Z]*|[a-z_]{1,6}")  # of sort --key, or a field's name
# Keys of a dictionary of data, as programs that train ask for: --input-key prompt, --label_key answer.
_OF_DATA = re.compile(
    r"(?:^|_)(?:ANSWER|AUDIO|BUCKET|CAPTION|CHAT|CHOSEN|COLUMN|CONTEXT|DATA|DATASET|DICT|FEATURE|HYP|ID|IMAGE"
    r"|IMG|INDEX|INPUT|JSON|LABEL|LANG|LANGUAGE|MESSAGES?|METRIC|OUTPUT|PIPE|PIPELINE|PROMPT|QUESTION|REF|REFERENCE"
    r"|REJECTED|RESPONSE|REWARD|REWARD_FN|SORT|SPEAKER|SPLIT|TARGET|TEXT|TOOL|TRANSCRIPT|TRANSCRIPTION|UTTERANCE"
    r"|VIDEO)_KEY(?:_?[0-9]{1,2})?$"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.]{0,30}[0-9]?")
# The key of an object in a store is the path of a file: OUTPUT_KEY=runs/scores.csv.
_OF_STORE = re.compile(r"(?:^|_)(?:ARTIFACT|CHECKPOINT|FILE|MODEL|OBJECT|RESULTS?|S3)_KEY(?:_?[0-9]{1,2})?$")
_OBJECT = re.compile(r"[\w-][\w.-]*(?:/[\w.-]+)+\.[a-z][a-z0-9]{0,10}")
_FILE = re.compile(r"[\w./-]+\.(?:pem|key|crt|cer|pub|asc|gpg|json|ya?ml|txt|py)", re.IGNORECASE)
# Three stand for a secret, which whoever copies the text fills in: hf_your_token_here, sk-xxxx, "hf_...".
# Then comes what a script says of one (echo "HF_TOKEN: not set", # Your token: export HF_TOKEN=...). The last
# is the name of a run, made of the time: run_$(date +%s)_$JOB. What stands behind $1 is a key that somebody
# put behind the $ of a template.
_NO_SECRET = re.compile(
    r"\\+|[~./%{<*\[`].*|\$(?!\{?[0-9]\}?[0-9A-Za-z]{15}).*|true|false|yes|no|none|null|on|off|auto|"
    r"|(?:[a-z]{2,6}[_-])?your[_-](?:[a-z]+[_-])*(?:token|key|password|passwd|secret)(?:[_-]here)?"
    r"|(?:[a-z]{2,6}[_-])?(?:x{3,}|\.{3,})"
    # What another shell puts in, as the text for it says: \$(cat FILE), \${NAME}, \$NAME.
    r"|\\+\$(?:[({].*|(?-i:[A-Z_][A-Z0-9_]*)(?:\W.*)?)"
    r"|not|(?:not )?(?:set|found|given|provided|present|available|configured|loaded)|unset|missing|empty"
    r"|export"
    r"|[a-z]{1,12}[_.-]?\$\(date\b[^()]*\)(?:[_.-]?\$(?:\w+|\{\w+\}))*",
    re.IGNORECASE | re.DOTALL,
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
# How many plane waves, or groups of ranks for them, a code of chemistry is to have: pw.x -npw 16.
_WAVES = re.compile(r"^N_?PW$")
_PASS, _ROUND = re.compile(r"^PASS$"), re.compile(r"[0-9]{1,2}")  # which pass it is, pass=1


@lru_cache(maxsize=1 << 16)  # names of a long text: each is asked about again and again
def is_secret(name: str) -> bool:
    """Whether a variable or an option of that name has a secret for its value."""
    return _names_one(name) and _DONE_WITH.match(name) is None


def _names_one(name: str) -> bool:
    large = name.upper()
    if name.isascii() and not any(part in large for part in _IN_SECRETS):
        return False
    return _SECRET.search(_WHICH.sub("", name)) is not None


def may_be_secret(name: str, *, is_option: bool) -> bool:
    """Whether what stands beside a name, in large letters, may be a secret."""
    return is_secret(name) or _look(name) is not None or (is_option and name in _OPTIONS)


@lru_cache(maxsize=1 << 12)
def _look(name: str) -> re.Pattern[str] | None:
    """What a secret of that name looks like, None where the name tells it, or is that of none."""
    if name in _PERHAPS:
        return _PERHAPS[name]
    if is_secret(name):
        return None
    if _names_one(name):
        return _DRAWN
    return next((look for names, look in _BY_LOOK if names.search(name)), None)


def tells_where(value: str) -> bool:
    """Whether it is a path, another variable or a truth: it is a secret beside no name."""
    return _NO_SECRET.fullmatch(value) is not None


def names_file(name: str, value: str) -> bool:
    """Whether the value beside the name of a secret is the path of a file that has it, or in a store."""
    is_path = re.fullmatch(r"(?:~|\.{0,2})/\S+", value) is not None or is_object(name.upper(), value)
    return is_path or (name.upper().endswith("CREDENTIALS") and _FILE.fullmatch(value) is not None)


def is_object(name: str, value: str) -> bool:
    """Whether it is the key of an object in a store, beside a name in large letters."""
    is_of_one = _OF_DATA.search(name) is not None or _OF_STORE.search(name) is not None
    return is_of_one and _OBJECT.fullmatch(value) is not None


def is_name_of_code(value: str) -> bool:
    """Whether it may be a variable of a program, or what a program computes."""
    return bool(_IDENTIFIER.fullmatch(value)) or not _LIKE_ONE.fullmatch(value)


def is_other(name: str, value: str, *, is_option: bool) -> bool:
    """Whether the value beside the name of a secret, in large letters, is none for all that."""
    if look := _look(name):
        return not (look.fullmatch(value) or (look is _DRAWN and _LONG.fullmatch(value)))
    name = _WHICH.sub("", name)
    if name.endswith("CREDENTIALS") and _FILE.fullmatch(value):
        return True
    if name.endswith(("TOKEN", "KEY", "AUTH", "JWT", "BEARER", "COOKIE")) and _NUMBER.fullmatch(value):
        return True
    if _WAVES.search(name) and _NUMBER.fullmatch(value):
        return True
    if is_object(name, value):
        return True
    if is_option and name.endswith("TOKEN"):
        words = _FROM if _OF_ACCESS.search(name) else _PIECE
        if words.fullmatch(value):
            return True
    if (_PASS.search(name) and _ROUND.fullmatch(value)) or (
        _OF_DATA.search(name) and _IDENTIFIER.fullmatch(value)
    ):
        return True
    return _is_other_key(name, value, is_option)


def _is_other_key(name: str, value: str, is_option: bool) -> bool:
    if name.endswith(("JWT", "BEARER", "AUTHORIZATION", "COOKIE")):
        return any(words.fullmatch(value.strip()) for words in (_FILE, _SCHEME, _FROM))
    if name != "KEY" and not name.endswith("AUTH"):
        return False
    if _FILE.fullmatch(value):
        return True
    if is_option:
        return bool(_SCHEME.fullmatch(value) or _FIELD.fullmatch(value))
    return not _LIKE_ONE.fullmatch(value)
