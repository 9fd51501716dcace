"""Values that look like keys are found, and what only looks a little like them is not."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsp.ignore.values import brought_secret, secrets, without_secrets
from tests.dlsp.ignore.planted import LINES

# What is short is told by its name alone, and no suggestion is cut for it.
SHORT = {"password"}


def test_there_are_fifty_kinds() -> None:
    assert len(LINES) >= 50


@pytest.mark.parametrize("kind", LINES)
def test_each_kind_is_hidden(kind: str) -> None:
    line, value = LINES[kind]
    text = f"import os\n\n{line}\nRETRIES = 3\n"
    hidden = without_secrets(text)
    assert value not in hidden
    assert len(hidden) == len(text)
    assert [len(each) for each in hidden.split("\n")] == [len(each) for each in text.split("\n")]
    assert hidden.startswith("import os\n")
    assert hidden.endswith("RETRIES = 3\n")


@pytest.mark.parametrize("kind", sorted(LINES.keys() - SHORT))
def test_a_suggestion_that_brings_one_is_known(kind: str) -> None:
    line, value = LINES[kind]
    for cut in (0, line.index(value) // 2, line.index(value)):
        before, text = "import os\n" + line[:cut], line[cut:]
        at = brought_secret(text, before, "\nRETRIES = 3\n")
        assert at is not None
        assert at <= text.index(value)
        assert brought_secret(text, before, f"\n{line}\n") is None, "it stands in the file already"
    assert brought_secret("x = 1\n", line + "\n", "") is None


CODE = """
token = get_access_token_from_authorization_header(request, timeout_seconds=30)
password = input("Password: ")
secret = os.environ["MY_SECRET_NAME_IN_PRODUCTION"]
def reset_password(user: User, token: str, new_password: str = DEFAULT_PASSWORD) -> None:
DATABASE = "postgres://user:password@localhost:5432/app"
DATABASE = f"postgres://{user}:{password}@{host}/{name}"
URL = "https://example.com/a/b?page=2&size=20"
self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
from app.authentication.tokens import RefreshTokenAuthentication2Backend
API_KEY = "<your-api-key>"
password = "changeme"
sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
commit = "61236c1a0b6bbf1c9d8f7e6d5c4b3a2918070605"
SECRET_KEY = config("SECRET_KEY", default=None)
tokens = tokenizer.convert_tokens_to_ids(["<|fim_prefix|>", "<|fim_suffix|>"])
color = "#a1b2c3"
id = "123e4567-e89b-12d3-a456-426614174000"
"""


@pytest.mark.parametrize("line", CODE.strip().split("\n"))
def test_usual_code_is_left_alone(line: str) -> None:
    assert [line[start:end] for start, end in secrets(line)] == []
    assert brought_secret(line, "", "") is None


@given(st.text("aA1_-.:/@'\"= \nkeytoken", max_size=300))
def test_any_text(text: str) -> None:
    found = secrets(text)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(first[1] < second[0] for first, second in pairwise(found))
    assert len(without_secrets(text)) == len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "token",
        "secret=",
        "a",
        "A1",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "password='",
        "eyJ",
        "M.",
        " ",
        "\n",
        "sk-",
    ],
)
def test_it_takes_linear_time(piece: str) -> None:
    text = piece * (512 * 1024 // len(piece))
    began = time.process_time()
    secrets(text)
    assert time.process_time() - began < 10  # a second or two; quadratic time would be minutes
