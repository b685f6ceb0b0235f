"""The mean teacher: the average by hand, whose batch-norm statistics it uses, and that nothing trains it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lond.errors import ConfigError
from lond.nets.teacher import MeanTeacher


def small_net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def walk(student: nn.Module, teacher: MeanTeacher, steps: int) -> list[torch.Tensor]:
    """Move the student at random, let the teacher follow, and return the student's first weights after each step."""
    seen = []
    for _ in range(steps):
        with torch.no_grad():
            for parameter in student.parameters():
                parameter.add_(torch.randn_like(parameter))
            student.train()(torch.randn(8, 3) * 3 + 1)
        teacher.follow(student)
        seen.append(next(student.parameters()).detach().clone())
    return seen


def test_it_starts_as_a_copy_of_its_own() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.9).eval()
    x = torch.randn(5, 3)
    assert torch.equal(teacher(x), student.eval()(x))
    with torch.no_grad():
        student[0].weight.zero_()
    assert teacher.net[0].weight.abs().sum() > 0


def test_the_average_equals_the_loop() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.75)
    seen = walk(student, teacher, 9)
    expected = seen[0]
    for step, weights in enumerate(seen, start=1):
        memory = min(0.75, 1 - 1 / step)
        expected = memory * expected + (1 - memory) * weights
    assert torch.allclose(teacher.net[0].weight, expected, atol=1e-5)


def test_the_first_steps_are_a_plain_mean_without_the_initial_weights() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.99)
    seen = walk(student, teacher, 6)
    assert torch.allclose(teacher.net[0].weight, torch.stack(seen).mean(dim=0), atol=1e-5)


def test_no_memory_is_the_student_itself() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.0, "average")
    walk(student, teacher, 3)
    for mine, theirs in zip(teacher.net.state_dict().values(), student.state_dict().values(), strict=True):
        assert torch.equal(mine, theirs)


def test_own_statistics_come_from_its_own_forwards() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.9)
    walk(student, teacher, 3)
    assert torch.equal(teacher.net[1].running_mean, torch.zeros(4))
    teacher.train()(torch.randn(8, 3) + 5)
    assert (teacher.net[1].running_mean != 0).all()


def test_average_statistics_follow_the_students() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.5, "average")
    walk(student, teacher, 1)
    first = student[1].running_var.clone()
    walk(student, teacher, 1)
    assert torch.allclose(teacher.net[1].running_var, (first + student[1].running_var) / 2)
    assert teacher.net[1].num_batches_tracked == 2


def test_no_gradient_reaches_it() -> None:
    student = small_net()
    teacher = MeanTeacher(student, 0.9)
    x = torch.randn(4, 3, requires_grad=True)
    assert not teacher(x).requires_grad
    assert not any(parameter.requires_grad for parameter in teacher.parameters())
    assert all(parameter.requires_grad for parameter in student.parameters())


def test_its_state_holds_how_far_it_is() -> None:
    student = small_net()
    teacher, other = MeanTeacher(student, 0.9), MeanTeacher(small_net(1), 0.9)
    walk(student, teacher, 4)
    other.load_state_dict(teacher.state_dict())
    teacher.follow(student)
    other.follow(student)
    assert other.steps == 5
    assert torch.equal(other.net[0].weight, teacher.net[0].weight)


@pytest.mark.parametrize("memory", [-0.1, 1.0])
def test_a_memory_out_of_range_is_refused(memory: float) -> None:
    with pytest.raises(ConfigError, match="memory"):
        MeanTeacher(small_net(), memory)


def test_unknown_statistics_are_refused() -> None:
    with pytest.raises(ConfigError, match="theirs"):
        MeanTeacher(small_net(), 0.9, "theirs")  # type: ignore[arg-type]
