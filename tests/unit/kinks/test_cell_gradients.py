"""The gradients of cells, against those of the network, with errors that cover what they miss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift.reading.kinks.cell_gradients import CellGradients, measure_again, measure_gradients
from gradsift.reading.kinks.cells import bases_of, crossings_of
from gradsift.reading.kinks.segments import PathFailure

from .kinked_networks import fitted_path, gradient_at, kinks_on, ledger_of, path_for, random_net


def measured(net, seed=0, function=None):
    """Return the path, its bases, crossings and gradients; steps across it may ask another function."""
    ledger, fitted = fitted_path(net, seed=seed)
    bases, crossings = (part(fitted.segments, net.shape, fitted.sigma) for part in (bases_of, crossings_of))
    if function is not None:
        ledger = ledger_of(function, net.jumps.shape[1])
    return fitted, bases, crossings, measure_gradients(ledger, fitted.path, bases, crossings, net.shape, fitted.sigma)


def true_gradients(net, fitted, bases):
    """Return the gradients at the bases in the coordinates of the path's frame."""
    frame = fitted.path.frame
    active = net.arguments(np.array([base.place for base in bases]) @ frame.plane) > 0
    return frame.to_frame(net.g + active @ net.jumps)


@pytest.mark.parametrize("name", ["relu", "softplus", "elu"])
@pytest.mark.parametrize("d", [3, 9])
def test_every_gradient_is_that_of_the_network_within_its_errors(name, d):
    net = random_net(name, d=d, k=5, seed=21)
    fitted, bases, _, gradients = measured(net)
    misses = np.abs(gradients.values - true_gradients(net, fitted, bases))
    assert misses.max() < 1e-6
    assert (misses[:, 2:] <= 4 * gradients.across).all()
    assert (np.linalg.norm(misses[:, :2], axis=1) <= 4 * np.hypot(gradients.along, gradients.aside)).all()
    at = gradient_at(net, bases[0].place @ fitted.path.frame.plane)
    np.testing.assert_allclose(fitted.path.frame.from_frame(gradients.values[:1])[0], at, atol=1e-3)


def test_a_gradient_costs_one_answer_less_than_there_are_inputs():
    net = random_net("relu", d=8, k=3, seed=22)
    ledger, fitted = fitted_path(net)
    bases, crossings = (part(fitted.segments, net.shape, fitted.sigma) for part in (bases_of, crossings_of))
    before = ledger.n_queries
    measure_gradients(ledger, fitted.path, bases, crossings, net.shape, fitted.sigma, behind=False)
    assert len(bases) * 7 - 1 <= ledger.n_queries - before <= len(bases) * 7 + 2


def test_a_function_with_further_units_behind_the_path_is_a_failure():
    net = random_net("relu", d=5, k=3, seed=23)

    def with_more(X):  # a second layer
        return net.predict(X) + np.maximum(-1e3 - net.predict(X), 0)

    assert isinstance(measured(net)[3], CellGradients)
    failure = measured(net, function=with_more)[3]
    assert isinstance(failure, PathFailure)


def test_two_kinks_within_each_others_transition_are_a_failure():
    net = random_net("softplus", d=4, k=2, seed=24)
    fitted, bases, crossings, _ = measured(net)
    ledger = ledger_of(net.predict, 4)
    wide = [replace(base, room=-1.0) for base in bases]
    failure = measure_gradients(ledger, fitted.path, wide, crossings, net.shape, fitted.sigma)
    assert isinstance(failure, PathFailure)
    assert "within each other's transition" in str(failure)
    assert ledger.n_queries == 0


def test_one_cell_can_be_replaced_and_no_other_changes():
    gradients = CellGradients(np.zeros((3, 5)), np.ones(3), np.ones(3), np.ones((3, 3)))
    new = gradients.with_cell(1, np.arange(5.0), np.array([3.0, 4.0, 0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(new.values[1], np.arange(5.0))
    np.testing.assert_array_equal(new.values[[0, 2]], 0.0)
    assert new.along[1] == new.aside[1] == 5.0
    assert new.sizes[1] == pytest.approx(np.sqrt(25 + 0.01 + 0.04 + 0.09))
    np.testing.assert_array_equal(new.sizes[[0, 2]], 2.0)


def test_a_narrow_cell_is_measured_again_where_it_is_roomier():
    net, path = random_net("relu", d=6, k=5, seed=25), path_for(random_net("relu", d=6, k=5, seed=25))
    first = net.only(np.arange(5) == 0)
    segment, kink = next((segment, kink) for segment in path.segments for kink in kinks_on(first, segment))
    beside, q = segment.points(kink.place + 1e-2), net.q.copy()
    q[1] = -net.jumps[1] @ beside  # the second hyperplane crosses the path right behind the first one
    net = replace(net, q=q)
    ledger, fitted = fitted_path(net)
    bases, crossings = (part(fitted.segments, net.shape, fitted.sigma) for part in (bases_of, crossings_of))
    first = measure_gradients(ledger, fitted.path, bases, crossings, net.shape, fitted.sigma)
    again = measure_again(ledger, fitted.path, first, crossings, net.shape, fitted.sigma)
    true = true_gradients(net, fitted, bases)
    narrow = int(np.argmax(first.sizes))
    assert again.sizes[narrow] < 0.5 * first.sizes[narrow]
    assert np.linalg.norm(again.values[narrow] - true[narrow]) < 4 * again.sizes[narrow]
    assert np.linalg.norm(again.values[narrow] - true[narrow]) < np.linalg.norm(first.values[narrow] - true[narrow])
    assert ledger.spent["roomier"] % 7 == 0
