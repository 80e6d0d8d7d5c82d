"""Model facts from the Hugging Face hub: the config and the sizes of the tensors, never the weights.

The only module that opens a connection, and only for `--hub`.  What is fetched is kept by commit,
in a folder that `knowledge.model_config` reads like that of a local model; its safetensors files
are headers without tensors.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from scheduler_reader.errors import InputError, UsageError

CONFIG = "config.json"
FILES = (CONFIG, "hf_quant_config.json", "model.safetensors.index.json")
COMMIT = re.compile(r"[0-9a-f]{40}")
TIMEOUT_S = 20.0
EXTRA = "--hub needs the package huggingface_hub: pip install 'sched-reader[hub]'"


def fetch_model(model_id: str, revision: str | None, cache: Path) -> Path:
    """The folder with a model's config and tensor sizes, below `cache`.

    `revision`: a branch, tag or commit; None: the main branch.  A commit that was fetched before is
    not asked for again.  Server and token are the library's own (`HF_ENDPOINT`, `HF_TOKEN`).
    Raises `UsageError` without the library or for what is no model id, and `InputError` where the
    hub cannot be reached, has no such model, or does not show it.
    """
    try:
        from huggingface_hub import HfApi, errors
        from huggingface_hub.utils import disable_progress_bars, validate_repo_id
    except ImportError:
        raise UsageError(EXTRA) from None
    try:
        validate_repo_id(model_id)
    except ValueError:
        raise UsageError(f"--hub: {model_id} is no model id of the hub") from None
    known = cache / model_id / (revision or "")
    if revision and COMMIT.fullmatch(revision) and known.is_dir():
        return known
    disable_progress_bars()
    try:
        return _fetch(HfApi(library_name="sched-reader"), model_id, revision, cache)
    except (OSError, ValueError, errors.HTTPError, errors.SafetensorsParsingError) as error:
        raise InputError(f"--hub: {_reason(model_id, revision, error, errors)}") from error


def _fetch(api: Any, model_id: str, revision: str | None, cache: Path) -> Path:
    info = api.model_info(model_id, revision=revision, timeout=TIMEOUT_S)
    folder = cache / model_id / str(info.sha)
    if folder.is_dir():
        return folder
    names = {file.rfilename for file in info.siblings or ()}
    if CONFIG not in names:
        raise InputError(f"--hub: {model_id} has no {CONFIG}; is it a model of another library?")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as unfinished:
        new = Path(unfinished) / "new"
        new.mkdir()
        for name in FILES:
            if name in names:
                copy = api.hf_hub_download(
                    model_id, name, revision=info.sha, local_dir=Path(unfinished) / "copies"
                )
                shutil.copyfile(copy, new / name)
        if any(name.endswith(".safetensors") for name in names):
            _write_headers(api, model_id, info.sha, new)
        new.rename(folder)
    return folder


def _write_headers(api: Any, model_id: str, commit: str, folder: Path) -> None:
    """The headers of the safetensors files that the model is loaded from."""
    from huggingface_hub.errors import NotASafetensorsRepoError

    try:
        found = api.get_safetensors_metadata(model_id, revision=commit)
    except NotASafetensorsRepoError:  # files of another kind, such as an adapter's
        return
    for name, file in found.files_metadata.items():
        tensors = {
            tensor: {"dtype": str(entry.dtype), "shape": list(entry.shape)}
            for tensor, entry in file.tensors.items()
        }
        header = json.dumps(tensors).encode()
        path = folder / Path(name).name
        path.write_bytes(len(header).to_bytes(8, "little") + header)


def _reason(model_id: str, revision: str | None, error: Exception, errors: Any) -> str:
    """What went wrong, and what to do."""
    if isinstance(error, errors.GatedRepoError):
        return f"{model_id} is gated: ask for access on its page, then run `hf auth login`"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{model_id} has no revision {revision}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{model_id} is not on the hub, or private (`hf auth login`)"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return f"{model_id} cannot be fetched: HF_HUB_OFFLINE is set"
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return f"{model_id} cannot be fetched: {first}; give a local copy with --model-config"
