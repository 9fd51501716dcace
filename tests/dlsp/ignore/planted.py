"""Fifty kinds of secrets, all made up, each put together from pieces so that no scanner takes this file for a leak."""

import random
import string

_chance = random.Random(50)


def some(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    """Random characters, among them a digit and letters of both cases where there are such."""
    while True:
        made = "".join(_chance.choice(letters) for _ in range(length))
        kinds = (str.isdigit, str.isupper, str.islower)
        if all(any(map(kind, made)) or not any(map(kind, letters)) for kind in kinds):
            return made


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
BASE64 = string.ascii_letters + string.digits + "+/"


def block(kind: str) -> str:
    return f"KEY = '''-----BEGIN {kind} " + f"PRIVATE KEY-----\n{{}}\n-----END {kind} " + "PRIVATE KEY-----'''"


# By the value alone, whatever stands beside it.
ALONE = {
    "AWS access key": "AKIA" + some(16, UPPER),
    "AWS session key": "ASIA" + some(16, UPPER),
    "GitHub": "ghp_" + some(36),
    "GitHub server": "ghs_" + some(36),
    "GitHub fine-grained": "github_pat_" + some(22) + "_" + some(59),
    "GitLab": "glpat-" + some(20),
    "Stripe": "sk_live_" + some(24),
    "Stripe restricted": "rk_live_" + some(24),
    "Stripe webhook": "whsec_" + some(32),
    "Slack bot": "xoxb-" + some(12, string.digits) + "-" + some(24),
    "Slack user": "xoxp-" + some(12, string.digits) + "-" + some(24),
    "Slack app": "xapp-1-A" + some(10, UPPER) + "-" + some(40, HEX),
    "Slack webhook": "hooks.slack.com/services/T" + some(8, UPPER) + "/B" + some(8, UPPER) + "/" + some(24),
    "Discord webhook": "discord.com/api/webhooks/" + some(18, string.digits) + "/" + some(68),
    "Discord bot": "M" + some(23) + "." + some(6) + "." + some(27),
    "OpenAI": "sk-" + some(48),
    "OpenAI project": "sk-proj-" + some(60),
    "Anthropic": "sk-ant-api03-" + some(80),
    "Google API": "AIza" + some(35),
    "Google OAuth": "ya29." + some(60),
    "Google client": "GOCSPX-" + some(28),
    "npm": "npm_" + some(36),
    "PyPI": "pypi-" + some(90),
    "RubyGems": "rubygems_" + some(48, HEX),
    "SendGrid": "SG." + some(22) + "." + some(43),
    "Mailgun": "key-" + some(32, HEX),
    "Twilio": "SK" + some(32, HEX),
    "DigitalOcean": "dop_v1_" + some(64, HEX),
    "Shopify": "shpat_" + some(32, HEX),
    "Hugging Face": "hf_" + some(34),
    "JWT": "eyJ" + some(20) + ".eyJ" + some(40) + "." + some(43),
    "Docker": "dckr_pat_" + some(27),
    "Linear": "lin_api_" + some(40),
    "Square": "sq0atp-" + some(22),
    "Postman": "PMAK-" + some(24, HEX) + "-" + some(34, HEX),
    "Grafana": "glsa_" + some(32) + "_" + some(8, HEX),
    "age": "AGE-SECRET-KEY-1" + some(58, UPPER),
    "Vault": "hvs." + some(90),
    "Databricks": "dapi" + some(32, HEX),
    "Telegram": some(9, string.digits) + ":AA" + some(33),
    "New Relic": "NRAK-" + some(27, UPPER),
}
# By the name beside it too: the line with the value, and the value.
_NAMED = {
    "AWS secret key": ("aws_secret_access_key = '{}'", some(40, BASE64)),
    "Azure storage": ("CONNECTION = 'AccountName=a;AccountKey={}=='", some(86, BASE64)),
    "client secret": ("client_secret = '{}'", "-".join(some(n, HEX) for n in (8, 4, 4, 4, 12))),
    "API key": ("API_KEY: str = '{}'", some(32, HEX)),
    "bearer": ("headers = 'Authorization: Bearer {}'", some(40)),
    "encryption key": ("encryption_key = '{}'", some(44, BASE64)),
    "session secret": ("SESSION_SECRET = '{}'", some(50, string.ascii_letters + string.digits + "!@#$%^&*-_=+")),
    "database URL": ("DATABASE = 'postgres://admin:{}@db.example.com/app'", some(12)),
    "Redis URL": ("CACHE = 'redis://:{}@cache:6379/0'", some(16)),
    "password": ("PASSWORD = '{}'", "correct-horse-7"),
    "private key": (
        "KEY = '''-----BEGIN RSA " + "PRIVATE KEY-----\n{}\n-----END RSA " + "PRIVATE KEY-----'''",
        some(64, BASE64),
    ),
    "OpenSSH key": (
        "KEY = '''-----BEGIN OPENSSH " + "PRIVATE KEY-----\n{}\n-----END OPENSSH " + "PRIVATE KEY-----'''",
        some(70, BASE64),
    ),
}
LINES = {kind: (f"SETTING = '{value}'", value) for kind, value in ALONE.items()} | {
    kind: (line.format(value), value) for kind, (line, value) in _NAMED.items()
}
