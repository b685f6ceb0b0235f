"""Compare three methods on the same noisy digits, through the command line as ``lond compare`` does."""

import csv
import subprocess
import sys

import numpy as np
from sklearn.datasets import load_digits

generator = np.random.default_rng(0)
digits = load_digits()
known = np.flatnonzero(digits.target < 4)
train, test = known[:300], np.concatenate([known[300:400], np.flatnonzero(digits.target == 8)[:50]])
labels = np.where(generator.random(len(train)) < 0.3, generator.integers(0, 4, len(train)), digits.target[train])
images = (digits.images * 15.9).astype("uint8")
truth = np.where(digits.target[test] == 8, -1, digits.target[test])  # -1: foreign
np.savez("noisy.npz", x_train=images[train], y_train=labels, x_test=images[test], y_test=truth)

options = "--methods standard,co-teaching,npn-soft --epochs 4 --set net.width=0.125 --set train.batch_size=32"
command = [sys.executable, "-m", "lond.cli", "compare", "noisy.npz", "--out", "compared", *options.split()]
subprocess.run(command, check=True)
with open("compared/comparison.csv", newline="") as file:
    for row in csv.DictReader(file):
        print(f"{row['method']:12} accuracy {float(row['accuracy_mean']):.2f}")
