"""LOND-DRS after some learning, on images of which some are mislabelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from methods.tiny import survey_of, tiny_lond, tiny_samples
from reference import lond_drs as ref
from torch import Tensor

from lond.identify import IdentifySettings
from lond.losses import draw_mix
from lond.methods import LondDrs
from lond.types import Batch, Clock, Phase, Samples, Term

CLASSES = 3


def seeded(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noisy_samples(count: int = 40, wrong: int = 10, classes: int = CLASSES) -> Samples:
    """Images of which the first ``wrong`` have the next class's label."""
    labels = torch.arange(count) % classes
    labels[:wrong] = (labels[:wrong] + 1) % classes
    return tiny_samples(count, classes, labels=labels)


def prepared(samples: Samples | None = None, **changes: Any) -> tuple[LondDrs, Samples, Phase]:
    """Return a method with running statistics, prototypes and a partition, in evaluation mode: rows do not interact."""
    samples = samples or noisy_samples()
    identify = IdentifySettings(neighbours=6, clean_quantile=0.4, open_share=0.3)
    method = tiny_lond(samples, **({"identify": identify} | changes))
    method.train()
    # Some learning spreads the embeddings of a fresh network, which all but coincide.
    optimiser = torch.optim.SGD(method.parameters(), lr=0.05, momentum=0.9)
    images, labels = survey_images(samples), samples.labels.clamp_min(0)
    for _ in range(8):
        batch = Batch(torch.arange(len(samples)), labels, (images, images))
        terms = method.step("warm-up", {"all": batch}, Clock(0), seeded())
        optimiser.zero_grad()
        sum(term.values.mean() for term in terms.values()).backward()
        optimiser.step()
    method.zero_grad(set_to_none=True)
    with torch.no_grad():
        for _ in range(20):  # the running statistics lag behind
            method.net(images)
    (phase,) = method.before_epoch(method.settings.warmup_epochs, survey_of(method, samples))
    method.eval()
    return method, samples, phase


def survey_images(samples: Samples) -> Tensor:
    out: list[Tensor] = []
    survey_of(torch.nn.Identity(), samples)(lambda images: out.append(images) or (images,))  # type: ignore[arg-type]
    return out[0]


def black_box(method: LondDrs) -> ref.Forward:
    """The network as a function of one image."""

    def forward(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            out = method.net(torch.from_numpy(image)[None].float())
        return out.embedding[0].double().numpy(), out.ova_logits[0].double().numpy()

    return forward


def split_views(batch: Batch) -> list[list[np.ndarray]]:
    return [[image.double().numpy() for image in view] for view in batch.views]


def plain_mixes(sizes: list[int], concentration: float, random: torch.Generator) -> list[ref.Mix]:
    mixes = [draw_mix(size, concentration, random) for size in sizes]
    return [(mix.ratio, mix.partners.tolist()) for mix in mixes]


def means(terms: dict[str, Term]) -> dict[str, float]:
    return {name: float(term.values.detach().mean()) for name, term in terms.items()}
