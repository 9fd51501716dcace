import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dlsp import cli
from dlsp.errors import UserError
from dlsp.team import application, config
from dlsp.team.config import Limits, ServedModel
from dlsp.team.measures import Measures

FOLDER = Path(__file__).parents[3] / "examples/team"
NAME = re.compile(r"dlsp_team_\w+")
SMALL: dict[str, Any] = {"models": [{"name": "0.5b"}], "tokens": "tokens.json"}


def test_the_smallest_configuration_is_on_this_machine_alone(tmp_path: Path) -> None:
    found = config.read(SMALL, tmp_path)
    assert found.host == "127.0.0.1"
    assert found.models == (ServedModel("0.5b", 1, 1),)
    assert found.tokens == tmp_path / "tokens.json"
    assert found.limits == Limits()


def test_every_field_is_read(tmp_path: Path) -> None:
    for name in ("certificate.pem", "key.pem"):
        (tmp_path / name).write_text("")
    text = """
    models:
      - {name: qwen2.5-coder-0.5b, replicas: {min: 2, max: 4}, ongoing: 6, threads: 3}
      - {name: 1.5b, gpus: 0.5}
    tokens: tokens.json
    host: 0.0.0.0
    port: 443
    tls: {certificate: certificate.pem, key: key.pem}
    limits: {ongoing: 3, requests_per_minute: 90, request_bytes: 50000}
    audit: audit.log
    """
    (tmp_path / "team.yaml").write_text(text)
    found = config.load(tmp_path / "team.yaml")
    assert found.models == (ServedModel("0.5b", 2, 4, 6, 3), ServedModel("1.5b", gpus=0.5))
    assert (found.host, found.port, found.audit) == ("0.0.0.0", 443, tmp_path / "audit.log")
    assert found.tls
    assert found.tls.key == tmp_path / "key.pem"
    assert found.limits == Limits(3, 90, 50_000)


@pytest.mark.parametrize("name", ["laptop.yaml", "cluster.yaml"])
def test_the_examples_are_right(name: str) -> None:
    assert config.load(FOLDER / name).models


def test_kuberays_example_has_a_right_configuration_and_names_what_builds_the_server(tmp_path: Path) -> None:
    settings, service = yaml.safe_load_all((FOLDER / "kuberay.yaml").read_text())
    assert config.read(yaml.safe_load(settings["data"]["team.yaml"]), tmp_path).behind_proxy
    (served,) = yaml.safe_load(service["spec"]["serveConfigV2"])["applications"]
    module, _, name = served["import_path"].partition(":")
    assert (module, getattr(application, name)) == (application.__name__, application.build)


def test_grafanas_panels_ask_for_metrics_that_there_are() -> None:
    panels = json.loads((FOLDER / "grafana.json").read_text())["panels"]
    asked = {name for each in panels for target in each["targets"] for name in NAME.findall(target["expr"])}
    there = set(NAME.findall(Measures(None).text().decode()))
    assert len(asked) == 4
    assert {each.removesuffix("_bucket").removesuffix("_total") for each in asked} <= there | {
        each.removesuffix("_total") for each in there
    }


def test_without_ray_the_server_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("dlsp.models.store.path", lambda model: tmp_path)
    (tmp_path / "team.yaml").write_text(yaml.safe_dump(SMALL))
    assert cli.main(["team", "serve", str(tmp_path / "team.yaml")]) == 1
    assert capsys.readouterr().err == f"dlsp: {config.NOT_INSTALLED}\n"


MISTAKES = [
    ([], "The configuration must be a table"),
    ({"tokens": "t"}, "`models` must be a list with at least one entry."),
    ({"models": [], "tokens": "t"}, "`models` must be a list with at least one entry."),
    ({"models": ["0.5b"], "tokens": "t"}, "`models[1]` must be a table"),
    ({"models": [{"name": "7b"}], "tokens": "t"}, "`models[1].name` is '7b', which is no model: use one of 0.5b, 1.5b"),
    ({"models": [{"name": 0.5}], "tokens": "t"}, "`models[1].name` must be a text"),
    ({"models": [{"name": "0.5b"}, {"name": "qwen2.5-coder-0.5b"}], "tokens": "t"}, "stands twice"),
    ({"models": [{"name": "0.5b", "replica": 2}], "tokens": "t"}, "no field `models[1].replica`: use one of gpus"),
    ({"models": [{"name": "0.5b", "replicas": {"min": 3, "max": 2}}], "tokens": "t"}, "min 3 above max 2"),
    ({"models": [{"name": "0.5b", "replicas": {"min": 0}}], "tokens": "t"}, "`models[1].replicas.min` must be a whole"),
    ({"models": [{"name": "0.5b", "gpus": "one"}], "tokens": "t"}, "`models[1].gpus` must be a number"),
    ({"models": [{"name": "0.5b", "threads": True}], "tokens": "t"}, "`models[1].threads` must be a whole number"),
    ({"models": [{"name": "0.5b"}]}, "`tokens` must be a text"),
    (SMALL | {"port": 70000}, "`port` must be a whole number from 1 to 65535."),
    (SMALL | {"host": "0.0.0.0"}, "unencrypted"),
    (SMALL | {"tls": {"certificate": "no.pem", "key": "no.pem"}}, "`tls.certificate` names"),
    (SMALL | {"limits": {"ongoing": 0}}, "`limits.ongoing` must be a whole number"),
    (SMALL | {"limits": {"speed": 1}}, "no field `limits.speed`"),
    (SMALL | {"colour": "blue"}, "There is no field `colour`: use one of audit"),
]


@pytest.mark.parametrize(("raw", "said"), MISTAKES)
def test_a_mistake_is_one_sentence(raw: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        config.read(raw, tmp_path)
    assert said in str(error.value)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"models: [", b"\xff\xfe", b"a: !!python/object:os.system x", b"[" * 5000])
def test_what_is_no_yaml_is_said(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "team.yaml").write_bytes(content)
    assert cli.main(["team", "check", str(tmp_path / "team.yaml")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_file_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["team", "check", str(tmp_path / "no.yaml")]) == 1
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_check_says_what_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "team.yaml").write_text(yaml.safe_dump(SMALL))
    assert cli.main(["team", "check", str(tmp_path / "team.yaml")]) == 0
    assert "it serves 0.5b (1 to 1 replicas) at 127.0.0.1, port 8788." in capsys.readouterr().out


def test_a_taken_port_or_a_missing_model_is_said_before_ray_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        (tmp_path / "team.yaml").write_text(yaml.safe_dump(SMALL | {"port": port}))
        assert cli.main(["team", "serve", str(tmp_path / "team.yaml")]) == 1
        assert f"Port {port} is taken" in capsys.readouterr().err
    assert cli.main(["team", "serve", str(tmp_path / "team.yaml")]) == 1
    assert "is not here yet: run `dlsp model pull`" in capsys.readouterr().err


def test_serving_on_windows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert cli.main(["team", "serve", str(tmp_path / "team.yaml")]) != 0
    assert "runs on Linux and macOS" in capsys.readouterr().err
