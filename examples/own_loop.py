"""Use losses, margins that judge labels, and detectors in your own training loop."""

import torch
from sklearn.datasets import load_digits
from torch.nn import functional

from lond.detect.ebo import ebo_score
from lond.evaluate import auroc
from lond.identify import IdentifySettings, identify
from lond.losses import generalised_cross_entropy

torch.manual_seed(0)
digits = load_digits()
images = torch.as_tensor(digits.data, dtype=torch.float32) / 16
truth = torch.as_tensor(digits.target)
known, foreign = truth < 8, truth >= 8
labels = torch.where(torch.rand(len(truth)) < 0.3, torch.randint(0, 8, truth.shape), truth)[known]

network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
for _ in range(20):
    for rows in torch.randperm(len(labels)).split(64):
        loss = generalised_cross_entropy(network(images[known][rows]), labels[rows], exponent=0.7).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

with torch.no_grad():
    embeddings, logits = network[:2](images), network(images)
settings = IdentifySettings(neighbours=20, top=1)
partition = identify(labels, logits[known].softmax(dim=1), functional.normalize(embeddings[known]), settings)
right = labels == truth[known]
print(f"of {int(partition.clean.sum())} labels judged clean, {right[partition.clean].float().mean():.0%} are right")
print(f"AUROC of the energy score on foreign digits: {auroc(ebo_score(logits), foreign):.2f}")
