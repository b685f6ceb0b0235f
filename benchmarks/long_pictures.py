"""What frozen networks should see of long pictures: made-up sets, judged by every way to see them.

    python -m benchmarks.long_pictures --data DATA --features FEATURES --world tiny --seed 1 [--out FILE]

Most pictures of a set are 4:3. The others are long: the object stands at one end or in the centre of a plain, noisy or
natural background, or is stretched over the whole. Only these are seen in another way than by their centre square,
except by "all whole". Ways were compared on "cifar" (seed 0) before "tiny" was judged. ``DATA`` holds
``cifar-100-python/`` and ``tinyimagenet32.npz``, which are no part of the project.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.noise_bench.sources import cifar_pixels, unpickled
from benchmarks.store import machine, store
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional as F

from lond.crossfit.chances import CLEAN, OUTSIDE
from lond.crossfit.judgement import judge_labels
from lond.evaluate import auroc
from lond.frozen.extractor import Extractor, ExtractorSettings

Pixels = NDArray[np.uint8]

CLASSES, EACH, FOREIGN = 10, 40, 60
SHORT, SIDE = 160, 224
KINDS = (("end", 1.8), ("end", 2.5), ("end", 4.0), ("centre", 2.5), ("fill", 1.8), ("fill", 2.5), ("fill", 4.0))
SQUARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Places of squares along the long side."""
VIEWS = (*SQUARES, "grey", "edge", "reflect", "squeezed")
WRONG_SHARE = 0.1
SCENES = (b"cloud", b"forest", b"mountain", b"plain", b"road", b"sea")

MADE_OF: dict[str, tuple[int, ...]] = {
    "centre square": (2,),
    "whole, grey": (5,),
    "whole, edge": (6,),
    "whole, reflected": (7,),
    "squeezed": (8,),
    "2 squares": (0, 4),
    "3 squares": (0, 2, 4),
    "5 squares": (0, 1, 2, 3, 4),
    "3 squares and whole": (0, 2, 4, 5),
}
"""Way to see a long picture -> the views whose mean feature is taken."""


def sources(data: Path, world: str, seed: int) -> tuple[Pixels, NDArray[np.int64], Pixels]:
    """Return small pictures ``(N, 32, 32, 3)``, their classes (-1 = foreign), and backgrounds."""
    random = np.random.default_rng(seed)
    part, meta = (unpickled(data / "cifar-100-python" / name) for name in ("train", "meta"))
    pixels, label = cifar_pixels(part).transpose(0, 2, 3, 1), np.asarray(part[b"fine_labels"])
    names = [name if isinstance(name, bytes) else name.encode() for name in meta[b"fine_label_names"]]
    scenic = np.isin(label, [names.index(name) for name in SCENES])
    scenes = pixels[scenic][:2000]
    pixels, label = pixels[~scenic], label[~scenic]
    if world == "tiny":
        with np.load(data / "tinyimagenet32.npz") as content:
            pixels, label = content["x_train"], content["y_train"]
    classes = random.permutation(np.unique(label))
    rows, truth = [], []
    for number, name in enumerate(classes[:CLASSES]):
        rows += random.permutation(np.flatnonzero(label == name))[:EACH].tolist()
        truth += [number] * EACH
    rows += random.permutation(np.flatnonzero(np.isin(label, classes[CLASSES : 3 * CLASSES])))[:FOREIGN].tolist()
    truth += [-1] * FOREIGN
    return pixels[rows], np.array(truth), scenes


def background(scenes: Pixels, width: int, random: np.random.Generator) -> Image.Image:
    """Return a plain, noisy or natural ground of ``width`` pixels."""
    scene = Image.fromarray(scenes[random.integers(len(scenes))])
    kind = random.integers(3)
    if kind == 0:
        scene = scene.resize((1, 1), Image.Resampling.BOX)
    if kind == 1:
        mean = np.asarray(scene, dtype=float).mean(axis=(0, 1))
        noise = mean + random.normal(0, 25, size=(20, round(20 * width / SHORT), 3))
        scene = Image.fromarray(noise.clip(0, 255).astype(np.uint8))
    return scene.resize((width, SHORT), Image.Resampling.BICUBIC)


