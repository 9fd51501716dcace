"""Recognise files with secrets by their names: keys, certificates, credentials.

Ordinary settings files are not included, nor is source code with such a word in its name: there the values decide (see
`values`).
"""

import re
from fnmatch import translate
from itertools import pairwise
from pathlib import PurePath

from dlsp.syntax import languages

NAMES = """
.env*
*.env
.envrc
*.pem
*.key
*.crt
*.cer
*.der
*.csr
*.p8
*.p12
*.pfx
*.jks
*.keystore
*.truststore
*.ppk
*.asc
*.gpg
*.pgp
*.kdb
*.kdbx
*.ovpn
*.mobileprovision
*.tfstate
*.tfstate.*
*.tfvars
*.tfvars.json
id_rsa*
id_dsa*
id_ecdsa*
id_ed25519*
.netrc
_netrc
.authinfo*
.pgpass
.my.cnf
.mylogin.cnf
.htpasswd
.npmrc
.yarnrc.yml
.pypirc
.dockercfg
.git-credentials
.terraformrc
.vault-token
.vault_pass*
.s3cfg
.boto
credentials
credentials.json
credentials.y*ml
credentials.toml
credentials.ini
credentials.xml
credentials.properties
credentials.*.enc
*-credentials.json
*_credentials.json
client_secret*.json
service[-_]account*.json
secret.json
secret.y*ml
secret.toml
secrets.json
secrets.y*ml
secrets.toml
secrets.ini
secrets.xml
secrets.properties
*.secret
*.secrets
*.secret.*
*.secrets.*
token.json
tokens.json
master.key
kubeconfig
kubeconfig.*
shadow
gshadow
env.production
env.prod
.dev.vars
.flaskenv
vault.y*ml
auth.json
logins.json
gradle.properties
local.properties
key.properties
keystore.*
nuget.config
wp-config.php
appsettings.*.json
sftp-config.json
.sentryclirc
.databrickscfg
profiles.yml
rclone.conf
wg[0-9]*.conf
deploy_key
deploy_key.*
*_rsa
*_dsa
*_ecdsa
*_ed25519
ssh_host_*
*-firebase-adminsdk-*.json
wallet.dat
mnemonic.txt
.bash_history
.zsh_history
.sh_history
.python_history
.psql_history
.mysql_history
.sqlite_history
.rediscli_history
dump.sql
*.dump
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words in the names of files that are not source code.
WORDS = _words(
    "secret secrets credential credentials creds password passwords passwd passphrase token tokens apikey apikeys"
)
# Words that make a following `key` or `keys` a secret.
PAIRS = _words("api access private account root secret signing encryption deploy host service")
# Words next to which tokens are no secrets: design tokens, or tokens of a model.
NO_SECRETS = _words("design special added")
# Extensions of source code and prose, in addition to those of the languages that are parsed.
CODE = _words(
    """
    adoc asm astro bat clj cljs cmake cs cu cuh d dart ex exs erl f90 fish fs fsi glsl gradle graphql groovy hs ipynb jl
    kt kts less m md ml mli mm nim pas php pl pm proto ps1 psm1 r rst s sass scala scss sol sql svelte swift tex tf v vb
    vue wgsl zig zsh
    """
)
_DATA = _words("json yaml toml")
_NAME = re.compile("|".join(map(translate, NAMES.split())))
_PLACES = (
    r"/\.(?:ssh|gnupg|aws|azure|kube|config/gcloud|config/gh|terraform\.d)/",
    r"/\.docker/config\.json\Z",
    r"/\.m2/settings(?:-security)?\.xml\Z",
)
_PLACE = re.compile("|".join(_PLACES))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_secret(path: PurePath, root: PurePath) -> bool:
    """Whether the path is that of a file with secrets, ignoring case.

    That is so if the file or a folder between it and `root` has one of NAMES, if the file is not source code and has
    one of WORDS in its name, or if it is in a folder, anywhere, in which programs keep their keys.
    """
    inner = path.relative_to(root) if path.is_relative_to(root) else path
    if any(_NAME.match(part.lower()) for part in inner.parts) or _PLACE.search(path.as_posix().lower()):
        return True
    return not _is_source(path) and _has_word(path.name)


def _is_source(path: PurePath) -> bool:
    language = languages.of(path)
    return language.name not in _DATA if language else path.suffix.lower().removeprefix(".") in CODE


def _has_word(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    if not NO_SECRETS.isdisjoint(words):
        return False
    keys = any(first in PAIRS and second in ("key", "keys") for first, second in pairwise(words))
    joined = any(word in (f"{first}key", f"{first}keys") for word in words for first in PAIRS)
    return keys or joined or not WORDS.isdisjoint(words)
