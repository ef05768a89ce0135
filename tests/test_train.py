"""The trainer: it learns, it resumes to the very same numbers, and it says what went wrong."""

import os
import signal
import subprocess
import sys

import pytest
import torch
from torch import nn

from coursekit import data
from coursekit.models.cells import GRU
from coursekit.models.language_model import LanguageModel
from coursekit.train import BadCheckpoint, StoppedTraining, evaluate, train

GRAMMAR = data.Grammar("S -> a X [0.5] | b Y [0.5]\nX -> x x [0.7] | y [0.3]\nY -> y [0.7] | x [0.3]")


class Dropping(nn.Module):
    """A language model that draws random numbers while it trains: resuming must restore the generator."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.inner = LanguageModel(GRU(6, 6), len(GRAMMAR.vocabulary))
        self.drop = nn.Dropout(0.3)

    def loss(self, w, pad=None):
        logits = self.inner(w[:, :-1])
        scale = self.drop(torch.ones_like(logits))
        return nn.functional.cross_entropy((logits * scale).movedim(-1, 1), w[:, 1:], ignore_index=pad)


def options(**more):
    return {"data": GRAMMAR.batches(60, size=8), "rate": 0.02, "clip": 1.0, "progress": False, **more}


def fit(model, data, **more):
    return train(model, data, **more)


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def same(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


def test_a_model_comes_close_to_the_limit_and_not_below_it():
    torch.manual_seed(0)
    model = LanguageModel(GRU(12, 12), len(GRAMMAR.vocabulary))
    unseen = GRAMMAR.batches(100, size=100, seed=9)
    limit = GRAMMAR.entropy_per_word
    first = evaluate(model, unseen)
    history = fit(model, **options(steps=150, data=GRAMMAR.batches(600, size=32), valid=unseen, limit=limit))
    assert first > 1.4
    # The expected loss, exactly: these are all the sentences of the grammar.
    sentences = ["a x x", "a y", "b y", "b x"]
    p = torch.tensor([0.35, 0.15, 0.35, 0.15])
    rows = torch.from_numpy(GRAMMAR.rows(s.split() for s in sentences))
    expected = float(p @ model.losses(rows, pad=0).sum(1).detach()) / (GRAMMAR.length + 1)
    assert limit < expected < limit + 0.02
    assert history.valid[-1] == (150, evaluate(model, unseen))
    assert len(history.losses) == len(history.norms) == 150
    assert f"limit {limit:.4f}" in repr(history)


def test_evaluate_weighs_batches_by_their_words():
    model = LanguageModel(GRU(4, 4), len(GRAMMAR.vocabulary))
    rows = GRAMMAR.rows(GRAMMAR.sample(50, seed=3))
    in_one = float(model.loss(torch.from_numpy(rows), pad=0).detach())
    for size in (7, 50):
        batches = data.Batches(rows, size=size, pad=0)
        assert evaluate(model, batches) == pytest.approx(in_one, rel=1e-5)


def test_the_same_seed_gives_the_same_numbers_and_another_does_not():
    runs = [fit(Dropping(), **options(steps=12, seed=s)).losses for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


class Killed(Exception):
    pass


@pytest.mark.parametrize("died_at", [10, 13])
def test_a_run_that_died_resumes_to_the_very_same_curve_and_weights(tmp_path, died_at):
    whole, broken = Dropping(), Dropping()
    valid = GRAMMAR.batches(20, size=10, seed=4)
    common = options(steps=25, valid=valid, eval_every=4, checkpoint_every=5)
    unbroken = fit(whole, **common)

    def dies(step):
        if step == died_at:
            raise Killed
        return common["data"][step]

    path = tmp_path / "run.pt"
    with pytest.raises(Killed):
        fit(broken, **{**common, "data": dies, "loss": with_pad}, checkpoint=path)
    resumed_model = Dropping()
    torch.rand(100)  # what happened in between must not matter
    resumed = fit(resumed_model, **common, checkpoint=path)
    assert resumed.losses == unbroken.losses
    assert resumed.norms == unbroken.norms
    assert resumed.valid == unbroken.valid
    assert same(weights(whole), weights(resumed_model))
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]


def test_a_finished_run_is_not_run_again_and_a_longer_one_goes_on(tmp_path):
    path = tmp_path / "deep" / "run.pt"
    first = fit(Dropping(), **options(steps=6), checkpoint=path)
    calls = []
    again = fit(Dropping(), **options(steps=6, data=lambda step: calls.append(step)), checkpoint=path)
    assert again.losses == first.losses
    assert calls == []
    longer = fit(Dropping(), **options(steps=9), checkpoint=path)
    assert longer.losses == fit(Dropping(), **options(steps=9)).losses


DIES = """
import os, sys
sys.path.insert(0, {tests!r})
from test_train import Dropping, fit, options, with_pad
batches = options()["data"]
data = lambda step: os._exit(9) if step == 7 else batches[step]
fit(Dropping(), **options(steps=12, data=data, loss=with_pad), checkpoint={path!r}, checkpoint_every=3)
"""


def with_pad(model, w):
    return model.loss(w, pad=0)


@pytest.mark.slow
def test_a_process_that_was_killed_is_resumed_by_another(tmp_path):
    path = str(tmp_path / "run.pt")
    code = DIES.format(tests=os.path.dirname(__file__), path=path)
    threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}  # sums in another order end in another bit
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, **threads}).returncode == 9
    counted = []
    batches = options()["data"]
    data = lambda step: counted.append(step) or batches[step]
    resumed = fit(Dropping(), **options(steps=12, data=data, loss=with_pad), checkpoint=path)
    assert counted == list(range(6, 12))
    assert resumed.losses == fit(Dropping(), **options(steps=12)).losses


def test_an_interrupt_ends_after_its_step_and_leaves_a_checkpoint_to_go_on_from(tmp_path):
    path = tmp_path / "run.pt"
    batches = GRAMMAR.batches(60, size=8)

    def interrupted(step):
        if step == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return batches[step]

    before = signal.getsignal(signal.SIGINT)
    common = options(steps=10, loss=with_pad)
    history = fit(Dropping(), **{**common, "data": interrupted}, checkpoint=path)
    assert len(history.losses) == 6
    assert signal.getsignal(signal.SIGINT) is before
    assert fit(Dropping(), **common, checkpoint=path).losses == fit(Dropping(), **common).losses


def test_the_second_interrupt_does_not_wait(tmp_path):
    def insists(step):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(Dropping(), **options(steps=3, data=insists))


def test_a_write_that_fails_leaves_the_old_checkpoint_whole(tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    fit(Dropping(), **options(steps=4), checkpoint=path)
    before = path.read_bytes()

    def half(state, file):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(OSError, match="no space"):
        fit(Dropping(), **options(steps=8), checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"rate": 0.5}, "rate=0.02, and this one has 0.5"),
        ({"seed": 3}, "seed=0, and"),
        ({"clip": None}, "clip=1.0, and"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(tmp_path, more, says):
    path = tmp_path / "run.pt"
    fit(Dropping(), **options(steps=2), checkpoint=path)
    with pytest.raises(BadCheckpoint, match=says):
        fit(Dropping(), **options(steps=4, **more), checkpoint=path)


def test_a_damaged_file_and_another_model_are_refused_and_the_model_is_left_alone(tmp_path):
    path = tmp_path / "run.pt"
    fit(Dropping(), **options(steps=2), checkpoint=path)
    other = LanguageModel(GRU(5, 5), len(GRAMMAR.vocabulary))
    with pytest.raises(BadCheckpoint, match="a model with other parameters"):
        fit(other, **options(steps=4), checkpoint=path)
    path.write_bytes(path.read_bytes()[:200])
    model = Dropping()
    before = weights(model)
    with pytest.raises(BadCheckpoint, match="not a checkpoint of this trainer, or is damaged"):
        fit(model, **options(steps=4), checkpoint=path)
    assert same(before, weights(model))


def test_a_loss_that_is_nan_stops_with_one_sentence_and_the_weights_before_it():
    model = Dropping()
    batches = GRAMMAR.batches(60, size=8)
    kept = []

    def spoiled(m, w):
        kept.append(weights(m))
        return m.loss(w, pad=0) * (float("nan") if len(kept) == 4 else 1.0)

    with pytest.raises(
        StoppedTraining, match=r"the loss is nan at step 3; try a smaller rate than 0.02 \(the"
    ):
        fit(model, **options(steps=9, data=batches, loss=spoiled))
    assert same(kept[-1], weights(model))
    with pytest.raises(StoppedTraining, match=r"or clip=1.0"):
        fit(Dropping(), **options(steps=9, clip=None, loss=lambda m, w: m.loss(w, pad=0) * float("inf")))


def test_a_gradient_that_is_nan_stops_with_one_sentence():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.x = nn.Parameter(torch.zeros(2))

        def loss(self, w):
            return self.x.norm() ** 0.5 + w.sum() * 0

    with pytest.raises(StoppedTraining, match="the norm of the gradient is nan at step 0"):
        fit(Root(), **options(steps=2, data=[torch.ones(1)]))


def test_clipping_bounds_the_update():
    model = Dropping()
    before = weights(model)
    history = fit(model, **options(steps=1, optimiser="sgd", rate=1.0, clip=1e-3))
    moved = [(before[name] - p).norm() for name, p in weights(model).items()]
    assert history.norms[0] > 0.1
    assert torch.stack(moved).norm() == pytest.approx(1e-3, rel=1e-2)


def test_a_list_of_batches_is_cycled():
    seen = []
    fit(Dropping(), **options(steps=5, data=[torch.zeros(1), torch.ones(1)], loss=_watch(seen)))
    assert seen == [0, 1, 0, 1, 0]


def _watch(seen):
    def loss(model, x):
        seen.append(int(x))
        return sum(p.sum() for p in model.parameters())

    return loss


def test_an_optimiser_that_is_not_there_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="one of adam, adamw, sgd"):
        fit(Dropping(), **options(steps=1, optimiser="magic"))


def test_nothing_is_written_where_nobody_looks(capsys):
    fit(Dropping(), **options(steps=2, progress=True))
    assert capsys.readouterr() == ("", "")


def test_importing_the_trainer_does_not_load_the_plotting_library():
    code = "import coursekit.train, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def _places():
    from coursekit.data.scenes import FEATURES, VOCABULARY
    from coursekit.models.captioning import Captioner
    from coursekit.models.seq2seq import AttentionTranslator
    from coursekit.models.transformer import TransformerLM

    task, scenes = data.translation(12), data.Scenes.draw(12, size=3)
    return {
        "language model": (
            lambda: LanguageModel(GRU(4, 4), len(GRAMMAR.vocabulary)),
            GRAMMAR.batches(12, size=4),
        ),
        "translator": (
            lambda: AttentionTranslator(len(task.source), len(task.target), 4, 5, pad=0),
            task.batches(4),
        ),
        "captioner": (lambda: Captioner(FEATURES, len(VOCABULARY), 4, 5), scenes.batches(4)),
        "transformer": (
            lambda: TransformerLM(len(GRAMMAR.vocabulary), 8, heads=2, layers=1),
            GRAMMAR.batches(12, size=4),
        ),
    }


@pytest.mark.parametrize("name", ["language model", "translator", "captioner", "transformer"])
def test_training_keeps_to_the_device_it_is_given(name):
    from pretend_device import PRETEND, pretend_device

    make, batches = _places()[name]
    common = {"steps": 3, "clip": 0.5, "valid": batches, "progress": False}
    torch.manual_seed(3)
    ordinary = train(make(), batches, device=torch.device("cpu"), **common)
    torch.manual_seed(3)
    with pretend_device() as device:
        model = device.place(make())
        elsewhere = train(model, batches, device=PRETEND, **common)
        assert device.holds(list(model.parameters()))
    assert elsewhere.losses == pytest.approx(ordinary.losses, rel=1e-6)
    assert elsewhere.valid[-1][1] == pytest.approx(ordinary.valid[-1][1], rel=1e-6)


def test_a_model_that_forgets_its_device_is_found_in_training():
    from pretend_device import PRETEND, MixedDevices, pretend_device

    class Forgetful(LanguageModel):
        def loss(self, w, pad=None):
            return (
                super().loss(w, pad=pad) + torch.zeros(2).sum() + (self.e + torch.zeros(self.e.shape)).sum()
            )

    with pretend_device() as device, pytest.raises(MixedDevices):
        train(
            device.place(Forgetful(GRU(4, 4), len(GRAMMAR.vocabulary))),
            GRAMMAR.batches(4),
            steps=1,
            device=PRETEND,
            progress=False,
        )
