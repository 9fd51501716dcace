"""What VS Code's own language server for TypeScript says about a place."""

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.vscode.code import Code

FEES = "class Client {\n  url = ''\n}\n\nfunction total(client: Client) {\n  let x = 1\n}\n"


def test_a_type_that_another_server_tells_is_in_the_prompt(code: Code, stub: StubEngine) -> None:
    code.open(FEES, "fees.ts")
    code.go(6, 12)
    code.type("\nclient.")

    def told() -> bool:
        code.type("q")
        gaps = [request["gaps"][0] for request in stub.asked]
        return any("  // client: Client\n  client.q" in gap["prefix"] + gap.get("middle", "") for gap in gaps)

    code.until(told, "the model sees the type", 60)
    assert "\n  client.q" in code.text()
