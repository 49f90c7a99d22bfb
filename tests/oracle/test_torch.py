"""PyTorch modules as oracles."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.oracle import from_torch

from .boxes import points

torch = pytest.importorskip("torch")


def net(dtype=None, seed=0, n_outputs=1):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(5, n_outputs)]
    return torch.nn.Sequential(*layers).to(dtype or torch.float64)


def by_hand(module, X):
    a, b, u, c = (p.detach().double().numpy() for p in module.parameters())
    return np.tanh(X @ a.T + b) @ u.T + c


X = points(30)


def test_a_double_module_answers_in_double_precision_and_without_dropout():
    module = net()
    oracle = from_torch(module)
    np.testing.assert_allclose(oracle(X), by_hand(module, X)[:, 0], atol=1e-14)
    assert oracle.n_features == 3
    assert module.training  # the user's module stays as it was
    assert all(p.requires_grad and p.grad is None for p in module.parameters())


def test_a_single_module_answers_in_its_own_precision():
    module = net(torch.float32)
    answers = from_torch(module)(X)
    assert answers.dtype == np.float64
    assert 1e-9 < np.abs(answers - by_hand(module, X)[:, 0]).max() < 1e-6
    np.testing.assert_allclose(from_torch(module.double())(X), by_hand(module, X)[:, 0], atol=1e-14)


def test_later_training_does_not_change_the_oracle():
    module = net()
    oracle = from_torch(module)
    before = oracle(X)
    with torch.no_grad():
        module[0].weight.mul_(2)
    np.testing.assert_array_equal(oracle(X), before)


def test_several_outputs_and_threads():
    module = net(n_outputs=2)
    oracle = from_torch(module, batch_size=4, n_jobs=3)
    np.testing.assert_allclose(oracle(X), by_hand(module, X), atol=1e-14)
    assert oracle.n_outputs == 2


def test_what_cannot_be_an_oracle_is_refused():
    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(TypeError, match=r"must be a torch.nn.Module, got function"):
        from_torch(lambda x: x)
    with pytest.raises(ValueError, match="give n_features"):
        from_torch(torch.nn.Tanh())
    with pytest.raises(gs.errors.OracleFailure, match="must return a tensor of real numbers, got tuple"):
        from_torch(Pair(), n_features=3, retry=gs.oracle.Retry(attempts=1))(X)
    assert from_torch(torch.nn.Flatten(0), n_features=1)([[0.25]]) == [0.25]  # no parameters: float32


def test_a_journal_knows_a_copy_from_another_network(tmp_path):
    with from_torch(net(), journal=tmp_path / "c.db") as oracle:
        oracle(X)
    with from_torch(net(), journal=tmp_path / "c.db") as oracle:
        oracle(X)
        assert (oracle.n_queries, oracle.n_replayed) == (0, 30)
    with pytest.raises(gs.errors.GradsiftError, match="was recorded with model 'Sequential"):
        from_torch(net(seed=1), journal=tmp_path / "c.db")
