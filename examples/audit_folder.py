"""Audit a folder of images: which labels are wrong, which images do not belong?

The images are made here: 8 x 8 digits, one folder per class, with some labels wrong. A frozen network would give better
features (leave out ``embeddings``); raw pixels need no download and no extra.
"""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from lond.audit import AuditSettings, audit, plan_corrections
from lond.data.sources import load

generator = np.random.default_rng(0)
digits = load_digits()
folder = Path("digits")
for number in np.flatnonzero(digits.target < 4)[:240].tolist():
    truth = int(digits.target[number])
    label = (truth + 1) % 4 if generator.random() < 0.1 else truth
    path = folder / str(label) / f"{number:04d}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((digits.images[number] * 15.9).astype("uint8")).save(path)

images = load(folder)
pixels = np.stack([digits.data[int(Path(name).stem)] for name in images.ids]).astype("float32")
np.savez("pixels.npz", embeddings=pixels, ids=np.array(images.ids))

found = audit(folder, embeddings="pixels.npz", settings=AuditSettings(epochs=4, folds=2, map="pca"))
print(found)
found.save("audit")  # audit/audit.html is a page to look at and decide on

plan = plan_corrections(found.table, min_confidence=0.5)
print(plan.describe())
