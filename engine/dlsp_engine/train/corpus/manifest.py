"""The manifest: one file that says what the corpus is made of, to be published with models trained on it."""

import json
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from .ledger import Ledger

PIPELINE = 1


def write(folder: Path, ledger: Ledger) -> dict[str, Any]:
    """Write `manifest.json` and return it. Its `hash` is the SHA-256 of the rest as canonical JSON."""
    kept = [entry for entry in ledger.entries if entry.files]
    manifest: dict[str, Any] = {
        "pipeline": PIPELINE,
        "totals": ledger.totals(),
        "shards": {path.name: _sha256(path) for path in sorted(folder.glob("*.jsonl.xz"))},
        "packages": [
            {
                "package": entry.name,
                "source": entry.source,
                "version": entry.version,
                "licence": entry.licence,
                "split": entry.split,
                "files": entry.files,
                "bytes": entry.bytes,
                "sha256": entry.sha256,
            }
            for entry in kept
        ],
    }
    canonical = json.dumps(manifest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    manifest["hash"] = sha256(canonical.encode()).hexdigest()
    partial = folder / "manifest.json.partial"
    partial.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    partial.replace(folder / "manifest.json")
    return manifest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
