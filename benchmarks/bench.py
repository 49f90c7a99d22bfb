"""The evidence in one command: every script of the list, then the page that shows ours beside the best others.

    python -m benchmarks.bench [--full] [--jobs 2] [--only NAME ...] [--folder bench] [--anew] [--publish]

The quick run (``make bench``, minutes) shows that everything runs and what it looks like; its counts are too small to
be evidence. The full one (``make bench-full``, under three hours on two cores) runs every part in numbers that tell;
the committed results of single scripts have larger ones still. Results go to FOLDER/quick or FOLDER/full, never over
the committed ones; ``--publish`` copies those of a full run, with its commit and times, to benchmarks/full_run. A step
that is done is not run again, so that a stopped run goes on; ``--anew`` forgets what is there.
Steps that are timed run alone. Seeds of tuning and of reporting are told by each script.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
KEPT = HERE / "full_run"


def module_of(script: str) -> str:
    """Return the name by which Python runs a script, in whichever folder it is."""
    (path,) = HERE.rglob(f"{script}.py")
    return ".".join(path.relative_to(HERE.parent).with_suffix("").parts)


class Step(NamedTuple):
    """A script with its arguments for a quick and for a full run; OUT stands for the folder of results."""

    name: str
    quick: str
    full: str
    timed: bool = False
    script: str = ""

    def command(self, full: bool, results: Path) -> list[str]:
        """Return what is run."""
        arguments = (self.full if full else self.quick).replace("OUT", str(results)).split()
        return [sys.executable, "-m", module_of(self.script or self.name), *arguments]


STEPS = (
    # (a) boxes, ours and peers
    Step("tuning of peers on boxes", "--tune --seeds 1 --boxes tanh,5,2 --save", "--tune --seeds 2 --save",
         script="peer_boxes"),
    Step("peer_boxes", "--seeds 2 --boxes tanh,5,2 tanh,10,3 relu,10,5 tanh,10,6,3 --save",
         "--seeds 5 --kept OUT/peer_boxes.jsonl --save"),
    Step("black_box_exact", "--nets 30 --students 1 --cells 10,3 --save", "--nets 500 --students 0 --save"),
    Step("black_box_kinked", "--nets 0.02 --largest 300 --cells exact auto --save",
         "--nets 0.1 --journal OUT/kinked.jsonl --save"),
    Step("black_box_deep", "--rows random --share 0.04 --first 4 --save",
         "--share 0.1 --first 80 --journal OUT/deep.jsonl --save"),
    # (b) imperfect boxes
    Step("black_box_noisy", "--runs 2 --cells k3d10 --paper-limit 50000 --save", "--runs 4 --save"),
    Step("black_box_pairs", "--runs 1 --gaussian 4 --noises 0.03 --sizes 4 --save",
         "--runs 2 --gaussian 20 --journal OUT/pairs.jsonl --save"),
    Step("black_box_kinked_coarse", "--nets 1 --largest 40 --activations softplus --save", "--nets 2 --save"),
    # (c) the zoo
    Step("zoo_run", "--families leaves regressors classifiers rectifiers --share 0.3 --save",
         "--share 0.3 --seconds 10 --kept OUT/zoo.jsonl --save"),
    # (d) tables
    Step("tuning of peers on tables", "--tune --seeds 1 --rows 1000 --only gradient --save", "--tune --seeds 1 --save",
         script="peer_tables"),
    Step("peer_tables", "--part same_data --seeds 1 --rows 2000 --save", "--seeds 3 --save"),
    Step("data_fit", "--seeds 3 --peer-seeds 3 --cells 5,3,1e3 --out OUT/data_fit.json",
         "--seeds 8 --peer-seeds 4 --out OUT/data_fit.json"),
    Step("real_tables", "--tables birthwt diabetes --folds 2 --save",
         "--folds 3 --save --tables Prestige airquality randhie birthwt diabetes CPS1985 Auto CollegeDistance PSID1982 "
         "Pima Default Mroz Wage Boston breast_cancer"),
    # (e) number of units, coverage, certificates
    Step("data_inference", "--units 3 --replications 5 --rows 0 --out OUT/data_inference.json",
         "--units 20 --replications 40 --out OUT/data_inference.json"),
    Step("error_bounds", "--runs 10 --save", "--runs 300 --save"),
    Step("interval_coverage", "--replications 5 --save", "--replications 100 --save"),
    Step("table_certificates", "--tables 14 --save", "--tables 300 --save"),
    # (f) speed and growth
    Step("black_box_large", "--sizes 30x30 784x64 --save", "--sizes 30x30 100x30 150x64 300x100 784x64 784x256 --save",
         timed=True),
    Step("kernel_gradients", "--rows 20000 --points 50 --save", "--save", timed=True),
    # (g) where tables hold enough rows
    Step("phase_table", "--rows 200 1000 5000 --units 1 3 6 --seeds 2 --save", "--seeds 3 --save"),
)  # fmt: skip


def run_step(step: Step, full: bool, folder: Path) -> dict[str, object]:
    """Run one step unless it is done; its output goes to a file, and so does how it ended."""
    mark = folder / f"{step.name.replace(' ', '_')}.json"
    command = step.command(full, folder / "results")
    if mark.exists():
        done = json.loads(mark.read_text(encoding="utf-8"))
        if done["code"] == 0 and done["command"] == command[1:]:
            return done | {"seconds": 0.0}
    began, commit = time.monotonic(), _commit()
    environment = os.environ | {"GRADSIFT_RESULTS": str(folder / "results"), "OMP_NUM_THREADS": "1"}
    with mark.with_suffix(".txt").open("w", encoding="utf-8") as log:
        code = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False, cwd=HERE.parent).returncode
    done = {"name": step.name, "code": code, "command": command[1:], "seconds": round(time.monotonic() - began, 1)}
    done["commit"] = commit
    mark.write_text(json.dumps(done) + "\n", encoding="utf-8")
    return done


def run(steps: list[Step], full: bool, folder: Path, jobs: int) -> list[dict[str, object]]:
    """Run all steps, several at a time but in the order of the list, timed ones alone at the end."""

    def told(step: Step) -> dict[str, object]:
        done = run_step(step, full, folder)
        how = (
            "done" if done["code"] == 0 else f"FAILED ({done['code']}), see {folder / step.name.replace(' ', '_')}.txt"
        )
        print(f"{step.name}: {how}, {done['seconds']} s", flush=True)
        return done

    chains: dict[str, list[Step]] = {}  # steps of one script write one file: one after the other
    for step in steps:
        if not step.timed:
            chains.setdefault(step.script or step.name, []).append(step)
    with ThreadPoolExecutor(jobs) as pool:
        ended = [done for chain in pool.map(lambda chain: [told(s) for s in chain], chains.values()) for done in chain]
    return ended + [told(step) for step in steps if step.timed]


def publish(folder: Path, ended: list[dict[str, object]]) -> None:
    """Copy the results of a full run to where they are kept, with the commit and the time of each step."""
    from benchmarks.record import context, write_sealed

    KEPT.mkdir(exist_ok=True)
    for path in (folder / "results").glob("*.json"):
        shutil.copy(path, KEPT)
    marks = [json.loads((folder / f"{str(done['name']).replace(' ', '_')}.json").read_text()) for done in ended]
    kept = ("name", "seconds", "commit")
    write_sealed(
        KEPT / "run.json", {"context": context(), "steps": [{key: mark.get(key, "") for key in kept} for mark in marks]}
    )


def _commit() -> str:
    """Return the commit that is checked out, or nothing."""
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="steps of these names")
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    from benchmarks.evidence import write_page  # not before the arguments are known: it imports gradsift

    folder = (options.folder / ("full" if options.full else "quick")).resolve()
    if options.anew and folder.exists():
        shutil.rmtree(folder)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    steps = [step for step in STEPS if options.only is None or step.name in options.only]
    ended = run(steps, options.full, folder, options.jobs)
    print(f"{write_page(folder / 'results', folder)}  ({(time.monotonic() - began) / 60:.1f} minutes)")
    failed = [done["name"] for done in ended if done["code"]]
    if options.publish and options.full and not failed:
        publish(folder, ended)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
