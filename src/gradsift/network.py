"""A network with any number of hidden layers and outputs, and how two of them pair up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .activations import Activation, get_activation
from .arguments import Floats, finite_matrix, finite_vector
from .files import kind_of_model, read_model, write_model
from .geometry import UnitMatch, match_units
from .model import SigmoidCombination

_NETWORK_VERSION = 1
MOST_LAYERS = 64  # that a file may hold
_NETWORK_FIELDS = ("format", "version", "activation", "n_layers", "linear", "decides", *(
    f"{name}_{i}" for i in range(MOST_LAYERS) for name in ("weights", "offsets")
))  # fmt: skip


class Layer(NamedTuple):
    """``weights @ input + offsets``: weights (out, in), offsets (out,)."""

    weights: Floats
    offsets: Floats


class Network:
    """``h_0 = x, h_i = f_i(W_i h_{i-1} + b_i)`` for the hidden layers, then ``W h + b + linear x``.

    Parameters
    ----------
    layers : sequence of (W, b)
        From the input to the output, W (out, in) and b (out,); the last one is the output and has no activation.
    activation : str, or one for each hidden layer
        A name in :data:`gradsift.activations.ACTIVATIONS`, or "leaky_relu(0.2)" with any slope between 0 and 1.
    linear : float, (d,) or (m, d) array
        A linear term from the inputs to the outputs, past all hidden layers; zero by default.
    classes : sequence, optional
        Of a network that decides: two for one output, the second where it is positive; else one for each output.

    Notes
    -----
    The object is immutable: its arrays are read-only.

    Examples
    --------
    >>> import gradsift as gs
    >>> net = gs.Network([([[1.0, 2.0], [0.5, -1.0]], [0.0, 0.3]), ([[1.0, -1.0]], [0.1])])
    >>> net.widths, net.n_parameters
    ((2,), 9)
    >>> net.predict([[0.0, 0.0]]).round(4)
    array([-0.1913])
    """

    def __init__(
        self,
        layers: Iterable[tuple[ArrayLike, ArrayLike]],
        activation: str | Activation | Sequence[str | Activation] = "tanh",
        linear: ArrayLike = 0.0,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self._models: tuple[SigmoidCombination, ...] = ()
        self.layers: tuple[Layer, ...] = tuple(_read_layers(layers))
        self._functions = _of_each_layer(activation, len(self.layers) - 1)
        shape = (self.n_outputs, self.n_features)
        skip = np.asarray(linear)
        rows = finite_vector("linear", linear, shape[1])[None] if skip.ndim < 2 else finite_matrix("linear", linear)
        if rows.shape[1] != shape[1] or rows.shape[0] not in (1, shape[0]):
            raise ValueError(f"linear must have the shape {shape} of outputs and inputs, got {rows.shape}.")
        self.linear: Floats = np.broadcast_to(rows, shape).copy()
        self.linear.setflags(write=False)
        self.classes: tuple[Any, ...] | None = None if classes is None else tuple(classes)
        n_classes = max(self.n_outputs, 2)
        if self.classes is not None and len(self.classes) != n_classes:
            raise ValueError(f"classes must name {n_classes} classes, got {len(self.classes)}.")

    @classmethod
    def of(cls, models: SigmoidCombination | Sequence[SigmoidCombination] | Network) -> Network:
        """Return the network that one model is, or several with the same units: one output each."""
        if isinstance(models, Network):
            return models
        outputs = [models] if isinstance(models, SigmoidCombination) else list(models)
        if not outputs or not all(isinstance(m, SigmoidCombination) for m in outputs):
            raise TypeError("Network.of takes a SigmoidCombination or several of them, one per output.")
        first = outputs[0]
        for other in outputs[1:]:
            same = all(np.array_equal(getattr(first, a), getattr(other, a)) for a in ("units", "slopes", "offsets"))
            if not same or first.activation != other.activation:
                raise ValueError(
                    "models must share units, slopes, offsets and activation to be outputs of one network."
                )
        hidden = (first.units * first.slopes[:, None], first.offsets)
        output = (np.array([m.weights for m in outputs]), np.array([m.intercept for m in outputs]))
        network = cls([hidden, output], first.activation, np.array([m.linear for m in outputs]))
        network._models = tuple(outputs)  # forth and back costs no digit
        return network

    # What it is

    @property
    def activation(self) -> str:
        """Name of the activation; where hidden layers have different ones, all of them between commas."""
        return self.activations[0] if len(set(self.activations)) == 1 else ", ".join(self.activations)

    @property
    def activations(self) -> tuple[str, ...]:
        """Name of the activation of each hidden layer."""
        return tuple(f.name for f in self._functions)

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(len(layer.offsets) for layer in self.layers[:-1])

    @property
    def n_units(self) -> int:
        """Hidden units of all layers."""
        return sum(self.widths)

    @property
    def n_features(self) -> int:
        """d, the number of inputs."""
        return int(self.layers[0].weights.shape[1])

    @property
    def n_outputs(self) -> int:
        """m, the number of outputs."""
        return len(self.layers[-1].offsets)

    @property
    def has_linear_term(self) -> bool:
        """Whether there is a linear term past the hidden layers."""
        return bool(self.linear.any())

    @property
    def n_parameters(self) -> int:
        """All weights and offsets, and the linear term where there is one."""
        inside = sum(layer.weights.size + layer.offsets.size for layer in self.layers)
        return int(inside + self.linear.size * self.has_linear_term)

    def __repr__(self) -> str:
        widths = ", ".join(map(str, self.widths))
        outputs = "" if self.n_outputs == 1 else f", {self.n_outputs} outputs"
        return f"Network({widths} {self.activation} units in dimension {self.n_features}{outputs})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        mine, theirs = ([a for layer in n.layers for a in layer] + [n.linear] for n in (self, other))
        same = len(mine) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(mine, theirs))
        return same and self.activations == other.activations

    __hash__ = None  # type: ignore[assignment]

    # What it computes

    def arguments(self, X: ArrayLike) -> list[Floats]:
        """Return the (n, k_i) arguments of the activation in each hidden layer."""
        active, found = finite_matrix("X", X, self.n_features), []
        for f, (weights, offsets) in zip(self._functions, self.layers):
            found.append(np.asarray(active @ weights.T + offsets))
            active = f.value(found[-1])
        return found

    def predict(self, X: ArrayLike) -> Floats:
        """Return the outputs at the rows of X, shape (n,), or (n, m) where there are several. O(n parameters) flops."""
        rows = finite_matrix("X", X, self.n_features)
        active = rows
        for f, (weights, offsets) in zip(self._functions, self.layers):
            active = f.value(active @ weights.T + offsets)
        values = active @ self.layers[-1].weights.T + self.layers[-1].offsets
        if self.has_linear_term:
            values = values + rows @ self.linear.T
        return np.asarray(values[:, 0] if self.n_outputs == 1 else values)

    def decide(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class at each row of X, (n,): that of the largest output, or by the sign of a single one."""
        if self.classes is None:
            raise ValueError("Only a network that was read from decisions, or that was given classes, decides.")
        values = self.predict(X)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(np.array(self.classes)[chosen])

    def agreement(self, oracle: Any, X: ArrayLike) -> float:
        """Return the share of the rows of X that an oracle decides as this network does."""
        answers = oracle(X)
        return float(np.mean(self.decide(X) == oracle.names_of(answers)))

    # The same function written otherwise

    def reordered(self, layer: int, order: ArrayLike, signs: ArrayLike = 1.0) -> Network:
        """Return the same function with the units of one hidden layer in this order and with these signs.

        Parameters
        ----------
        layer : int
            Counted from 0.
        order : (k,) ints
            Unit i of the result is unit order[i].
        signs : float or (k,) array
            +1 or -1 for each unit of the result; -1 only where the activation is odd about its value at zero.
        """
        if not 0 <= layer < len(self.widths):
            raise ValueError(f"layer must lie between 0 and {len(self.widths) - 1}, got {layer}.")
        order, sign = np.asarray(order, dtype=np.intp), finite_vector("signs", signs, self.widths[layer])
        if not np.array_equal(np.sort(order), np.arange(self.widths[layer])):
            raise ValueError(f"order must name each of the {self.widths[layer]} units once.")
        if not (np.abs(sign) == 1).all():
            raise ValueError("signs must be -1 or +1.")
        f = self._functions[layer]
        if (sign < 0).any() and f.odd_form is None:
            raise ValueError(f"A unit of {f.name} has no other sign: it is not odd about its value at zero.")
        here, above = self.layers[layer], self.layers[layer + 1]
        columns = above.weights[:, order]
        # f(-z) = 2 f(0) - f(z): what a flipped unit leaves over is constant.
        flipped = columns[:, sign < 0].sum(axis=1)
        left_over = 2 * f.middle * flipped if (sign < 0).any() else flipped
        layers = list(self.layers)
        layers[layer] = Layer(here.weights[order] * sign[:, None], here.offsets[order] * sign)
        layers[layer + 1] = Layer(columns * sign, above.offsets + left_over)
        return Network(layers, self._functions, self.linear, self.classes)

    def canonical(self) -> Network:
        """Return the same function in a fixed order and with fixed signs, from the last hidden layer to the first.

        The largest outgoing weight of a unit is positive where the activation is odd about its value at zero, and units
        come by decreasing length of their outgoing weights; with one output and one hidden layer that is the canonical
        form of :class:`SigmoidCombination`.
        """
        # From the last layer down: turning a unit changes the signs of its row, which are outgoing weights of the layer
        # below, so that layer has to be judged afterwards.
        found = self
        for layer in reversed(range(len(self.widths))):
            out = found.layers[layer + 1].weights  # (above, k)
            largest = out[np.abs(out).argmax(axis=0), np.arange(out.shape[1])]
            if self._functions[layer].odd_form is None:
                largest = np.ones_like(largest)
            order = np.argsort(-np.linalg.norm(out, axis=0), kind="stable")
            found = found.reordered(layer, order, np.where(largest < 0, -1.0, 1.0)[order])
        return found

    def from_frame(self, center: ArrayLike, scale: ArrayLike) -> Network:
        """Return the network whose value at x is that of this one at ``(x - center) / scale``, (d,) each."""
        middle, size = finite_vector("center", center, self.n_features), finite_vector("scale", scale, self.n_features)
        (weights, offsets), *above, (last, constants) = self.layers
        # W (x - c) / s + b = (W / s) x + (b - (W / s) c): scale the columns first, then move the offsets.
        first = weights / size
        linear = self.linear / size
        layers = [(first, offsets - first @ middle), *above, (last, constants - linear @ middle)]
        return Network(layers, self._functions, linear, self.classes)

    def single_outputs(self) -> tuple[Network, ...]:
        """Return one network for each output."""
        last, constants = self.layers[-1]
        return tuple(
            Network([*self.layers[:-1], (last[i : i + 1], constants[i : i + 1])], self._functions, self.linear[i])
            for i in range(self.n_outputs)
        )

    def sensitivity(self, X: ArrayLike) -> Floats:
        """Return how much the values change if every parameter changes by its own size, (n,); of all outputs together.

        Each argument by its terms' sizes, and what comes of that in the output, to first order.
        """
        rows = finite_matrix("X", X, self.n_features)
        arguments = self.arguments(rows)
        inputs = [rows, *(f.value(z) for f, z in zip(self._functions, arguments))]
        last, constants = self.layers[-1]
        total = np.abs(inputs[-1]) @ np.abs(last).sum(axis=0) + np.abs(constants).sum()
        total = total + np.abs(rows) @ np.abs(self.linear).sum(axis=0)
        # Backpropagation of absolute values: no cancellation between paths, so that the sum is an upper bound.
        back = np.broadcast_to(np.abs(last).sum(axis=0), inputs[-1].shape)
        for number in range(len(arguments) - 1, -1, -1):
            weights, offsets = self.layers[number]
            back = back * self._functions[number].derivative(arguments[number])
            sizes = np.abs(inputs[number]) @ np.abs(weights).T + np.abs(offsets)
            total = total + (back * sizes).sum(axis=1)
            back = back @ np.abs(weights)
        return np.asarray(total)

    def to_model(self) -> SigmoidCombination:
        """Return a network with one hidden layer and one output as a :class:`SigmoidCombination`."""
        if len(self.widths) != 1 or self.n_outputs != 1:
            raise ValueError(
                f"Only one hidden layer with one output is a SigmoidCombination, got {len(self.widths)} hidden layers "
                f"and {self.n_outputs} outputs."
            )
        return self.models()[0]

    def models(self) -> tuple[SigmoidCombination, ...]:
        """Return one :class:`SigmoidCombination` for each output of a network with one hidden layer."""
        if len(self.widths) != 1:
            raise ValueError(f"Only one hidden layer is a SigmoidCombination, got {len(self.widths)}.")
        (units, offsets), (weights, intercepts) = self.layers
        return self._models or tuple(
            SigmoidCombination(units, w, 1.0, offsets, float(c), self._functions[0], g)
            for w, c, g in zip(weights, intercepts, self.linear)
        )

    # Other libraries

    def to_torch(self) -> Any:
        """Return a float64 ``torch.nn.Module``; see :func:`gradsift.export.to_torch`."""
        from .export import to_torch

        return to_torch(self)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write an ONNX file with input ``X`` and output ``y``; see :func:`gradsift.export.to_onnx`."""
        from .export import to_onnx

        to_onnx(self, path)

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn ``MLPRegressor``; see :func:`gradsift.export.to_sklearn`."""
        from .export import to_sklearn

        return to_sklearn(self)

    # Files

    def save(self, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None) -> None:
        """Write one ``.json`` or ``.npz`` file (no pickle); either reads back to the same bits.

        A ``.json`` file keeps `notes` (plain values by name) beside the network, which :meth:`load` passes over.
        """
        arrays = {f"{name}_{i}": a for i, layer in enumerate(self.layers) for name, a in layer._asdict().items()}
        if self.has_linear_term:
            arrays["linear"] = self.linear
        header: dict[str, Any] = {"activation": self.activation, "n_layers": len(self.layers)}
        if self.classes is not None:
            header["decides"] = json.dumps(self.classes)
        write_model(path, "Network", _NETWORK_VERSION, header, arrays, notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Read a file written by :meth:`save`."""
        fields = read_model(path, "Network", _NETWORK_VERSION, _NETWORK_FIELDS)
        try:
            layers = [(fields[f"weights_{i}"], fields[f"offsets_{i}"]) for i in range(int(fields["n_layers"]))]
            classes = json.loads(str(fields["decides"])) if "decides" in fields else None
            names = str(fields["activation"]).split(", ")
            return cls(layers, names[0] if len(names) == 1 else names, fields.get("linear", 0.0), classes)
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(f"{path} holds a damaged Network: {problem}") from None


def load_model(path: str | os.PathLike[str]) -> SigmoidCombination | Network:
    """Read a file written by the ``save`` of either kind, as its content tells."""
    kind = kind_of_model(path)
    if kind not in ("Network", "SigmoidCombination"):
        raise ValueError(f"{path} holds a {kind!r}, not a Network or a SigmoidCombination.")
    return Network.load(path) if kind == "Network" else SigmoidCombination.load(path)


def _read_layers(layers: Iterable[tuple[ArrayLike, ArrayLike]]) -> list[Layer]:
    """Return the layers as read-only arrays whose shapes fit."""
    try:
        pairs = [(w, b) for w, b in layers]
    except (TypeError, ValueError):
        raise TypeError("layers must be a sequence of pairs (weights, offsets).") from None
    if len(pairs) < 2:
        raise ValueError(f"layers must hold at least one hidden layer and the output, got {len(pairs)}.")
    found: list[Layer] = []
    for i, (w, b) in enumerate(pairs):
        inputs = len(found[-1].offsets) if found else None
        weights = finite_matrix(f"weights of layer {i + 1}", w, inputs).copy()
        offsets = finite_vector(f"offsets of layer {i + 1}", b, len(weights)).copy()
        weights.setflags(write=False)
        offsets.setflags(write=False)
        found.append(Layer(weights, offsets))
    return found


def _of_each_layer(activation: str | Activation | Sequence[str | Activation], n: int) -> tuple[Activation, ...]:
    """Return the activation of each of n hidden layers, of which one may be given for all."""
    if isinstance(activation, (str, Activation)):
        return (get_activation(activation),) * n
    if len(activation) != n:
        raise ValueError(f"activation must be one name, or one for each of {n} hidden layers, got {len(activation)}.")
    return tuple(get_activation(f) for f in activation)


@dataclass(frozen=True)
class NetworkMatch:
    """How a found network pairs with a true one.

    Attributes
    ----------
    aligned : Network
        The found network with units in the order and with the signs of the true one; None if their widths differ.
    layers : tuple of UnitMatch
        For each hidden layer: order, signs, and distances between the rows (weights and offset) scaled to length one.
    errors : tuple of arrays
        For each layer, the output included: distance between found and true rows (weights and offset) over the length
        of the true row, or over one where that is shorter.
    """

    aligned: Network | None
    layers: tuple[UnitMatch, ...]
    errors: tuple[NDArray[np.float64], ...]

    @property
    def max_error(self) -> float:
        """Largest relative error of a row; inf when the widths differ."""
        return float("inf") if self.aligned is None else max(float(e.max()) for e in self.errors)


def match_networks(found: Network, truth: Network) -> NetworkMatch:
    """Pair the units of two networks layer by layer, from the inputs on, up to order and sign.

    Notes
    -----
    Each layer by :func:`gradsift.match_units` on weights and offsets, with the columns as the layer before left them.
    Units that have no other sign, such as ReLU, keep theirs: the errors show where it differs.
    """
    if found.activations != truth.activations or found.n_features != truth.n_features:
        raise ValueError(f"Networks to match must have the same inputs and activation, got {found!r} and {truth!r}.")
    if found.widths != truth.widths or found.n_outputs != truth.n_outputs:
        return NetworkMatch(None, (), ())
    matches: list[UnitMatch] = []
    for layer, name in enumerate(truth.activations):
        match = match_units(_rows(found.layers[layer]), _rows(truth.layers[layer]))
        found = found.reordered(layer, match.order, match.signs if get_activation(name).odd_form is not None else 1.0)
        matches.append(match)
    errors = [_row_errors(_rows(a), _rows(b)) for a, b in zip(found.layers, truth.layers)]
    if truth.has_linear_term or found.has_linear_term:
        errors.append(_row_errors(found.linear, truth.linear))
    return NetworkMatch(found, tuple(matches), tuple(errors))


def _rows(layer: Layer) -> Floats:
    return np.concatenate([layer.weights, layer.offsets[:, None]], axis=1)


def _row_errors(found: Floats, truth: Floats) -> Floats:
    return np.asarray(np.linalg.norm(found - truth, axis=1) / np.maximum(np.linalg.norm(truth, axis=1), 1.0))
