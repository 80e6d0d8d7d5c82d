"""`docker run [OPTIONS] IMAGE [ARGUMENTS]`, also of podman and nerdctl, as a container.

Source: docker run reference (options that take no value are listed; every other takes one).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scheduler_reader.parse.container import Container
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.image_version import is_vllm_image, serves_by_name
from scheduler_reader.parse.quantity import cores, docker_bytes, whole_number
from scheduler_reader.parse.serve_command import program
from scheduler_reader.parse.source import Word
from scheduler_reader.value import Known, Unknown, Value

RUNTIMES = frozenset({"docker", "podman", "nerdctl", "nvidia-docker", "lima", "finch"})
ALL_GPUS = "all GPUs of the host"
SWITCHES = frozenset(
    f"--{name}"
    for name in (
        *("detach", "interactive", "tty", "rm", "rmi", "init", "privileged", "read-only"),
        *("no-healthcheck", "oom-kill-disable", "sig-proxy", "publish-all", "quiet", "replace"),
        *("disable-content-trust", "tls-verify", "no-hosts", "no-hostname", "env-host"),
        *("http-proxy", "use-api-socket"),
    )
)
SHORT_SWITCHES = frozenset("ditPq")
SHORT = {"e": "--env", "m": "--memory"}


def container_of_run(
    words: Sequence[Word], host_env: Mapping[str, Value[str]], form: str
) -> Container | None:
    """The container that a `docker run` command starts; None for other commands.

    `host_env` is the environment of the command, from which `-e NAME` passes a variable on.
    """
    start = _after_run(words)
    if start is None:
        return None
    options: dict[str, list[Word]] = {}
    index = start
    for name, value, after in _options(words, start):
        options.setdefault(name, []).append(value)
        index = after
    if index >= len(words):
        return None
    entrypoint = options.get("--entrypoint", [None])[-1]
    return Container(
        form,
        words[start - 1].origin,
        name=_name(options),
        image=words[index],
        program=(entrypoint,) if entrypoint is not None and entrypoint.text else None,
        arguments=tuple(words[index + 1 :]),
        env=_environment(options.get("--env", []), host_env),
        deployment=_deployment(options),
    )


def _after_run(words: Sequence[Word]) -> int | None:
    """Index after `run` (or `create`) of a container runtime."""
    for index, word in enumerate(words):
        if program(word) in RUNTIMES or _is_some_runtime(words, index):
            for after in range(index + 1, min(index + 5, len(words))):
                if words[after].text in {"run", "create"}:
                    return after + 1
                if words[after].text in {"exec", "compose", "build", "pull", "logs", "stop", "rm"}:
                    return None
    return None


def _is_some_runtime(words: Sequence[Word], index: int) -> bool:
    """Whether an unknown program (`$ENGINE run …`) runs an image of vLLM: no other program does."""
    runs = index + 1 < len(words) and words[index + 1].text == "run"
    return bool(words[index].unknown and runs) and any(
        serves_by_name(word.text) for word in words[index + 2 :]
    )


def _options(words: Sequence[Word], index: int) -> Iterator[tuple[str, Word, int]]:
    """Option, value and the index after them, up to the image."""
    while index < len(words):
        word = words[index]
        if not word.text.startswith("-"):
            if not (word.unknown and _image_follows(words, index)):
                return
            yield "", word, index + 1
            index += 1
            continue
        name, equals, inline = word.text.partition("=")
        if not name.startswith("--"):
            name, inline = _short(word.text)
            equals = inline
        takes_next = not equals and name not in SWITCHES and index + 1 < len(words)
        index += 2 if takes_next else 1
        value = words[index - 1] if takes_next else Word(inline, word.origin, word.unknown)
        yield name, value, index


def _short(text: str) -> tuple[str, str]:
    """`-it` is a switch, `-eX=1` an option with its value, `-e` one whose value follows."""
    letters = text[1:]
    while letters and letters[0] in SHORT_SWITCHES:
        letters = letters[1:]
    if not letters:
        return "--detach", ""
    return SHORT.get(letters[0], f"-{letters[0]}"), letters[1:].removeprefix("=")


def _image_follows(words: Sequence[Word], index: int) -> bool:
    """Whether an unknown word can stand for options, because the image comes later."""
    return any(
        ("/" in word.text or ":" in word.text)
        and not word.text.startswith("-")
        and (serves_by_name(word.text) or (not word.unknown and is_vllm_image(word.text)))
        for word in words[index + 1 :]
    )


def _name(options: Mapping[str, list[Word]]) -> str | None:
    word = options.get("--name", [None])[-1]
    return word.text if word is not None and not word.unknown else None


def _environment(words: list[Word], host_env: Mapping[str, Value[str]]) -> dict[str, Value[str]]:
    env: dict[str, Value[str]] = {}
    for word in words:
        name, equals, value = word.text.partition("=")
        if not equals:
            passed = Unknown(f"${name} is passed through from the host", word.origin)
            env[name] = host_env.get(name, passed)
        elif word.unknown:
            env[name] = Unknown(word.unknown, word.origin)
        else:
            env[name] = Known(value, word.origin)
    return env


def _deployment(options: Mapping[str, list[Word]]) -> Deployment:
    def last(name: str) -> Word | None:
        return options.get(name, [None])[-1]

    ipc, gpus = last("--ipc"), last("--gpus")
    return Deployment(
        gpu_request=gpus_of_docker(gpus) if gpus else None,
        shared_memory_bytes=docker_bytes(last("--shm-size")),
        uses_host_ipc=Known(ipc.text == "host", ipc.origin) if ipc and not ipc.unknown else None,
        cpu_limit=cores(last("--cpus")),
        memory_limit_bytes=docker_bytes(last("--memory")),
    )


def gpus_of_docker(word: Word) -> Value[int]:
    """How many GPUs `--gpus 2` or `--gpus '"device=0,1"'` gives; `all` depends on the host."""
    text = word.text.strip("\"'")
    if word.unknown or text in {"all", "-1"}:
        return Unknown(word.unknown or ALL_GPUS, word.origin)
    number = whole_number(text)
    if number is not None:
        return Known(number, word.origin)
    for part in text.split(",capabilities")[:1]:
        key, _, devices = part.partition("=")
        if key == "device":
            return Known(len(devices.split(",")), word.origin)
        number = whole_number(devices)
        if key == "count" and number is not None:
            return Known(number, word.origin)
    return Unknown(f"{word.text} names no number of GPUs", word.origin)
