"""The application: every dialect's paths, behind one admission."""

from collections.abc import Collection

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dlsp.api.admission import Admission, Disconnects
from dlsp.api.dialects import llama_cpp, mercury, mistral, ollama, ollama_chat, openai, openai_chat, sweep, tabby, tgi
from dlsp.api.wire import Service, openai_error, plain_error, route

DIALECTS = ("openai", "mistral", "mercury", "llama.cpp", "ollama", "tabby", "tgi", "sweep")


def app(
    service: Service, key: str | None, hosts: Collection[str] | None, dialects: Collection[str] = DIALECTS
) -> Starlette:
    """The application with the paths of `dialects`. With a `key`, each request must carry it. A request's `Host` must
    be one of `hosts`, if they are given."""
    return Starlette(
        routes=[each for name in dialects for each in _routes(service, name)],
        middleware=[Middleware(Admission, key=key, hosts=hosts), Middleware(Disconnects)],
        exception_handlers={HTTPException: _unknown},
    )


def _routes(service: Service, dialect: str) -> list[Route]:
    """The routes of one dialect. Of a path that two dialects have, the first one's route answers both."""
    match dialect:
        case "openai":
            return [
                route(service, "/v1/models", openai.models, method="GET"),
                route(service, "/v1/models/{model:path}", openai.model, method="GET"),
                route(service, "/v1/completions", tabby.completions),
                route(service, "/completions", llama_cpp.completions),
                *(route(service, path, openai.completions) for path in openai.OTHER_PATHS),
                *(route(service, path, openai_chat.chat) for path in openai_chat.PATHS),
            ]
        case "mistral":
            return [route(service, path, mistral.fim) for path in mistral.PATHS]
        case "mercury":
            return [
                *(route(service, path, mistral.fim) for path in mistral.PATHS),
                *(route(service, path, mercury.edit) for path in mercury.EDIT_PATHS),
                *(route(service, path, mercury.apply) for path in mercury.APPLY_PATHS),
                *(route(service, path, mercury.feedback) for path in mercury.FEEDBACK_PATHS),
                *(route(service, path, openai_chat.chat) for path in openai_chat.PATHS),
                route(service, "/v1/models", openai.models, method="GET"),
                route(service, "/v1/chat/completions/models", openai.models, method="GET"),
            ]
        case "llama.cpp":
            return [
                route(service, "/infill", llama_cpp.infill),
                route(service, "/completion", llama_cpp.completion),
                route(service, "/completions", llama_cpp.completions),
                route(service, "/tokenize", llama_cpp.tokenize),
                route(service, "/detokenize", llama_cpp.detokenize),
                route(service, "/apply-template", llama_cpp.apply_template),
                *(route(service, path, openai_chat.chat) for path in openai_chat.PATHS),
                route(service, "/health", tabby.health, method="GET"),
                route(service, "/v1/health", tabby.health, method="GET"),
                route(service, "/v1/models", openai.models, method="GET"),
                route(service, "/props", llama_cpp.props, method="GET"),
                route(service, "/slots", llama_cpp.slots, method="GET"),
            ]
        case "ollama":
            return [
                route(service, "/", ollama.root, plain_error, "GET"),
                route(service, "/api/version", ollama.version, plain_error, "GET"),
                route(service, "/api/tags", ollama.tags, plain_error, "GET"),
                route(service, "/api/ps", ollama.running, plain_error, "GET"),
                route(service, "/api/show", ollama.show, plain_error),
                route(service, "/api/generate", ollama.generate, plain_error),
                route(service, "/api/chat", ollama_chat.chat, plain_error),
            ]
        case "tabby":
            return [
                route(service, "/v1/completions", tabby.completions),
                route(service, "/v1/health", tabby.health, method="GET"),
                route(service, "/v1/health", tabby.health),
                route(service, "/v1beta/server_setting", tabby.setting, method="GET"),
                route(service, "/v1/events", tabby.events),
            ]
        case "sweep":
            return [route(service, sweep.PATH, sweep.next_edit)]
        case _:
            return [
                route(service, "/", tgi.root, tgi.error),
                route(service, "/generate", tgi.generate, tgi.error),
                route(service, "/generate_stream", tgi.generate_stream, tgi.error),
                route(service, "/info", tgi.info, tgi.error, "GET"),
            ]


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = f"There is no {request.method} {request.url.path} here."
    form = plain_error if request.url.path.startswith("/api/") else openai_error
    return JSONResponse(form(error.status_code, sentence, None), error.status_code, error.headers)
