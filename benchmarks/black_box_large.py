"""One large network behind an exact oracle: queries, error, own CPU time and peak memory.

python benchmarks/black_box_large.py [--features 2000] [--units 500] [--save]

A million unknowns take minutes. The peak is that of the whole process, the network that answers included.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings

import numpy as np

import gradsift as gs
from black_box_exact import Timed, teacher, worst_error
from record import RESULTS, save


def measure(d: int, k: int, seed: int) -> dict[str, object]:
    truth = teacher("tanh", d, k, seed)
    timed, start = Timed(truth.predict), time.process_time()
    found = gs.recover(gs.Oracle(timed, d), random_state=np.random.default_rng([seed, 1]))
    return {
        "d": d,
        "k": k,
        "unknowns": truth.n_parameters,
        "queries_per_unknown": found.n_queries / truth.n_parameters,
        "largest_error": worst_error(found.model, truth),
        "certified": found.certified,
        "verdict": found.verdict,
        "cpu_seconds": time.process_time() - start - timed.seconds,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--units", type=int, default=500)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--save", action="store_true", help="add the row to results/black_box_large.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # the verdict is printed
    row = measure(options.features, options.units, options.seed)
    print(
        f"d = {row['d']}, k = {row['k']}: {row['queries_per_unknown']:.3f} queries per unknown, "
        f"largest relative error {row['largest_error']:.1e}, {row['cpu_seconds']:.0f} CPU seconds, "
        f"{row['peak_megabytes']:.0f} MB at most\n{row['verdict']}"
    )
    if options.save:
        path = RESULTS / "black_box_large.json"
        rows = json.loads(path.read_text())["rows"] if path.exists() else []
        others = [old for old in rows if (old["d"], old["k"]) != (row["d"], row["k"])]
        save("black_box_large", {"rows": [*others, row]})


if __name__ == "__main__":
    main()
