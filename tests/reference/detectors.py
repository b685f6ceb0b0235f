"""Foreign scores as loops over samples in double precision, with SciPy and scikit-learn where they have the piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import weibull_min
from sklearn.covariance import EmpiricalCovariance
from sklearn.neighbors import NearestNeighbors


def log_sum_exp(row: Sequence[float]) -> float:
    return max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row))


def msp(logits: np.ndarray, temperature: float = 1.0) -> list[float]:
    rows = [[float(x) / temperature for x in row] for row in logits]
    return [1 - max(math.exp(x - log_sum_exp(row)) for x in row) for row in rows]


def ebo(logits: np.ndarray, temperature: float = 1.0) -> list[float]:
    return [-temperature * log_sum_exp([float(x) / temperature for x in row]) for row in logits]


def percentile(features: np.ndarray, q: float) -> float:
    entries = sorted(float(x) for row in features for x in row)
    place = (len(entries) - 1) * q / 100
    low = math.floor(place)
    high = min(low + 1, len(entries) - 1)
    return entries[low] + (place - low) * (entries[high] - entries[low])


def knn(features: np.ndarray, bank: np.ndarray, k: int) -> np.ndarray:
    unit = [values / np.linalg.norm(values, axis=1, keepdims=True) for values in (features, bank)]
    search = NearestNeighbors(n_neighbors=min(k, len(bank)), algorithm="brute").fit(unit[1])
    return search.kneighbors(unit[0])[0][:, -1] ** 2


def mds(features: np.ndarray, train: np.ndarray, labels: np.ndarray) -> list[float]:
    means = {c: train[labels == c].mean(axis=0) for c in set(labels.tolist())}
    centred = np.stack([row - means[c] for row, c in zip(train, labels.tolist(), strict=True)])
    precision = EmpiricalCovariance().fit(centred).precision_
    return [min(float((h - m) @ precision @ (h - m)) for m in means.values()) for h in features]


def tail_model(distances: Sequence[float], tail_size: int) -> Callable[[float], float] | None:
    """libmr's fit_high with SciPy; no model where the distances do not differ."""
    tail = sorted(distances)[-tail_size:]
    if max(tail) - min(tail) < 1e-7:
        return None
    shape, _, scale = weibull_min.fit([d + 10000 - min(tail) for d in tail], floc=0)
    return lambda d: float(weibull_min.cdf(max(0.0, d + 10000 - min(tail)), shape, scale=scale))


def openmax(logits: np.ndarray, train: np.ndarray, labels: np.ndarray, alpha: int, tail_size: int) -> list[float]:
    classes = train.shape[1]
    centres, models = {}, {}
    for c in range(classes):
        own = [z for z, y in zip(train, labels, strict=True) if y == c and int(np.argmax(z)) == c]
        if own:
            centres[c] = np.mean(own, axis=0)
            models[c] = tail_model([math.dist(z, centres[c]) for z in own], tail_size)
    scores = []
    for z in logits:
        ranked = sorted(range(classes), key=lambda c: -z[c])[:alpha]
        revised, unknown = [float(x) for x in z], 0.0
        for rank, c in enumerate(ranked):
            model = models.get(c)
            w = 0.0 if model is None else model(math.dist(z, centres[c]))
            revised[c] = z[c] * (1 - (len(ranked) - rank) / len(ranked) * w)
            unknown += z[c] - revised[c]
        scores.append(math.exp(unknown - log_sum_exp([*revised, unknown])))
    return scores


def without_rank_one(maps: np.ndarray) -> np.ndarray:
    out = []
    for sample in maps:
        u, s, v = np.linalg.svd(sample.reshape(len(sample), -1).astype(np.float64), full_matrices=False)
        s[0] = 0
        out.append(((u * s) @ v).reshape(sample.shape))
    return np.array(out)


def ngc_prototype(embeddings: np.ndarray, train: np.ndarray, labels: np.ndarray) -> list[float]:
    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    means = [np.mean([z / np.linalg.norm(z) for z in train[labels == c]], axis=0) for c in sorted(set(labels.tolist()))]
    return [1 - max(cosine(z, m) for m in means) for z in embeddings]


def logits_of(features: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.array([[float(w @ h) + float(b) for w, b in zip(weight, bias, strict=True)] for h in features])


def vim(features: np.ndarray, train: np.ndarray, weight: np.ndarray, bias: np.ndarray, dimension: int) -> list[float]:
    """With singular vectors of the centred features in place of eigenvectors of their covariance."""
    origin = -np.linalg.lstsq(weight, bias, rcond=None)[0]
    principal = np.linalg.svd(train - origin)[2][:dimension]

    def outside(h: np.ndarray) -> float:
        centred = h - origin
        return float(np.linalg.norm(centred - sum((centred @ p) * p for p in principal)))

    largest = [max(z) for z in logits_of(train, weight, bias)]
    alpha = float(np.mean(largest)) / float(np.mean([outside(h) for h in train]))
    energies = [log_sum_exp(list(z)) for z in logits_of(features, weight, bias)]
    return [alpha * outside(h) - energy for h, energy in zip(features, energies, strict=True)]


def kept_places(row: Sequence[float], q: float) -> list[int]:
    """The places of the largest entries when q percent are dropped; at least one."""
    count = max(1, len(row) - round(len(row) * q / 100))
    return sorted(range(len(row)), key=lambda i: -row[i])[:count]


def ash(features: np.ndarray, q: float, variant: str) -> np.ndarray:
    shaped = np.zeros(features.shape)
    for out, row in zip(shaped, features.tolist(), strict=True):
        places = kept_places(row, q)
        before, after = math.fsum(row), math.fsum(row[i] for i in places)
        for i in places:
            out[i] = {"p": row[i], "b": before / len(places), "s": row[i] * math.exp(before / (after or 1))}[variant]
    return shaped


def scale(features: np.ndarray, q: float) -> np.ndarray:
    rows = features.tolist()
    return np.array([[x * math.exp(sum(r) / sum(r[i] for i in kept_places(r, q))) for x in r] for r in rows])


def dice(features: np.ndarray, train: np.ndarray, weight: np.ndarray, bias: np.ndarray, q: float) -> list[float]:
    mean = [float(np.mean(column)) for column in train.T]
    contributions = np.array([[w * m for w, m in zip(row, mean, strict=True)] for row in weight])
    level = percentile(contributions, q)
    sparse = np.where([[x > level for x in row] for row in contributions], weight, 0.0)
    return ebo(logits_of(features, sparse, bias))


def she(
    features: np.ndarray, logits: np.ndarray, train: np.ndarray, fit: np.ndarray, labels: np.ndarray
) -> list[float]:
    scores = []
    for h, z in zip(features, logits, strict=True):
        best = int(np.argmax(z))
        own = [g for g, y, t in zip(train, labels, fit, strict=True) if y == best and int(np.argmax(t)) == best]
        scores.append(-float(h @ np.mean(own, axis=0)) if own else 0.0)
    return scores


def nnguide(features: np.ndarray, logits: np.ndarray, train: np.ndarray, fit: np.ndarray, k: int) -> list[float]:
    scores = []
    for h, z in zip(features, logits, strict=True):
        unit = h / np.linalg.norm(h)
        products = [
            float(unit @ g) / float(np.linalg.norm(g)) * log_sum_exp(list(t)) for g, t in zip(train, fit, strict=True)
        ]
        best = sorted(products, reverse=True)[:k]
        scores.append(-log_sum_exp(list(z)) * sum(best) / len(best))
    return scores
