"""Command line: ``run`` measures and reports, ``report`` renders it again, ``files`` measures the readers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.rivals import ROOT
from experiments.rivals.adapters import RIVALS
from experiments.rivals.environment import describe_environment
from experiments.rivals.files import fill_page, measure_files, render_files
from experiments.rivals.measure import Effort
from experiments.rivals.records import read_records
from experiments.rivals.report import fill_docs, write_report
from experiments.rivals.runner import measure_all
from experiments.rivals.workloads import workloads
from minimaxrisk.datasets import list_datasets

CSV, ENVIRONMENT, FILES = "results.csv", "environment.json", "files.json"
QUICK = Effort(repeats=2, time_limit=20.0, repeat_seconds=2.0, accuracy_seconds=2.0)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "run":
        try:
            return _run(options)
        except KeyboardInterrupt:
            _say("interrupted; --resume goes on from here.")
            return 130
    if options.command == "files":
        return _files(options)
    if not read_records(options.out / CSV):
        _say(f"there are no results in {options.out}; 'python -m benchmarks run' makes them.")
        return 2
    return _report(options.out, docs=options.docs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, write the CSV and report")
    run.add_argument(
        "--rivals", nargs="+", choices=RIVALS, metavar="NAME", help="by default all that are there"
    )
    run.add_argument(
        "--workloads", nargs="+", metavar="PATTERN", help="names, or patterns such as 'expression-d*'"
    )
    run.add_argument("--quick", action="store_true", help="small sizes and few repeats: shows that it works")
    run.add_argument("--repeats", type=int, help="fits per rival and workload; long ones are repeated less")
    run.add_argument("--time-limit", type=float, help="seconds after which a fit is killed")
    run.add_argument("--resume", action="store_true", help="keep what the CSV has and measure the rest")
    report = commands.add_parser("report", help="tables and plots from a CSV")
    report.add_argument("--docs", action="store_true", help="also fill docs/benchmarks.md")
    files = commands.add_parser("files", help="measure the reading of a wide table and the whole command")
    files.add_argument("--docs", action="store_true", help="also fill docs/benchmarks.md")
    files.add_argument("--quick", action="store_true", help="a small table, once")
    for command in (run, report, files):
        command.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results", metavar="DIR")
    return parser


def _run(options: argparse.Namespace) -> int:
    effort = QUICK if options.quick else Effort()
    effort = replace(
        effort,
        repeats=options.repeats or effort.repeats,
        time_limit=options.time_limit or effort.time_limit,
    )
    loads = workloads(quick=options.quick, patterns=options.workloads)
    if not loads:
        _say(f"no workload matches {' '.join(options.workloads)}.")
        return 2
    if not list_datasets():
        _say("no data sets found; MINIMAXRISK_DATA can name a folder of them. Simulated data only.")
    options.out.mkdir(parents=True, exist_ok=True)
    if not _prepare(options.out, resume=options.resume):
        return 2
    measure_all(loads, _present(options.rivals), effort, options.out / CSV, _say)
    return _report(options.out, docs=False)


def _files(options: argparse.Namespace) -> int:
    n_features, repeats = (2000, 1) if options.quick else (50_000, 5)
    measured = measure_files(n_samples=100, n_features=n_features, repeats=repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / FILES
    path.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    print(render_files(measured))
    if options.docs:
        fill_page(measured, ROOT / "docs" / "benchmarks.md")
    _say(f"wrote {path}")
    return 0


def _present(names: Sequence[str] | None) -> list[str]:
    """The rivals asked for that can run here; the others are named with the reason."""
    present = []
    for name in names or RIVALS:
        reason = RIVALS[name].missing()
        if reason:
            _say(f"{name} is left out: {reason}.")
        else:
            present.append(name)
    return present


def _prepare(out: Path, *, resume: bool) -> bool:
    """Move older results aside, or check that those to be resumed were measured under the same conditions."""
    now = describe_environment()
    path = out / ENVIRONMENT
    if resume and (out / CSV).exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        changed = [name for name in now if name != "revision" and before.get(name) != now[name]]
        if changed:
            _say(f"cannot resume: changed since the results in {out} began: {', '.join(changed)}.")
        elif before["revision"] != now["revision"]:
            _say(
                f"note: the results so far are of revision {before['revision']}, now it is {now['revision']}."
            )
        return not changed
    if (out / CSV).exists():
        (out / CSV).replace(out / f"previous-{CSV}")
    path.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    return True


def _report(out: Path, *, docs: bool) -> int:
    records = read_records(out / CSV)
    environment = json.loads((out / ENVIRONMENT).read_text(encoding="utf-8"))
    written = write_report(records, environment, out)
    if docs:
        written += fill_docs(records, environment, ROOT / "docs" / "benchmarks.md")
    _say("wrote " + ", ".join(str(path) for path in written))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