def long_picture(pixels: Pixels, kind: tuple[str, float], scenes: Pixels, random: np.random.Generator) -> Image.Image:
    """Return one picture whose long side is so many times its short side."""
    place, ratio = kind
    width = round(ratio * SHORT)
    thing = Image.fromarray(pixels)
    if place == "fill":
        made = thing.resize((width, SHORT), Image.Resampling.BICUBIC)
    else:
        made = background(scenes, width, random)
        left = (width - SHORT) // 2 if place == "centre" else int(random.integers(2)) * (width - SHORT)
        made.paste(thing.resize((SHORT, SHORT), Image.Resampling.BICUBIC), (left, 0))
    return made


def views(picture: Image.Image) -> Pixels:
    """Return the squares ``(9, 224, 224, 3)`` that a network may see of a picture that lies across."""
    width, height = picture.size
    lefts = [round(at * (width - height)) for at in SQUARES]
    cuts = [picture.crop((left, 0, left + height, height)) for left in lefts]
    small = picture.resize((SIDE, round(SIDE * height / width)), Image.Resampling.BILINEAR)
    above = (SIDE - small.height) // 2
    borders = ((above, SIDE - small.height - above), (0, 0), (0, 0))
    padded = [np.pad(np.asarray(small), borders, "constant", constant_values=128)]
    padded += [np.pad(np.asarray(small), borders, mode) for mode in ("edge", "reflect")]
    fitted = [np.asarray(cut.resize((SIDE, SIDE), Image.Resampling.BILINEAR)) for cut in (*cuts, picture)]
    return np.stack([*fitted[:5], *padded, fitted[5]])


