"""Find values that look like keys, tokens and passwords, which must not leave their file.

Detection is heuristic: the key prefixes of large services, private key blocks, passwords in URLs, and random strings of
20 or more characters next to a name that suggests a secret; next to a password's name shorter strings too. A false
positive is only left out of the context.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

# Replaces each character of a hidden value.
HIDDEN = "*"
MIN_VALUE_CHARACTERS = 20
# Bits of entropy per character. Random hexadecimal digits have up to 4, but natural words often as many; words have no
# digits, which is checked too.
MIN_BITS_PER_CHARACTER = 3.0
# Characters after a telltale name that are searched for its value, up to the end of the next line.
_VALUE_SEARCH_CHARACTERS = 160
# The most characters of a private key block.
_MAX_BLOCK_CHARACTERS = 20_000
# Characters around a suggestion that give context to its values.
_CONTEXT_CHARACTERS = 300

_PREFIXES = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",
    r"gh[pousr]_[0-9A-Za-z]{30,}",
    r"github_pat_[0-9A-Za-z_]{20,}",
    r"gl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,}",
    r"(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}",
    r"whsec_[0-9A-Za-z+/=]{20,}",
    r"xox[abeoprs]-[0-9A-Za-z-]{10,}",
    r"xapp-[0-9A-Za-z-]{20,}",
    r"hooks\.slack\.com/services/[\w/]{20,}",
    r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}",
    r"sk-[\w-]{20,}",
    r"AIza[\w-]{35}",
    r"ya29\.[\w-]{20,}",
    r"GOCSPX-[\w-]{20,}",
    r"npm_[0-9A-Za-z]{30,}",
    r"pypi-[\w-]{40,}",
    r"rubygems_[0-9a-f]{40,}",
    r"SG\.[\w-]{16,}\.[\w-]{16,}",
    r"key-[0-9a-f]{32}",
    r"(?:SK|AC)[0-9a-f]{32}",
    r"do[opr]_v1_[0-9a-f]{40,}",
    r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}",
    r"hf_[0-9A-Za-z]{30,}",
    r"r8_[0-9A-Za-z]{30,}",
    r"nvapi-[\w-]{40,}",
    r"gsk_[0-9A-Za-z]{40,}",
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{10,}",
    r"dckr_pat_[\w-]{20,}",
    r"lin_api_[0-9A-Za-z]{30,}",
    r"sq0(?:atp|csp)-[\w-]{20,}",
    r"PMAK-[0-9a-f-]{30,}",
    r"dp\.(?:pt|st|ct)\.[0-9A-Za-z.]{30,}",
    r"gl(?:sa|c)_[0-9A-Za-z_+/=]{30,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",
    r"hv[sbr]\.[\w-]{20,}",
    r"ATATT3[\w=-]{30,}",
    r"dapi[0-9a-f]{32}",
    r"NRAK-[0-9A-Z]{20,}",
    r"ntn_[0-9A-Za-z]{30,}",
    r"EAAA[\w-]{40,}",
    r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,}",
    r"\d{8,10}:AA[\w-]{33}",
)
_PREFIXED = re.compile(rf"(?<![0-9A-Za-z_])(?:{'|'.join(_PREFIXES)})")
# Runs that may contain such a prefix; most of a source file has none.
_RUN = re.compile(r"[\w.:/+=-]{16,}")
_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC:[^\n]{0,200}")
_URL = re.compile(r"://[^\s/:@'\"`]{0,100}:([^\s/@'\"`]{3,200})@")
_TELLING = re.compile(
    r"(?ai)secret|passw(?:or)?d|passphrase|\bpwd|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|account[-_ ]?key"
    r"|(?:signing|encryption|master|license|shared|session|storage|client)[-_ ]?key|credential|authorization|bearer"
    r"|\bauth|webhook|salt\b|\bsig="
)
_PASSWORD = re.compile(r"(?ai)passw(?:or)?d|passphrase|\bpwd|_pwd")
_LONG = re.compile(r"[0-9A-Za-z+/=_.~@#$%^&*!-]{20,}")
_QUOTED = re.compile(r"""(["'`])([^"'`\s]{5,100})\1""")
_PLACEHOLDER = re.compile(
    r"(?i)[x*.-]+|pass(?:word|wd|phrase)?|secret|pwd|user(?:name)?|change-?me|example|your\W?\w*|.*[{}<>%$].*|\(.*"
)


def secrets(text: str, *, passwords: bool = True) -> list[tuple[int, int]]:
    """Start and end of each value in `text` that looks like a secret, in order, not overlapping.

    With `passwords`, short values are included that only the name next to them identifies.
    """
    found = sorted(_found(text, passwords))
    made: list[tuple[int, int]] = []
    for start, end in found:
        if made and start <= made[-1][1]:
            made[-1] = made[-1][0], max(end, made[-1][1])
        else:
            made.append((start, end))
    return made


def without_secrets(text: str) -> str:
    """The text with each character of such values replaced by HIDDEN; length and line ends stay the same."""
    made: list[str] = []
    at = 0
    for start, end in secrets(text):
        made += [text[at:start], re.sub(r"[^\r\n]", HIDDEN, text[start:end])]
        at = end
    return "".join([*made, text[at:]]) if made else text


def brought_secret(text: str, before: str, after: str) -> int | None:
    """The offset in `text` of the first value that looks like a secret and is in neither `before` nor `after`; else
    None.

    `text` is considered as inserted between `before` and `after`.
    """
    above = before[-_CONTEXT_CHARACTERS:]
    whole, begin = above + text + after[:_CONTEXT_CHARACTERS], len(above)
    for start, end in secrets(whole, passwords=False):
        value = whole[start:end]
        if start < begin + len(text) and end > begin and value not in before and value not in after:
            return max(0, start - begin)
    return None


def _found(text: str, passwords: bool) -> Iterator[tuple[int, int]]:
    for run in _RUN.finditer(text):
        yield from (match.span() for match in _PREFIXED.finditer(text, *run.span()))
    at = 0
    for match in _BLOCK.finditer(text):
        if match.start() >= at:
            end = _BLOCK_END.search(text, match.end(), match.end() + _MAX_BLOCK_CHARACTERS)
            at = end.end() if end else min(len(text), match.end() + _MAX_BLOCK_CHARACTERS)
            yield match.start(), at
    for match in _URL.finditer(text):
        if not _PLACEHOLDER.fullmatch(match[1]):
            yield match.span(1)
    for match in _TELLING.finditer(text):
        yield from _values(text, match.end(), passwords and bool(_PASSWORD.match(match[0])))


def _values(text: str, at: int, password: bool) -> Iterator[tuple[int, int]]:
    """Yield the spans of secret values after a telltale name that ends at `at`."""
    end = text.find("\n", text.find("\n", at) + 1)
    end = min(at + _VALUE_SEARCH_CHARACTERS, len(text) if end < 0 else end)
    # A value that begins within reach is examined to its end.
    for found in _LONG.finditer(text, at, min(len(text), end + 4 * _VALUE_SEARCH_CHARACTERS)):
        if found.start() < end and _is_random(found[0]):
            yield found.span()
    line_end = text.find("\n", at)
    if password:
        end = min(at + _VALUE_SEARCH_CHARACTERS, len(text) if line_end < 0 else line_end)
        for found in _QUOTED.finditer(text, at, end):
            if re.search(r"[^A-Za-z_]", found[2]) and not _PLACEHOLDER.fullmatch(found[2]):
                yield found.span(2)


def _is_random(value: str) -> bool:
    """Whether a string looks random: it has digits and letters, high entropy, and does not consist of words."""
    value = re.sub(r"\A[A-Za-z_]+=+", "", value).strip("=.-")
    if len(value) < MIN_VALUE_CHARACTERS - 2 or not re.search(r"\d", value) or not re.search(r"[A-Za-z]", value):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    digits = sum(counts[digit] for digit in "0123456789")
    in_words = sum(map(len, re.findall(r"[A-Z]?[a-z]{3,}", value)))
    return bits >= MIN_BITS_PER_CHARACTER and (digits >= 3 or in_words < len(value) / 2)
