"""Groups of images that repeat each other, conflicts of their labels, and leaks between splits."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from lond.audit.copies.duplicates import (
    DuplicateGroups,
    Leak,
    NearSettings,
    find_duplicates,
    find_leaks,
)
from lond.data.read.wrapped import DatasetPixels
from lond.errors import DataError
from lond.frozen.hashes import SMALL, PerceptualHashes
from lond.frozen.read import FeatureReader
from lond.types import FOREIGN, UNLABELLED, Samples


def unit(count: int, seed: int = 0) -> Tensor:
    """Return vectors that are far from each other."""
    vectors = torch.randn(count, 66, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(vectors - vectors.mean(dim=1, keepdim=True), dim=1)


def perceptual(vectors: Tensor, bits: Tensor | None = None) -> PerceptualHashes:
    """Return hashes whose small pictures are these vectors, with equal bits unless told otherwise."""
    small = torch.nn.functional.pad(vectors, (0, 3 * SMALL**2 - vectors.shape[1]))
    return PerceptualHashes(torch.zeros(len(vectors), 64, dtype=torch.bool) if bits is None else bits, small)


def labels(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


def assert_sound(found: DuplicateGroups) -> None:
    """Check what holds for any groups."""
    count = len(found.groups)
    for tensor in (found.first, found.exact, found.conflict, found.weights):
        assert tensor.shape == (count,)
    alone = found.groups < 0
    assert torch.equal(found.first[alone], torch.arange(count)[alone])
    assert not (found.exact | found.conflict)[alone].any()
    assert torch.equal(found.groups[found.first], found.groups)
    assert torch.equal(found.weights, (~found.exact).float())
    assert not found.exact[found.first[found.exact]].any()


def test_nothing_and_one() -> None:
    for count in (0, 1):
        for seen in (None, perceptual(unit(count))):
            found = find_duplicates(["x"] * count, labels(*[0] * count), seen)
            assert_sound(found)
            assert found.groups.tolist() == [-1] * count
            assert found.first.tolist() == list(range(count))


def test_exact_copies() -> None:
    found = find_duplicates(["a", "b", "a", "", "", "a", "b"], labels(0, 1, 0, 2, 2, 0, 1))
    assert_sound(found)
    assert found.groups.tolist() == [0, 1, 0, -1, -1, 0, 1]
    assert found.first.tolist() == [0, 1, 0, 3, 4, 0, 1]
    assert found.exact.tolist() == [False, False, True, False, False, True, True]
    assert not found.conflict.any()
    assert found.weights.tolist() == [1, 1, 0, 1, 1, 0, 0]


def test_conflicts_leave_the_unlabelled_alone() -> None:
    given = labels(0, UNLABELLED, 1, 2, UNLABELLED, FOREIGN, 3)
    found = find_duplicates(["a", "a", "a", "b", "b", "c", "c"], given)
    assert_sound(found)
    assert found.conflict.tolist() == [True, False, True, False, False, True, True]


def test_the_representative_carries_a_label() -> None:
    found = find_duplicates(["a", "a", "a", "b", "b"], labels(UNLABELLED, 1, 1, UNLABELLED, UNLABELLED))
    assert_sound(found)
    assert found.first.tolist() == [1, 1, 1, 3, 3]
    assert found.weights.tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("same_content", [True, False])
@pytest.mark.parametrize("count", [2, 30, 300])
def test_all_identical(count: int, same_content: bool) -> None:
    hashes = ["a"] * count if same_content else [str(number) for number in range(count)]
    seen, settings = perceptual(unit(1).expand(count, -1)), NearSettings(neighbours=3)
    found = find_duplicates(hashes, torch.zeros(count, dtype=torch.long), seen, settings)
    assert_sound(found)
    assert not found.groups.any() and not found.first.any()
    assert int(found.exact.sum()) == (count - 1 if same_content else 0)


def test_near_duplicates_chain_and_keep_their_exact_twin() -> None:
    features = unit(6)
    features[3] = features[1] + 0.02 * unit(1, 1)[0]
    features[5] = features[3]
    found = find_duplicates(["a", "b", "c", "d", "e", "d"], labels(0, 0, 0, 1, 0, 1), perceptual(features))
    assert_sound(found)
    assert found.groups.tolist() == [-1, 0, -1, 0, -1, 0]
    assert found.first.tolist() == [0, 1, 2, 1, 4, 3]
    assert found.exact.tolist() == [False] * 5 + [True]
    kinds = [
        "exact" if exact else "near" if first != at else ""
        for at, (exact, first) in enumerate(zip(found.exact.tolist(), found.first.tolist(), strict=True))
    ]
    assert list(found.kinds()) == kinds and set(kinds) == {"", "near", "exact"}
    assert found.conflict.tolist() == [False, True, False, True, False, True]


def test_copies_do_not_crowd_out_a_near_duplicate() -> None:
    features = unit(1).expand(20, -1).clone()
    features[19] += 0.02 * unit(1, 1)[0]
    for hashes in (["a"] * 19 + ["b"], [str(number) for number in range(20)]):
        settings = NearSettings(neighbours=2)
        found = find_duplicates(hashes, torch.zeros(20, dtype=torch.long), perceptual(features), settings)
        assert not found.groups.any()


def test_threshold_and_bits_decide() -> None:
    angle = torch.tensor([0.0, 0.1, 0.25])
    across, along = torch.tensor([1.0, -1.0, 0.0, 0.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 1.0, -1.0, 0.0, 0.0])
    vectors = angle.cos()[:, None] * across + angle.sin()[:, None] * along
    given, hashes = labels(0, 0, 0), ["a", "b", "c"]
    assert find_duplicates(hashes, given, perceptual(vectors)).groups.tolist() == [0, 0, 0]
    strict = find_duplicates(hashes, given, perceptual(vectors), NearSettings(threshold=0.99))
    assert strict.groups.tolist() == [0, 0, -1]
    bits = torch.zeros(3, 64, dtype=torch.bool)
    bits[0, :13] = True
    assert find_duplicates(hashes, given, perceptual(vectors, bits)).groups.tolist() == [-1, 0, 0]
    loose = find_duplicates(hashes, given, perceptual(vectors, bits), NearSettings(max_bits=13))
    assert loose.groups.tolist() == [0, 0, 0]


def test_where_all_are_alike_only_the_likest_are_copies() -> None:
    """Forty pictures of cosine 0.99 to each other; one pair of 0.9995."""
    vectors = unit(1) + 0.1 * unit(40, 1)
    vectors[7] = vectors[3] + 0.03 * unit(1, 2)[0]
    found = find_duplicates(
        [str(number) for number in range(40)], torch.zeros(40, dtype=torch.long), perceptual(vectors)
    )
    assert (found.groups >= 0).nonzero().squeeze(1).tolist() == [3, 7]
    few = find_duplicates(list("abc"), labels(0, 0, 0), perceptual(vectors[:3]))
    assert few.groups.tolist() == [0, 0, 0], "few images tell nothing of how alike the set is"


def test_identical_vectors_at_threshold_one() -> None:
    seen = perceptual(unit(4)[[0, 1, 0, 2]] * 3)
    found = find_duplicates(list("abcd"), labels(0, 0, 0, 0), seen, NearSettings(threshold=1.0))
    assert found.groups.tolist() == [0, -1, 0, -1]


def test_unreadable_and_blank_images_repeat_nothing() -> None:
    vectors = unit(1).expand(4, -1).clone()
    assert find_duplicates(["", "", "", ""], labels(0, 1, 0, 1), perceptual(vectors)).groups.tolist() == [-1] * 4
    seen = perceptual(vectors)
    seen.small[2:] = 5
    assert find_duplicates(list("abcd"), labels(0, 0, 0, 0), seen).groups.tolist() == [0, 0, -1, -1]


def test_lengths_are_checked() -> None:
    with pytest.raises(DataError, match="differ in length"):
        find_duplicates(["a"], labels(0, 1))
    with pytest.raises(DataError, match="differ in length"):
        find_leaks(["a"], ["b"], perceptual(unit(2)), perceptual(unit(1)))


def test_exact_leaks_name_every_image_once_at_least() -> None:
    assert find_leaks([], []) == find_leaks(["a"], []) == find_leaks([""], [""]) == []
    leaks = find_leaks(["a", "b", "a", ""], ["c", "a", "", "a", "a"])
    assert leaks == [Leak(0, 1, True), Leak(2, 1, True), Leak(0, 3, True), Leak(0, 4, True)]
    many = find_leaks(["a"] * 1000, ["a"] * 1000)
    assert len(many) == 1999


def test_near_leaks() -> None:
    train, test = unit(5), unit(4, 7)
    test[2] = train[4] + 0.02 * unit(1, 1)[0]
    test[3] = train[0]
    hashes = list("abcde"), ["v", "w", "x", "a"]
    assert find_leaks(*hashes, perceptual(train), perceptual(test)) == [Leak(4, 2, False), Leak(0, 3, True)]
    unlike = perceptual(train), perceptual(test, torch.ones(4, 64, dtype=torch.bool))
    assert find_leaks(*hashes, *unlike) == [Leak(0, 3, True)]
    assert find_leaks(*hashes, *unlike, NearSettings(max_bits=64))[0] == Leak(4, 2, False)
    assert find_leaks([""] * 5, [""] * 4, perceptual(train), perceptual(test)) == []
    assert find_leaks(*hashes, perceptual(train), None) == [Leak(0, 3, True)]


def test_scaled_and_compressed_copies_are_found() -> None:
    random = np.random.default_rng(0)
    pictures = [Image.fromarray(random.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize((90, 90)) for _ in range(30)]
    copies = []
    for number, picture in enumerate(pictures[:10]):
        buffer = io.BytesIO()
        picture.resize((45 + 5 * number, 45 + 5 * number)).save(buffer, "JPEG", quality=40 + 5 * number)
        copies.append(Image.open(io.BytesIO(buffer.getvalue())))
    everything = [*pictures, *copies]
    pixels = DatasetPixels([(picture, 0) for picture in everything], 64)
    samples = Samples(pixels, torch.zeros(40, dtype=torch.long), ("a",), tuple(map(str, range(40))))
    facts = FeatureReader(None, torch.device("cpu")).read(samples, None, perceptual=True)
    found = find_duplicates(facts.hashes, samples.labels, facts.perceptual)
    assert found.first.tolist() == [*range(30), *range(10)]
    assert not found.exact.any()


def test_images_that_a_person_told_apart_are_no_near_copies() -> None:
    vectors = unit(3)
    alike = perceptual(vectors[[0, 0, 0, 1]])
    hashes, given = ["a", "b", "a", "c"], labels(0, 1, 0, 1)
    together = find_duplicates(hashes, given, alike)
    assert together.first.tolist() == [0, 0, 0, 3] and together.conflict.tolist() == [True, True, True, False]
    told = find_duplicates(hashes, given, alike, apart=[2])
    # The exact copy stays one, the near copy does not.
    assert told.first.tolist() == [0, 1, 0, 3] and not told.conflict.any()
