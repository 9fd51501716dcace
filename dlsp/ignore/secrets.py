"""Files that hold secrets by their names: keys, certificates, credentials. Not every settings file."""

import re
from fnmatch import translate
from pathlib import PurePath

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
shadow
"""
_NAME = re.compile("|".join(map(translate, NAMES.split())))
_PLACE = re.compile(r"/\.(?:ssh|gnupg|aws|azure|kube|config/gcloud)/|/\.docker/config\.json\Z")


def is_secret(path: PurePath, root: PurePath) -> bool:
    """Whether the file, or a folder between it and `root`, has one of those names, or it lies in a folder, wherever,
    where programs keep their keys; upper and lower case are the same."""
    inner = path.relative_to(root) if path.is_relative_to(root) else path
    return any(_NAME.match(part.lower()) for part in inner.parts) or bool(_PLACE.search(path.as_posix().lower()))
