"""A package index on this machine, in place of PyPI: what is installed here, and files of our own.

`pip` in a new virtual environment installs from it by name, as it would from PyPI, without a network.
"""

from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

NOT_IN_A_WHEEL = {"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"}


@contextmanager
def package_index(own: Mapping[str, Path]) -> Iterator[dict[str, str]]:
    """The environment by which pip asks the index.  `own`: wheels that go before what is installed."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = _answer(self.path, own)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_address[1]}/simple/",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_NO_COMPILE": "1",
        }
    finally:
        server.shutdown()
        server.server_close()


def _answer(path: str, own: Mapping[str, Path]) -> bytes | None:
    """A project's page or one of the files that it links to; None: there is none."""
    name, _, file = path.removeprefix("/simple/").partition("/")
    if name in own:
        return own[name].read_bytes() if file else _page(own[name].name)
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return None
    named = re.sub(r"[-_.]+", "_", name)
    return wheel_of(installed) if file else _page(f"{named}-{installed.version}-py3-none-any.whl")


def _page(file: str) -> bytes:
    return f'<a href="{file}">{file}</a>'.encode()


def wheel_of(installed: Distribution) -> bytes:
    """The wheel that a distribution was installed from, but for scripts that are no entry points."""
    files = [
        file
        for file in installed.files or ()
        if ".." not in file.parts
        and "__pycache__" not in file.parts
        and not (file.parent.suffix == ".dist-info" and file.name in NOT_IN_A_WHEEL)
    ]
    record = next(file for file in installed.files or () if file.name == "RECORD")
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for file in files:
            archive.write(file.locate(), file.as_posix())
        listed = "".join(f'"{file.as_posix()}",,\n' for file in (*files, record))
        archive.writestr(record.as_posix(), listed)
    return written.getvalue()
