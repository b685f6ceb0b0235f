"""The paper's names for methods, detectors, data sets and tasks, and ours."""

from __future__ import annotations

from dataclasses import dataclass

from lond.paper.records import DataSet

METHOD_NAMES = {
    "Standard": "standard",
    "Co-teaching": "co-teaching",
    "Co-teaching+": "co-teaching-plus",
    "DivideMix": "dividemix",
    "NGC": "ngc",
    "Jo-SRC": "jo-src",
    "UNICON": "unicon",
    "NCE": "nce",
    "CIR+": "cir-plus",
    "DISC": "disc",
    "NPN-hard": "npn-hard",
    "SED": "sed",
    "Ours": "lond-drs",
}
"""Printed name -> key in ``lond.methods.METHODS``; every method of the paper is there."""

DETECTOR_NAMES = {
    "MDS": "mds",
    "KNN": "knn",
    "OpenMax": "openmax",
    "MSP": "msp",
    "TempScaling": "temp-scaling",
    "MLS": "mls",
    "EBO": "ebo",
    "REACT": "react",
    "RankFeat": "rankfeat",
}
"""Printed name -> key in ``lond.detect.DETECTORS``; all of them are put on a trained SED."""

VENUES = {
    "Co-teaching": "NeurIPS 2018",
    "Co-teaching+": "ICML 2019",
    "DivideMix": "ICLR 2020",
    "NGC": "ICCV 2021",
    "Jo-SRC": "CVPR 2021",
    "UNICON": "CVPR 2022",
    "NCE": "ECCV 2022",
    "CIR+": "AAAI 2023",
    "DISC": "CVPR 2023",
    "NPN-hard": "AAAI 2024",
    "SED": "ECCV 2024",
}
"""Printed name -> where it was published."""

NOISE_NAMES = {"Sym-20%": "sym20", "Sym-50%": "sym50", "Sym-80%": "sym80", "Asym-40%": "asym40"}
"""Printed noise -> our name; the rate is that of closed-set noise among the images of known classes."""

PRINTED_NOISE = {own: printed for printed, own in NOISE_NAMES.items()}
"""Our name -> printed noise."""

CIFAR_NOISES = ("sym20", "sym80", "asym40")
"""The three cases of every table on CIFAR100N and CIFAR80N."""

WEB_SETS = ("web-aircraft", "web-bird", "web-car")

DATA_SETS = {
    "cifar100n": DataSet("CIFAR100N", "cifar100n"),
    "cifar80n": DataSet("CIFAR80N", "cifar80n"),
    "web-aircraft": DataSet("Web-Aircraft", "web-aircraft"),
    "web-bird": DataSet("Web-Bird", "web-bird"),
    "web-car": DataSet("Web-Car", "web-car"),
    "cifar100n+tinyimagenet-10k": DataSet("TinyImageNet 10K", "cifar100n", "tinyimagenet", 10_000),
    "cifar100n+tinyimagenet-20k": DataSet("TinyImageNet 20K", "cifar100n", "tinyimagenet", 20_000),
    "cifar100n+places365-10k": DataSet("Places-365 10K", "cifar100n", "places365", 10_000),
    "cifar100n+places365-20k": DataSet("Places-365 20K", "cifar100n", "places365", 20_000),
}
"""Our name -> what it is made of."""


@dataclass(frozen=True)
class PaperTask:
    """A row of table 5: which noise is in the training set, and whether foreign images are in the test set.

    Examples:
        >>> PaperTask("LOND", closed_in_training=True, open_in_training=True, open_in_test=True).name
        'LOND'
    """

    name: str
    closed_in_training: bool
    open_in_training: bool
    open_in_test: bool


TASKS = (
    PaperTask("LOND", closed_in_training=True, open_in_training=True, open_in_test=True),
    PaperTask("LCND", closed_in_training=True, open_in_training=False, open_in_test=False),
    PaperTask("LRND", closed_in_training=True, open_in_training=True, open_in_test=False),
)
"""Table 5: open-world, closed-world and real-world noisy data."""
