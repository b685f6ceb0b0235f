"""Audit your own embeddings: three clusters, some wrong labels, and some points that belong to no class."""

import numpy as np

from lond.audit import AuditSettings, audit

generator = np.random.default_rng(0)
truth = np.repeat([0, 1, 2, -1], [80, 80, 80, 24])  # -1: foreign
centres = 6 * np.eye(3, 16)
spread = np.where(truth[:, None] < 0, 3.0, 1.0)
embeddings = np.where(truth[:, None] < 0, 0, centres[truth]) + spread * generator.normal(size=(len(truth), 16))
labels = np.where((truth < 0) | (generator.random(len(truth)) < 0.1), generator.integers(0, 3, len(truth)), truth)
np.savez("set.npz", embeddings=embeddings.astype("float32"), y=labels)

found = audit("set.npz", settings=AuditSettings(epochs=6, folds=2, map="none"))
print(found)

wrong = (truth >= 0) & (labels != truth)
told = np.array(found.table.verdict) == "mislabelled"
print(f"{(told & wrong).sum()} of {wrong.sum()} wrong labels are found, and {(told & ~wrong).sum()} others")
