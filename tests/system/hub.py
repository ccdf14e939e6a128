"""A model hub with one file, for huggingface_hub and modelscope. Says what it hands out.

hub.py PORT: a line on stdout for each file given away, the library's name. It gives slowly, so that
two who want the file at once do meet. Run on a machine of the lab, by its own python3.
"""

import hashlib
import http.server
import json
import sys
import time

FILE = "model.bin"
DATA = b"weights " * (1 << 19)
DIGEST = hashlib.sha256(DATA).hexdigest()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SLOWLY = 5.0
"""Seconds for the file."""
LISTING = {
    "Code": 200,
    "Success": True,
    "Data": {
        "Files": [{"Name": FILE, "Path": FILE, "Type": "blob", "Size": len(DATA), "Sha256": DIGEST}]
    },
}


class Hub(http.server.BaseHTTPRequestHandler):
    """What both libraries ask for."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, *, with_body: bool) -> None:
        if "/resolve/" in self.path:
            self._file("huggingface", with_body=with_body)
        elif f"FilePath={FILE}" in self.path:
            self._file("modelscope", with_body=with_body)
        elif "/repo/files" in self.path:
            self._head(200, len(text := json.dumps(LISTING).encode()))
            self.wfile.write(text)
        else:
            self._head(404, 0)

    def _head(self, code: int, length: int) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(length))
        self.send_header("ETag", f'"{DIGEST}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()

    def _file(self, library: str, *, with_body: bool) -> None:
        self._head(200, len(DATA))
        if not with_body:
            return
        print(library, flush=True)
        half = len(DATA) // 2
        self.wfile.write(DATA[:half])
        time.sleep(SLOWLY)
        self.wfile.write(DATA[half:])


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Hub).serve_forever()
