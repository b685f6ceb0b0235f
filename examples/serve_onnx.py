"""Serve an exported model over HTTP with the standard library, onnxruntime and Pillow.

``python examples/serve_onnx.py model.onnx --port 8000`` answers POST requests with an image file as their body.
Without a model it exports a small one, asks itself about one image, and ends.
"""

import argparse
import io
import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import onnxruntime
from PIL import Image, ImageOps

LARGEST = 20_000_000
"""Bytes of a request; larger ones are refused."""


class Model:
    """An exported model, and how it wants its images."""

    def __init__(self, path: str) -> None:
        """Load the file; it says itself how images are prepared."""
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        about = json.loads(self.session.get_modelmeta().custom_metadata_map["lond"])
        _, self.channels, self.side, _ = about["input"]["shape"]
        self.outputs = [output.name for output in self.session.get_outputs()]

    def prepared(self, content: bytes) -> np.ndarray:
        """Return the middle square of an image file as uint8 ``(1, C, side, side)``."""
        mode = "RGB" if self.channels == 3 else "L"
        picture = ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert(mode)
        scale = self.side / min(picture.size)
        sides = [max(self.side, round(length * scale)) for length in picture.size]
        picture = picture.resize(sides, Image.Resampling.BILINEAR)
        left, top = (round(0.5 * (length - self.side)) for length in picture.size)
        pixels = np.asarray(picture.crop((left, top, left + self.side, top + self.side)))
        return pixels.reshape(1, self.side, self.side, self.channels).transpose(0, 3, 1, 2)

    def answer(self, content: bytes) -> dict[str, object]:
        """Return class, probability, foreign score and verdict of one image."""
        found = dict(zip(self.outputs, self.session.run(None, {"images": self.prepared(content)}), strict=True))
        return {
            "label": str(found["label"][0]),
            "probability": float(found["probabilities"][0].max()),
            "foreign_score": float(found["foreign_score"][0]),
            "verdict": str(found["verdict"][0]),
        }


def server(model: Model, port: int) -> ThreadingHTTPServer:
    """Return a server on this machine that answers requests with a model; port 0 takes any that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer 200 with the prediction, or 400 if the body is no image."""
            length = int(self.headers.get("Content-Length", 0))
            try:
                if not 0 < length <= LARGEST:
                    raise ValueError(f"send an image of at most {LARGEST} bytes")
                status, content = 200, model.answer(self.rfile.read(length))
            except (OSError, ValueError) as error:
                status, content = 400, {"error": str(error)}
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def show_itself() -> None:
    """Export a small run, serve it, and ask about a digit and about a text."""
    from sklearn.datasets import load_digits

    from lond import preset, train_run
    from lond.config import with_overrides
    from lond.export import export_run

    settings = {"train.epochs": "2", "net.width": "0.125", "train.max_steps": "10"}
    train_run(with_overrides(preset("digits", "standard"), settings), "served-run", show_progress=False)
    export_run("served-run", "served.onnx")
    digit = io.BytesIO()
    Image.fromarray((load_digits().images[0] * 15.9).astype("uint8")).save(digit, "PNG")
    with server(Model("served.onnx"), 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{running.server_port}"
        with urllib.request.urlopen(urllib.request.Request(place, digit.getvalue())) as reply:
            print(json.load(reply))
        try:
            urllib.request.urlopen(urllib.request.Request(place, b"no image"))
        except urllib.error.HTTPError as refused:
            print("a text is refused with status", refused.code)
        running.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="a file that lond export wrote")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.model:
        server(Model(options.model), options.port).serve_forever()
    else:
        show_itself()
