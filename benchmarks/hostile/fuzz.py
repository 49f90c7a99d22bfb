"""Trying to break gradsift: command lines, files, journals, servers and kills, at random from a stated seed.

    python -m benchmarks.hostile.fuzz --save  # the committed figures: seed 1, and a tenth with a seed that is drawn
    python -m benchmarks.hostile.fuzz --seeds random --minutes 5

Every run is a process of its own. It must end with a documented exit code, without a traceback, within its time and
within 500 MB above an idle process, and must leave no half-written file, no changed input, no secret in any output,
log, exception or file, and no certificate for what is not true. Everything else is a defect, and defects are listed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.hostile.fuzzing.commands import commands
from benchmarks.hostile.fuzzing.journals import flips, journals, stale
from benchmarks.hostile.fuzzing.kills import kills
from benchmarks.hostile.fuzzing.models import models
from benchmarks.hostile.fuzzing.runner import Findings, preload
from benchmarks.hostile.fuzzing.servers import BAD, GOOD, servers
from benchmarks.record import save

CAMPAIGNS: list[tuple[Callable[[int, int], Findings], int]] = [
    (servers, len(GOOD) + len(BAD)),
    (flips, 120),
    (stale, 60),
    (kills, 150),
    (journals, 300),
    (models, 3_000),
    (commands, 3_000),
]
_DRAWN = 0.1  # share of a campaign that a drawn seed gets: it is there to surprise
_PIECE = 100  # runs between two looks at the clock


def campaign(run: Callable[[int, int], Findings], n: int, seed: int, end: float) -> Findings:
    """Run a campaign in pieces until it is complete or the time is over."""
    total = Findings(run.__name__)
    done = 0
    while done < n and time.monotonic() < end:
        piece = n - done if run is servers else min(_PIECE, n - done)
        found = run(piece, seed * 1_000_003 + done)
        done += piece
        total.name, total.n = found.name, total.n + found.n
        total.outcomes.update(found.outcomes)
        total.defects += found.defects
        total.most_megabytes = max(total.most_megabytes, found.most_megabytes)
        total.most_seconds = max(total.most_seconds, found.most_seconds)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", default=["1", "random"], help='whole numbers, or "random"')
    parser.add_argument("--share", type=float, default=1.0, help="of every campaign's size")
    parser.add_argument("--minutes", type=float, default=120.0, help="at most, over all seeds")
    parser.add_argument("--only", nargs="+", help="names of campaigns")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/fuzz.json")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    preload()
    rows: list[dict[str, Any]] = []
    n_defects = n_runs = 0
    for word in options.seeds:
        seed = random.SystemRandom().randrange(10**6) if word == "random" else int(word)
        name = f"{seed} (drawn)" if word == "random" else word
        for run, size in CAMPAIGNS:
            if options.only and run.__name__ not in options.only:
                continue
            n = max(1, round(options.share * size * (_DRAWN if word == "random" else 1)))
            found = campaign(run, n, seed, end)
            rows.append({"seed": name, **found.record()})
            n_defects, n_runs = n_defects + len(found.defects), n_runs + found.n
            print(
                f"seed {name}, {found.name}: {found.n} runs, {len(found.defects)} defects, {dict(found.outcomes)}",
                end="",
            )
            print(f", at most {found.most_megabytes:.0f} MB and {found.most_seconds:.1f} s", flush=True)
            for defect in found.defects[:5]:
                print("   ", defect["kind"], defect["what"], defect["text"][-300:], file=sys.stderr)
    print(f"{n_runs} runs, {n_defects} defects")
    if options.save:
        print(save("fuzz", {"n_runs": n_runs, "n_defects": n_defects, "campaigns": rows}))
    return 1 if n_defects else 0


if __name__ == "__main__":
    sys.exit(main())
