"""The blocks of the pages by their names, each a text made of the results."""

from collections.abc import Callable

from bench.report.blocks import edits, interfaces, latency, load, quality, reasons, service, summary, trust, typing
from bench.report.blocks.words import Needed

BLOCKS: dict[str, Callable[[Needed], str]] = {
    "reasons": reasons.reasons,
    "summary": summary.summary,
    "identity": quality.identity,
    "quality": quality.quality,
    "dtypes": quality.dtypes,
    "random-span": quality.random_span,
    "pipeline": quality.pipeline,
    "peers": latency.peers,
    "large": latency.large,
    "avx2": latency.avx2,
    "modes": latency.modes,
    "start": latency.start,
    "editors": latency.editors,
    "resident": latency.resident,
    "server": service.server,
    "soak": service.soak,
    "prefill": load.prefill,
    "crowd": load.crowd,
    "constraints": load.constraints,
    "places": service.places,
    "restart": service.restart,
    "cancel": service.cancel,
    "clients": interfaces.clients,
    "chats": interfaces.chats,
    "faults": service.faults,
    "proofs": trust.proofs,
    "day": trust.day,
    "sizes": trust.sizes,
    "typing": typing.replay,
    "languages": typing.languages,
    "closers": typing.closers,
    "cross-file": typing.cross_file,
    "context": typing.context,
    "edits": edits.edits,
}
