"""The values of the paper's tables as they stand there.

"*" marks bold type; a dagger marks methods that the paper's authors ran again. Table 5 holds no values: see ``TASKS``.
"""

from __future__ import annotations

TABLE1 = """
Standard      35.50   3.84  28.43    29.37   4.20  22.25
Co-teaching   56.21  22.83  37.26    60.38  16.59  42.42
Co-teaching+  52.87  18.55  38.78    53.97  12.29  43.01
DivideMix     57.76  28.98  43.75    57.47  21.18  37.47
NGC†          60.95  40.10  45.50    64.67  37.12  47.83
NCE           54.58  35.23  49.90    58.53  39.34  56.40
CIR+†         57.73  44.95  52.67    61.11  45.75  56.47
NPN-hard†     65.27  36.88  60.11    66.07  35.38  64.09
SED           66.50  38.15  58.29    69.10  42.57  60.87
Ours         *67.11 *48.33 *65.22   *69.61 *49.30 *67.27
"""
"""Accuracy; the three noises on CIFAR100N, then on CIFAR80N."""

TABLE2 = """
sym20    48.02  44.47  60.93  63.92  64.43  63.73  63.45  62.90  56.54  67.97 *75.97
sym80    51.06  48.95  57.17  60.23  61.44  61.83  61.72  61.01  55.22  59.17 *63.82
asym40   47.21  45.97  60.61  61.48  61.97  61.95  61.88  61.44  56.41  67.64 *73.50
mean     48.76  46.46  59.57  61.88  62.61  62.50  62.35  61.78  56.06  64.93 *70.10
"""
"""AUROC on CIFAR80N: MDS, KNN, OpenMax, MSP, TempScaling, MLS, EBO, REACT and RankFeat on SED; NGC; Ours."""

TABLE3 = """
Standard      60.80  64.40  60.60  61.93
Co-teaching   79.54  76.68  84.95  80.39
Co-teaching+  74.80  70.12  76.77  73.90
DivideMix     82.48  74.40  84.27  80.38
NGC           78.64  75.37  82.48  78.83
Jo-SRC        82.73  81.22  88.13  84.03
UNICON        85.18  81.20  88.15  84.84
NCE           84.94  80.22  86.38  83.85
DISC          85.27  81.08  88.31  84.89
NPN-hard      86.02  80.91  88.26  85.06
SED           86.62 *82.00  88.88  85.83
Ours         *89.92  80.95 *89.45 *86.77
"""
"""Accuracy on Web-Aircraft, Web-Bird, Web-Car, and its mean; ResNet50 throughout."""

TABLE4 = """
(1).Warmup     33.95  56.11  45.03   55.66  67.35  61.50
(2).Baseline   46.95  62.68  54.82   66.15  71.16  68.65
(3).(2)+L_PU   46.95  62.51  54.73   67.00  72.30  69.65
(4).(3)+L_Con  47.65  63.03  55.34   66.40  72.92  69.66
(5).(4)+L_BCL *49.30 *63.82 *56.56  *67.27 *73.50 *70.39
"""
"""Accuracy, AUROC and their mean on CIFAR80N, at Sym-80%, then at Asym-40%."""

TABLE6 = """
sym20    94.50  93.48 *86.79
sym80    94.05  93.97 *92.13
asym40   95.01  93.74 *88.09
mean     94.52  93.73 *89.00
"""
"""FPR95 on CIFAR80N: MDS and KNN on SED; Ours."""

TABLE7 = """
cifar100n+tinyimagenet-10k   61.63 *62.33
cifar100n+tinyimagenet-20k   60.94 *63.25
cifar100n+places365-10k      61.78 *63.92
cifar100n+places365-20k      61.20 *62.58
"""
"""Accuracy with images of another data set, at Sym-50%: SED; Ours."""

TABLE8 = """
cifar100n+tinyimagenet-10k   36.82  42.10  69.07  71.68  74.72  76.75  73.88  68.80  53.68 *72.21
cifar100n+tinyimagenet-20k   29.63  29.44  71.52  74.07  77.04 *78.62  73.82  69.91  49.80  73.34
cifar100n+places365-10k      37.93  37.19  62.07  66.50  67.98  68.65  66.01  59.10  47.46 *72.46
cifar100n+places365-20k      32.58  26.41  65.10  70.85  72.80  72.80  67.91  62.24  52.92 *73.29
"""
"""AUROC with images of another data set, at Sym-50%: the detectors in the order of table 2; Ours."""
