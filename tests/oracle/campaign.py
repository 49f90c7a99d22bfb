"""A small adaptive campaign, run as a process of its own so that it can be killed: campaign.py JOURNAL N_JOBS STOP.

Each step's rows depend on all earlier answers, as in a real search. Every row is announced before its batch is
answered; from the STOP-th row on nothing is answered any more, and the process waits to be killed.
"""

import json
import sys
import threading
import time

import numpy as np

import gradsift as gs

LOCK = threading.Lock()
ROWS = []


def announced(rows):
    with LOCK:
        for row in rows:
            print("asked", row.tobytes().hex(), flush=True)
        ROWS.extend(rows)
        if len(ROWS) >= int(sys.argv[3]):
            time.sleep(60)
    return (
        np.tanh(rows @ np.array([1.0, -2.0, 0.5])) + 0.1 * rows[:, 0]
    )  # a matrix product: its last bits know the batch


def campaign(oracle, seed=0):
    rng = np.random.default_rng(seed)
    state = np.zeros(3)
    for step in range(12):
        rows = state + rng.standard_normal((5 + step % 4, 3))
        values = oracle(rows)
        state = 0.3 * state + values @ rows / len(rows)
    return state


if __name__ == "__main__":
    oracle = gs.Oracle(announced, 3, batch_size=3, journal=sys.argv[1], n_jobs=int(sys.argv[2]), recheck=0)
    state = campaign(oracle)
    counts = {"n_queries": oracle.n_queries, "n_replayed": oracle.n_replayed}
    print("done", json.dumps({"state": state.tobytes().hex(), **counts}), flush=True)
