"""A container that a deployment file describes: image, program, arguments, environment.

Every container form (docker run, compose, Dockerfile, Kubernetes, …) fills this one type;
`shell_engines.engines_in_container` finds the vLLM servers in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from scheduler_reader.knowledge.flags import Match, any_release_table
from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.image_version import (
    is_other_server,
    is_vllm_image,
    known_release,
    release_of_image,
    serves_by_name,
)
from scheduler_reader.parse.serve_command import called_script, program
from scheduler_reader.parse.source import Entrypoint, Problem, Word
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin, Unknown, Value

# Programs in a vLLM image that are known to start no engine by themselves.
NO_ENGINE = frozenset(
    {"ray", "sleep", "tail", "multi-node-serving.sh", "curl", "wget", "hf", "true"}
)
READ_THAT = "if it starts vLLM, read that file"
OF_VLLM_ALONE = frozenset(
    {"--gpu-memory-utilization", "--max-num-batched-tokens", "--max-num-seqs", "--max-model-len"}
)
OTHER_SCRIPT = re.compile(r"[\w./$-]+\.(?:sh|py)\b")


class Container(Record):
    """What one container runs.  `program` is None when the image's own entrypoint runs."""

    form: str
    origin: Origin
    name: str | None = None
    image: Word | None = None
    program: tuple[Word, ...] | None = None
    arguments: tuple[Word, ...] = ()
    env: Mapping[str, Value[str]] = {}
    deployment: Deployment | None = None

    @property
    def command(self) -> tuple[Word, ...]:
        """What the file says of the command: the image's own entrypoint is not in it."""
        return (*(self.program or ()), *self.arguments)

    @property
    def release(self) -> Known[str] | None:
        """The vLLM release that the image tag states."""
        if self.image is None or self.image.unknown:
            return None
        return known_release(release_of_image(self.image.text), self.image.origin)

    @property
    def surroundings(self) -> Deployment | None:
        """What the file says of the container's place, with the image where it is vLLM's."""
        image = self.image
        if self.deployment is None or image is None or not is_vllm_image(image.text):
            return self.deployment
        named = Unknown(image.unknown) if image.unknown else Known(image.text, image.origin)
        return self.deployment._replace(image=named)


def image_arguments(container: Container) -> tuple[Entrypoint, tuple[Word, ...]] | None:
    """The arguments that the entrypoint of a vLLM image gets, or None when it runs no vLLM.

    The entrypoint of vLLM's images is the API server module or `vllm serve`, by release; which one
    is told by the arguments: only the latter takes the model as its first word.
    Source: docker/Dockerfile of vLLM.
    """
    if container.program:
        return None
    words = container.arguments
    image = container.image.text if container.image else ""
    if is_other_server(image):
        return None
    names_model = any(_option(word) == "--model" for word in words)
    if words and words[0].text == "serve":
        if names_model and not is_vllm_image(image):
            return None  # the command of another server: `vllm serve` takes the model as a word
        words = words[1:]
    if not (is_vllm_image(image) and _could_be_arguments(words, image)) and not _are_arguments(
        words
    ):
        return None
    return ("api_server" if names_model else "serve"), words


def not_understood(container: Container) -> Problem | None:
    """A problem for a container of vLLM in which no engine was found, unless it needs none."""
    image = container.image.text if container.image else ""
    if not is_vllm_image(image) or is_other_server(image):
        return None
    texts = [text for word in container.command for text in word.text.split()]
    if any(program(Word(text, container.origin)) in NO_ENGINE for text in texts):
        return None
    called = called_script(container.command)
    if called is not None:
        return _script_not_understood(called[0])
    if not container.command:
        message = "runs the image's own entrypoint; the file does not say whether it starts vLLM"
        return Problem(message, container.origin)
    message = f"runs {' '.join(texts[:2])}, which is not in this file; {READ_THAT}"
    return Problem(message, container.command[0].origin)


def _script_not_understood(script: Word) -> Problem | None:
    """A problem when a shell text calls another script, or names vLLM in no way we know."""
    other = OTHER_SCRIPT.search(script.text)
    if other is not None:
        message = f"runs {other[0]}, which is not in this file; {READ_THAT}"
        return Problem(message, script.origin)
    if "vllm" in script.text:
        return Problem("names vllm, but no command in it is seen to start it", script.origin)
    return None


def _could_be_arguments(words: tuple[Word, ...], image: str) -> bool:
    """Whether words after a vLLM image may be vLLM's: at most a model before known options.

    An image without any words serves only where its name says so.
    """
    if not words:
        return serves_by_name(image)
    first = words[0].text
    if not first.startswith("-") and (
        first.startswith(("/bin/", "/usr/")) or first.endswith((".sh", ".py"))
    ):
        return False
    options = [word for word in words if word.text.startswith("--")]
    if not options:
        return first.startswith("-") or (len(words) == 1 and not first.isidentifier())
    return 2 * sum(map(_is_known, options)) >= len(options)


def _are_arguments(words: tuple[Word, ...]) -> bool:
    """Whether words for an image of any name are vLLM's: a model, and options without foreign ones.

    A model that stands first is one where an option follows that only vLLM's engine has.
    """
    options = [word for word in words if word.text.startswith("--")]
    if len(options) < 2 or not all(map(_is_known, options)):
        return False
    if words[0].text.startswith("--"):
        return any(_option(word) == "--model" for word in options)
    is_model = "/" in words[0].text and words[1].text.startswith("--")
    return is_model and any(_option(word) in OF_VLLM_ALONE for word in options)


def _is_known(word: Word) -> bool:
    """Whether a release knows the option, also where it is shortened as argparse allows."""
    option = _option(word).partition(".")[0]
    table = any_release_table()
    found = table.names.get(option) or table.names.get(option.replace("--no-", "--", 1))
    return found is not None or isinstance(table.find(option), Match)


def _option(word: Word) -> str:
    return word.text.partition("=")[0].replace("_", "-")
