"""Train a classifier on noisy labels, predict, and detect foreign images."""

from collections import Counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from lond import LondClassifier

generator = np.random.default_rng(0)
digits = load_digits()
images = (digits.images * 15.9).astype("uint8")
known = np.flatnonzero(digits.target < 4)
train, test = known[:400], np.concatenate([known[400:500], np.flatnonzero(digits.target == 8)[:50]])
labels = np.where(generator.random(len(train)) < 0.2, generator.integers(0, 4, len(train)), digits.target[train])

model = LondClassifier(
    width=0.125,
    epochs=8,
    warmup_epochs=4,
    batch_size=32,
    padding=1,
    flip=False,  # a mirrored digit is no digit
    strong="geometric",
)
model.fit(images[train], labels)

right = model.predict(images[test[:100]]) == digits.target[test[:100]]
scores = model.score_samples(images[test])  # larger = more foreign
print(f"accuracy {right.mean():.2f}, AUROC of foreign images {roc_auc_score(digits.target[test] == 8, scores):.2f}")
print(Counter(model.verdicts_.tolist()))

model.save("digits-model")
print((LondClassifier.load("digits-model").predict(images[test]) == model.predict(images[test])).all())
