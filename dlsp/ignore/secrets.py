"""Files that hold secrets by their names: keys, certificates, credentials. Not every settings file."""

from pathlib import PurePath

from pathspec import GitIgnoreSpec

NAMES = """
.env*
*.env
.envrc
.ssh/
.gnupg/
.aws/
.azure/
.kube/
.docker/config.json
.config/gcloud/
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
_SPEC = GitIgnoreSpec.from_lines(NAMES.split())


def is_secret(path: PurePath) -> bool:
    """Whether the file, or a folder above it, is one of those; upper and lower case are the same."""
    return _SPEC.match_file(path.as_posix().lower().lstrip("/"))
