import pytest
import torch
from pretend_device import pretend_device

from coursekit.models.clipping import clip_each, clip_global
from coursekit.models.guards import BadInput

GRADS = [torch.tensor([3.0, 4.0], dtype=torch.float64), torch.tensor([0.0, 12.0], dtype=torch.float64)]


def close(a, b, tolerance=1e-12):
    for x, y in zip(a, b, strict=True):
        torch.testing.assert_close(x, torch.as_tensor(y, dtype=torch.float64), rtol=0, atol=tolerance)


def test_the_slide_clips_each_tensor_by_its_own_norm():
    close(clip_each(GRADS, 6.5), [[3, 4], [0, 6.5]])


def test_the_global_norm_shortens_all_by_one_factor():
    close(clip_global(GRADS, 6.5, epsilon=0), [[1.5, 2], [0, 6]])


@pytest.mark.parametrize("n_max", [0.1, 6.5, 13.0, 100.0])
def test_clip_global_agrees_with_torch(n_max):
    torch.manual_seed(9)
    parameters = [torch.nn.Parameter(torch.zeros(*s, dtype=torch.float64)) for s in [(3, 4), (5,), (2, 2, 2)]]
    for p in parameters:
        p.grad = torch.randn_like(p) * 3
    ours = clip_global([p.grad.clone() for p in parameters], n_max)
    torch.nn.utils.clip_grad_norm_(parameters, n_max)
    close([p.grad for p in parameters], ours)


def test_torchs_epsilon_is_visible_at_1e_9_and_not_at_1e_6():
    (theirs,), (exact,) = clip_global(GRADS[1:], 6.5), clip_global(GRADS[1:], 6.5, epsilon=0)
    assert 1e-9 < float((theirs - exact).abs().max()) < 1e-6


def test_short_and_zero_gradients_are_left_alone():
    zero = torch.zeros(3, dtype=torch.float64)
    for clip in (clip_each, clip_global):
        close(clip([zero], 1.0), [zero])
    close(clip_each(GRADS, 100), GRADS, 0)
    assert clip_global(GRADS, 13.0, epsilon=0)[1].norm() == 12


def test_wrong_forms_differ():
    grads = [torch.tensor([6.0, 8.0], dtype=torch.float64), GRADS[0]]
    right = torch.cat(clip_each(grads, 6.5))
    for wrong in (
        torch.cat(clip_global(grads, 6.5)),  # one norm for all
        torch.cat(grads).clamp(-6.5, 6.5),  # entry by entry
        torch.cat([6.5 * g / g.norm() for g in grads]),  # always rescaled
        torch.cat([6.5 * g / g.abs().sum() if g.norm() > 6.5 else g for g in grads]),  # sum of absolutes
    ):
        assert (wrong - right).norm() / right.norm() > 0.01


def test_it_keeps_to_the_device_of_its_inputs():
    with pretend_device() as device:
        placed = device.place(GRADS)
        for clip in (clip_each, clip_global):
            assert device.holds(clip(placed, 1.0))
    meta = [torch.empty(3, device="meta")]
    assert clip_each(meta, 1.0)[0].is_meta
    assert clip_global(meta, 1.0)[0].is_meta


def test_bad_input_is_named():
    for clip in (clip_each, clip_global):
        for call, message in [
            (lambda clip=clip: clip([], 1.0), "no gradients to clip"),
            (lambda clip=clip: clip(GRADS, 0.0), "n_max is 0.0"),
            (lambda clip=clip: clip([GRADS[0] / 0], 1.0), "gradient 0 of shape .* holds inf"),
        ]:
            with pytest.raises(BadInput, match=message):
                call()