def seen(data: Path, world: str, seed: int) -> dict[str, NDArray[Any]]:
    """Return features of all pictures as 4:3 (four views) and, of half of them, as long ones of every kind."""
    small, truth, scenes = sources(data, world, seed)
    random = np.random.default_rng(seed + 100)
    extractor = Extractor(ExtractorSettings(mirrored=False))

    def of(images: Pixels) -> NDArray[np.float16]:
        batch = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
        return extractor(batch)[:, 0].half().numpy()

    usual = []
    for pixels in small:
        shown = Image.fromarray(pixels).resize((SHORT * 4 // 3, SHORT), Image.Resampling.BICUBIC)
        usual.append(of(views(shown)[[2, 5, 6, 7, 8]]))
    # All of two classes and all foreign pictures, so that sets can have long pictures among these only.
    long = (truth < 2) | (random.random(len(truth)) < 0.5)
    rows = np.flatnonzero(long)
    found = []
    for row in rows:
        made = [views(long_picture(small[row], kind, scenes, random)) for kind in KINDS]
        found.append(of(np.concatenate(made)).reshape(len(KINDS), len(VIEWS), -1))
    return {"usual": np.stack(usual), "long": np.stack(found), "rows": rows, "truth": truth}


def scenarios(truth: NDArray[np.int64], rows: NDArray[np.int64], random: np.random.Generator) -> dict[str, Any]:
    """Return name -> which of ``rows`` are long, and of which kind each is (-1 = mixed)."""
    order, of = random.permutation(len(rows)), truth[rows]
    shares = (0, 0.05, 0.15, 0.5)
    evenly = {share: np.isin(np.arange(len(rows)), order[: round(share * len(truth))]) for share in shares}
    found: dict[str, Any] = {f"{100 * share:.0f} % long": (mask, -1) for share, mask in evenly.items()}
    found["one class long"] = of == 0, -1
    found["two classes long"] = (of == 0) | (of == 1), -1
    found["foreign long"] = of == -1, -1
    found |= {f"15 % {place} {ratio}": (evenly[0.15], at) for at, (place, ratio) in enumerate(KINDS)}
    return found


def noisy(truth: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return labels of which a tenth is wrong; foreign pictures have any."""
    wrong = random.random(len(truth)) < WRONG_SHARE
    other = (truth + random.integers(1, CLASSES, len(truth))) % CLASSES
    labels = np.where(wrong, other, truth)
    return np.where(truth < 0, random.integers(0, CLASSES, len(truth)), labels)


def told(
    features: torch.Tensor, labels: NDArray[np.int64], truth: NDArray[np.int64], long: NDArray[np.bool_]
) -> dict[str, float]:
    """Return how well a set was judged: all of it, and its long pictures."""
    said = judge_labels(features, torch.from_numpy(labels), CLASSES)
    foreign, wrong = torch.from_numpy(truth < 0), torch.from_numpy((truth >= 0) & (labels != truth))
    outside, doubt = said.chances[:, OUTSIDE], 1 - said.chances[:, CLEAN]
    found: dict[str, float] = {}
    for name, part in (("", torch.ones_like(wrong)), ("long ", torch.from_numpy(long))):
        known = part & ~foreign
        if (known & wrong).any() and (known & ~wrong).any():
            found[f"{name}wrong"] = auroc(doubt[known], wrong[known])
        if known.any():
            # Long pictures of known classes against all foreign ones: what would be shown first.
            found[f"{name}foreign"] = auroc(outside[known | foreign], foreign[known | foreign])
            found[f"{name}called foreign"] = float(said.foreign[known].float().mean())
    found["precision"] = float(foreign[said.foreign].float().mean())
    found["recall"] = float(said.foreign[foreign].float().mean())
    return found


def shown(content: dict[str, Any], way: str, long: NDArray[np.bool_], kind: NDArray[np.int64]) -> torch.Tensor:
    """Return the features ``(N, D)`` of a set in which ``long`` ``(M,)`` of the rows are long, of kinds ``(M,)``."""
    usual, rows = content["usual"], content["rows"]
    features = usual[:, 1 if way == "all whole" else 0].astype(np.float32)
    places = np.flatnonzero(long)
    picked = content["long"][places, kind[places]].astype(np.float32)
    if way == "nearest square":
        bank = F.normalize(torch.from_numpy(np.delete(features, rows[places], axis=0)), dim=1)
        near = (F.normalize(torch.from_numpy(picked[:, [0, 2, 4]]), dim=2) @ bank.T).topk(8).values.mean(dim=2)
        features[rows[places]] = picked[:, [0, 2, 4]][np.arange(len(places)), near.argmax(dim=1).numpy()]
    else:
        features[rows[places]] = picked[:, MADE_OF["whole, grey" if way == "all whole" else way]].mean(axis=1)
    return torch.from_numpy(features)


def measure(content: dict[str, Any], draws: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return set -> way -> figures, means over ``draws`` of labels and long pictures."""
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    truth, rows = content["truth"], content["rows"]
    for draw in range(draws):
        random = np.random.default_rng(draw)
        labels, mixed = noisy(truth, random), random.integers(len(KINDS), size=len(rows))
        for name, (long, kind) in scenarios(truth, rows, random).items():
            kinds = mixed if kind < 0 else np.full(len(rows), kind)
            flags = np.isin(np.arange(len(truth)), rows[long])
            for way in (*MADE_OF, "nearest square", "all whole"):
                if long.any() or way in ("centre square", "all whole"):
                    figures = told(shown(content, way, long, kinds), labels, truth, flags)
                    found.setdefault(name, {}).setdefault(way, []).append(figures)
    return {name: {way: means(those) for way, those in ways.items()} for name, ways in found.items()}


def means(draws: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure over the draws that have it."""
    names = dict.fromkeys(name for draw in draws for name in draw)
    return {name: round(float(np.mean([draw[name] for draw in draws if name in draw])), 4) for name in names}


def main() -> None:
    """Measure one world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, required=True, help="folder where features are kept")
    parser.add_argument("--world", choices=("cifar", "tiny"), default="tiny")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    path = options.features / f"long-{options.world}-{options.seed}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **seen(options.data, options.world, options.seed))  # type: ignore[arg-type]
    with np.load(path) as content:
        result = measure(dict(content), options.draws)
    store({"world": options.world, "seed": options.seed, **machine(), "sets": result}, options.out)


if __name__ == "__main__":
    main()
