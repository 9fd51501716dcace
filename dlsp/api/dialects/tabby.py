"""Tabby's `/v1/completions` with segments, `/v1/health`, `/v1beta/server_setting` and `/v1/events`."""

import os
import platform

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp import __version__
from dlsp.api.answer import Options
from dlsp.api.body import Body, Refused
from dlsp.api.completer import File, Gap
from dlsp.api.dialects import openai
from dlsp.api.sampling import sampling_of, seed_of
from dlsp.api.wire import Service, new_id

MAX_TOKENS = 128
OTHER_FILES = ("declarations", "relevant_snippets_from_changed_files", "relevant_snippets_from_recently_opened_files")


async def completions(service: Service, body: Body, request: Request) -> Response:
    """`/v1/completions`: Tabby's where the body has its `segments`, else OpenAI's."""
    if "segments" not in body:
        return await openai.completions(service, body, request)
    segments = body.inner("segments")
    if not (segments.text("prefix") or segments.text("suffix")):
        raise Refused(400, "`segments.prefix` is empty.", "segments")
    files = tuple(
        File(each.text("filepath"), each.text("body")) for name in OTHER_FILES for each in segments.each(name)
    )
    gap = Gap(segments.text("prefix"), segments.text("suffix"), segments.text("filepath") or None, files)
    options = Options(MAX_TOKENS, sampling_of(body), seed_of(body))
    answer = await service.completer.answer(gap, options)
    return JSONResponse({"id": new_id("cmpl"), "choices": [{"index": 0, "text": answer.text}], "mode": "standard"})


async def health(service: Service, body: Body, request: Request) -> Response:
    """Tabby's and llama.cpp's answers in one."""
    version = {"build_date": "", "build_timestamp": "", "git_sha": "", "git_describe": f"dlsp-{__version__}"}
    return JSONResponse(
        {
            "status": "ok",
            "model": service.model,
            "device": "local",
            "arch": platform.machine(),
            "cpu_info": platform.processor(),
            "cpu_count": os.cpu_count() or 1,
            "cuda_devices": [],
            "version": version,
        }
    )


async def setting(service: Service, body: Body, request: Request) -> Response:
    return JSONResponse({"disable_client_side_telemetry": True})


async def events(service: Service, body: Body, request: Request) -> Response:
    """What the user did with a completion: taken and not kept."""
    return JSONResponse({})
