"""Sites that cannot share rows share summaries."""

import zipfile

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.fit import Family, NormalEquations, Parameters
from gradsift.paper.method.gradients import ProjectedSummary
from gradsift.paper.method.kernel import KernelSummary
from gradsift.paper.method.subspace import MirrorSummary
from gradsift.paper.method.weights import WeightSummary
from gradsift.sources import ArraySource, MomentSummary
from gradsift.table.frame import Frame, FrameGradient

D = 3
RNG = np.random.default_rng(5)
MODEL = gs.simulate.random_combination(D, 2, rng=1)
X, Y = MODEL.sample(900, 0.1, rng=2)
POINTS = RNG.standard_normal((7, D))


def equations(curvature=True):
    theta = Parameters(RNG.standard_normal((2, D)), np.ones(2), np.zeros(2), 0.0)
    return NormalEquations(Family.of("tanh"), theta, curvature=curvature, single=False)


def plane():
    return np.linalg.qr(RNG.standard_normal((D, 2)))[0].T


SUMMARIES = [
    MomentSummary(),
    KernelSummary(POINTS),
    ProjectedSummary(KernelSummary(POINTS[:, :2]), plane()),
    MirrorSummary(np.ones(D), np.zeros(D), np.eye(D)),
    WeightSummary(MODEL.units, np.array([1.0, 2.0]), get_activation("tanh")),
    equations(),
    equations(curvature=False),
    FrameGradient(equations().family, equations().theta, Frame(np.zeros(D), np.eye(D), 0.0, 1.0, np.ones(D), 1.0)),
]


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda s: type(s).__name__)
def test_three_sites_that_share_files_know_what_one_table_would(summary, tmp_path):
    cuts = [0, 100, 850, 900]
    for i in range(3):
        site = ArraySource(X[cuts[i] : cuts[i + 1]], Y[cuts[i] : cuts[i + 1]])
        summary.save(site.collect(summary), tmp_path / f"{i}.npz")
    a, b, c = (summary.load(tmp_path / f"{i}.npz") for i in range(3))
    merged = summary.merge(c, summary.merge(a, b))  # in any order
    whole = ArraySource(X, Y).collect(summary)
    assert type(merged) is type(whole)
    for found, truth in zip(summary_fields(summary, merged), summary_fields(summary, whole)):
        np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-10)


def summary_fields(summary, state):
    """The answer's fields: a state's own may differ, as a shift does, where the answer is the same."""
    answer = summary.finalize(state)
    values = answer if isinstance(answer, tuple) else vars(answer).values()
    return [value for value in values if value is not None]


def test_a_loaded_state_has_the_bits_of_the_saved_one(tmp_path):
    summary = KernelSummary(POINTS)
    state = ArraySource(X, Y).collect(summary)
    summary.save(state, tmp_path / "s.npz")
    for a, b in zip(state, summary.load(tmp_path / "s.npz")):
        np.testing.assert_array_equal(a, b)


def test_states_of_other_points_or_kinds_are_refused(tmp_path):
    summary = KernelSummary(POINTS)
    summary.save(ArraySource(X, Y).collect(summary), tmp_path / "s.npz")
    with pytest.raises(ValueError, match="with other parameters"):
        KernelSummary(POINTS + 1e-15).load(tmp_path / "s.npz")
    with pytest.raises(ValueError, match="holds a KernelSummary, not a MomentSummary"):
        MomentSummary().load(tmp_path / "s.npz")
    # How it is computed may differ between sites; what is computed may not.
    KernelSummary(POINTS, working_memory=8).load(tmp_path / "s.npz")


def test_files_that_are_none_are_refused(tmp_path):
    summary = MomentSummary()
    with pytest.raises(FileNotFoundError):
        summary.load(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(ValueError, match="is not a summary file"):
        summary.load(tmp_path / "text.npz")
    MODEL.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="does not hold a summary"):
        summary.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match=r"must end in \.npz"):
        summary.save(ArraySource(X, Y).collect(summary), tmp_path / "s.pickle")


def test_a_file_of_a_later_version_asks_for_an_upgrade(tmp_path):
    summary = MomentSummary()
    summary.save(ArraySource(X, Y).collect(summary), tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz") as archive:
        fields = dict(archive)
    np.savez(tmp_path / "t.npz", **{**fields, "version": np.array(99)})
    with pytest.raises(gs.errors.GradsiftError, match="format version 99"):
        summary.load(tmp_path / "t.npz")


def test_a_file_needs_no_pickle_and_an_interrupt_leaves_none(tmp_path, monkeypatch):
    summary = MomentSummary()
    state = ArraySource(X, Y).collect(summary)
    summary.save(state, tmp_path / "s.npz")
    assert all(name.endswith(".npy") for name in zipfile.ZipFile(tmp_path / "s.npz").namelist())

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", stop)
    with pytest.raises(KeyboardInterrupt):
        summary.save(state, tmp_path / "t.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["s.npz"]
