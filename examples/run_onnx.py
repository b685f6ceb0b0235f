"""Export a trained run as ONNX and use it without lond or PyTorch."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageOps
from sklearn.datasets import load_digits

from lond import load_run, preset, train_run
from lond.config import with_overrides
from lond.export import export_run

# A small run to export; `lond export runs/mine mine.onnx` does the same for a run folder of yours.
settings = {"train.epochs": "2", "net.width": "0.125", "train.max_steps": "10"}
train_run(with_overrides(preset("digits", "standard"), settings), "digits-run", show_progress=False)
export_run("digits-run", "digits.onnx")

# Pictures of another size than those of the training.
Path("digits-pictures").mkdir(exist_ok=True)
for number, image in enumerate(load_digits().images[:8]):
    Image.fromarray((image * 15.9).astype("uint8")).resize((20, 28)).save(f"digits-pictures/{number}.png")

# From here on nothing of lond is needed: the file says how to prepare pictures and what its outputs mean.
session = onnxruntime.InferenceSession("digits.onnx", providers=["CPUExecutionProvider"])
about = json.loads(session.get_modelmeta().custom_metadata_map["lond"])
_, channels, side, _ = about["input"]["shape"]


def prepared(path: Path) -> np.ndarray:
    """Do what about["input"]["preprocessing"] says."""
    picture = ImageOps.exif_transpose(Image.open(path)).convert("RGB" if channels == 3 else "L")
    scale = side / min(picture.size)
    picture = picture.resize([max(side, round(length * scale)) for length in picture.size], Image.Resampling.BILINEAR)
    left, top = (round(0.5 * (length - side)) for length in picture.size)
    pixels = np.asarray(picture.crop((left, top, left + side, top + side)))
    return pixels.reshape(side, side, channels).transpose(2, 0, 1)


files = sorted(Path("digits-pictures").iterdir())
names = [output.name for output in session.get_outputs()]
answers = dict(zip(names, session.run(None, {"images": np.stack([prepared(file) for file in files])}), strict=True))
for file, label, verdict, p in zip(files, answers["label"], answers["verdict"], answers["p_value"], strict=True):
    print(f"{file.name}: {label}, {verdict} (p = {p:.3f})")

# The same scores as from lond itself.
run = load_run("digits-run")
scores = run.predict(run.read("digits-pictures", ignore_classes=True)).scores.numpy()
print("largest difference below 1e-5:", bool(np.abs(scores - answers["foreign_score"]).max() < 1e-5))
