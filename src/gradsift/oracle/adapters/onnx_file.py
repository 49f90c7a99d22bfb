"""ONNX files."""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import Floats
from ...runtime import load_extra
from ..oracle import Oracle
from ..output_links import log_odds, read_link

_DTYPES: dict[str, Any] = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(float16)": np.float16}
_LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
_OWN_LINKS = ("auto", "identity")


def from_onnx(
    path: str | os.PathLike[str],
    *,
    output: str | None = None,
    link: str | None = "auto",
    n_features: int | None = None,
    **options: Any,
) -> Oracle:
    """Return an oracle for an ONNX model with one floating-point input of shape (n, d).

    Parameters
    ----------
    path : path
    output : str, optional
        Name of the output to read; by default the first one that holds floating-point numbers. That of labels, or
        "predict" for the first such one, asks for decisions.
    link : {"auto", "identity", None, "logistic", "logit", "softmax", "log_softmax", "tanh"}
        What the model applies at its end, to be undone as by :class:`~gradsift.Oracle`; "identity" or None takes the
        output as it is; "auto" means log-odds (:func:`~gradsift.oracle.output_links.log_odds`) where the model also
        puts out labels, else "identity".
    n_features : int, optional
        Needed only where the file leaves d open.
    **options
        For :class:`~gradsift.Oracle`.

    Notes
    -----
    Rows are converted to the model's own precision. A model with a fixed number of rows gets that many at a time, the
    last one repeated to fill up.
    """
    runtime = load_extra("onnxruntime", "onnx")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no ONNX file {os.fspath(path)}.")
    if link not in _OWN_LINKS:
        read_link(link)  # a name nobody knows should not cost a session
        options["link"] = link
    content = Path(path).read_bytes()
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = 1  # sums in one order: the same bits whatever the machine is doing
    try:
        session = runtime.InferenceSession(os.fspath(path), settings, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's own classes derive from Exception directly and are not public
        raise ValueError(f"{os.fspath(path)} is not a model that onnxruntime can run: {problem}") from None
    model = _Model(session, output, link, content)
    known = model.n_features or n_features
    if known is None:
        raise ValueError(f"{os.fspath(path)} does not say how many inputs it has: give n_features.")
    return Oracle(model, known, **options)


class _Model:
    """Asks an inference session."""

    def __init__(self, session: Any, output: str | None, link: str | None, content: bytes) -> None:
        inputs, outputs = session.get_inputs(), session.get_outputs()
        if len(inputs) != 1 or inputs[0].type not in _DTYPES or len(inputs[0].shape) != 2:
            shown = ", ".join(f"{i.name}: {i.type} of shape {i.shape}" for i in inputs)
            raise ValueError(f"The model must have one floating-point input of shape (n, d), got {shown}.")
        self._session, self._content = session, content
        self._input, self._dtype = inputs[0].name, _DTYPES[inputs[0].type]
        self._n_rows, self.n_features = (size if isinstance(size, int) else None for size in inputs[0].shape)
        self._output = _choose(outputs, output)
        labels = any(o.type in _LABELS for o in outputs)
        self._undo = (
            link == "auto" and labels and not any(o.name == self._output and o.type in _LABELS for o in outputs)
        )

    @cached_property
    def identity(self) -> str:
        """The output's name and a hash of the file."""
        return f"onnx {self._output} {hashlib.blake2b(self._content, digest_size=16).hexdigest()}"

    def __call__(self, rows: Floats) -> Any:
        values = self._run(rows.astype(self._dtype))
        return log_odds(values, rows) if self._undo else values

    def _run(self, rows: Any) -> Any:
        if self._n_rows is None:
            return self._session.run([self._output], {self._input: rows})[0]
        parts = []
        for start in range(0, len(rows), self._n_rows):
            piece = rows[start : start + self._n_rows]
            filled = np.concatenate([piece, np.repeat(piece[-1:], self._n_rows - len(piece), axis=0)])
            reply = self._session.run([self._output], {self._input: filled})[0]
            parts.append(np.asarray(reply).reshape(self._n_rows, -1)[: len(piece)])
        return np.concatenate(parts)


def _choose(outputs: list[Any], wanted: str | None) -> str:
    names = [o.name for o in outputs if o.type in _DTYPES]
    decisions = [o.name for o in outputs if o.type in _LABELS]
    if decisions and (wanted == "predict" or wanted in decisions):
        return decisions[0] if wanted == "predict" else str(wanted)
    if wanted is not None and wanted not in names:
        raise ValueError(f"output must be one of the model's floating-point outputs {names}, got {wanted!r}.")
    if not names:
        kinds = ", ".join(f"{o.name}: {o.type}" for o in outputs)
        raise ValueError(
            f"The model has no floating-point tensor among its outputs ({kinds}); export it without ZipMap."
        )
    return str(wanted or names[0])
