"""Jo-SRC: one column for CIFAR under any noise, one for web images."""

from __future__ import annotations

from lond.methods.jo_src import JoSrcSettings
from lond.presets.recipes.base import Occasion, Recipe
from lond.train.schedule import OptimiserSettings


def recipe(occasion: Occasion) -> Recipe:
    """Return the released CIFAR values; for web images those of the authors' later program for the same sets."""
    if occasion.noise == "web":
        epochs = 120 if occasion.benchmark == "web-bird" else 100
        settings = JoSrcSettings(
            hidden=4096, warmup_epochs=5, ramp_epochs=epochs - 5, label_smoothing=0.3, consistency_weight=0.1
        )
        optimiser = OptimiserSettings(learning_rate=0.01, weight_decay=1e-5, constant_epochs=0, final_rate=1e-5)
        return Recipe(settings, optimiser, epochs=epochs, batch_size=64)
    optimiser = OptimiserSettings(
        name="adam",
        learning_rate=0.001,
        weight_decay=0.0,
        plan="linear",
        constant_epochs=80,
        final_rate=0.0,
        late_momentum=0.1,
    )
    return Recipe(JoSrcSettings(), optimiser, epochs=200, batch_size=128)
