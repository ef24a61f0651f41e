"""What would tests notice? A random sample of small changes to modules, each tried by tests that reach it.

    OPENBLAS_NUM_THREADS=1 python -m tests.sample_mutants samples

The changes are of the kinds of mutmut: an operator, a number, a word or an argument. mutmut tries all of
them; a sample with a seed is enough to compare two states of the tests. No file is changed, and nothing is
imported again: a forked process gives the function its new code. Of the tests that reach the function, those
run that are fastest, as many as take four seconds together.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import resource
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FunctionType

import pytest

SECONDS = 4.0  # of tests for one change
LIMIT = 30  # of CPU time for one change
PYTEST = ["-q", "-s", "-m", "not slow", "-p", "no:xdist", "-p", "no:cacheprovider"]
# For each room its modules below src/minimaxrisk, but for those of a GPU, and the files of tests about them.
ROOMS = {
    "samples": (
        "samples/*.py",
        """bad_input groups pairs stability uncertainty notices problem_posing containers ball_member
        assumptions copies holdout prediction_sets""",
    ),
    "checks": (
        """analysis/doubts.py analysis/batches.py analysis/columns.py analysis/names.py analysis/scales.py
        analysis/synthetic.py analysis/trivial_rules.py analysis/contrasts.py analysis/training_scale.py
        analysis/recognition.py guarantees/assumptions.py""",
        "doubts recognition training_scale assumptions bad_input groups best_guarantee odd_samples",
    ),
    "engines": (
        "engines/**/*.py matrices/[!d]*.py matrices/dense.py",
        """ball batches certificate matrices empty_columns engines expected_loss
        first_order highs implicit_features instance_generation interior_point known_marginal many_classes
        moment_space path problem_posing progress solvers vertices warm_path working_sets containers
        paper_algorithm constraint_and_column_generation""",
    ),
}
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "/", ast.Pow: "*",
    ast.MatMult: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "&", ast.LShift: ">>", ast.RShift: "<<",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and",
}  # fmt: skip


class Changes(ast.NodeVisitor):
    """All changes to the functions of a module: where, what stands there, and what takes its place."""

    def __init__(self, source):
        self.source, self.found, self.functions = source.encode(), [], []
        starts = [0]
        for line in self.source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.visit(ast.parse(source))

    def place(self, node):
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        return self.source[slice(*self.place(node))].decode()

    def add(self, node, new, *, place=None):
        if self.functions:
            start, end = place or self.place(node)
            self.found.append((node.lineno, self.functions[0], start, end, new))

    def between(self, left, right, new):
        """Replace the operator between two expressions."""
        start, end = self.place(left)[1], self.place(right)[0]
        gap = self.source[start:end].decode()
        opening, closing = gap[: len(gap) - len(gap.lstrip(" )\n"))], gap[len(gap.rstrip(" (\n")) :]
        self.add(left, f"{opening} {new} {closing}", place=(start, end))

    def visit_FunctionDef(self, node):
        self.functions.append(node.decorator_list[0].lineno if node.decorator_list else node.lineno)
        is_described = ast.get_docstring(node) is not None
        for each in node.body[is_described:]:
            self.visit(each)
        self.functions.pop()

    def visit_ClassDef(self, node):
        for each in node.body:
            self.visit(each)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.assigned(node.value)

    def visit_Assign(self, node):
        self.assigned(node.value)

    def assigned(self, value):
        self.add(value, '""' if self.text(value) == "None" else "None")
        self.visit(value)

    def visit_AugAssign(self, node):
        new = OPERATORS[type(node.op)]
        gap = (self.place(node.target)[1], self.place(node.value)[0])
        self.add(node, f" {new}= ", place=gap)
        self.add(node, " = ", place=gap)
        self.visit(node.value)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add(node, str(not node.value))
        elif isinstance(node.value, int | float):
            self.add(node, repr(node.value + 1))
        elif isinstance(node.value, str):
            self.add(node, repr(f"XX{node.value}XX"))

    def visit_JoinedStr(self, node):
        self.add(node, "'XX' + " + self.text(node) if "\n" not in self.text(node) else "'XXXX'")
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and sys.version_info >= (3, 12):
                self.visit(part.value)

    def visit_BinOp(self, node):
        self.between(node.left, node.right, OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            self.between(left, right, OPERATORS[type(operator)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not | ast.Invert):
            self.add(node, f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Call(self, node):
        for each in node.args:
            if not isinstance(each, ast.Starred) and self.text(each) != "None":
                self.add(each, "None")
        for each in node.keywords:
            if each.arg is not None and self.text(each.value) != "None":
                self.add(each, f"{each.arg}=None")
        self.generic_visit(node)

    def visit_Lambda(self, node):
        self.add(node.body, "None")
        self.visit(node.body)

    def visit_Continue(self, node):
        self.add(node, "break")

    def visit_Break(self, node):
        self.add(node, "continue")


def code_at(code, line, name=None):
    """The code of the function that starts at a line."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if (
                each.co_firstlineno == line
                and not each.co_name.startswith("<")
                and name in (None, each.co_name)
            ):
                return each
            found = code_at(each, line, name)
            if found is not None:
                return found
    return None


def changes_of(path):
    """Those that give a program: line, text, new text, the first line of the function and its new code."""
    changes = Changes(path.read_text())
    old = compile(changes.source, path, "exec", dont_inherit=True)
    for line, function, start, end, new in changes.found:
        source = changes.source[:start] + new.encode() + changes.source[end:]
        try:
            code = code_at(compile(source, path, "exec", dont_inherit=True), function)
        except SyntaxError:
            continue
        # A function keeps what it closes over, such as the class of ``super()``.
        if code.co_freevars == code_at(old, function).co_freevars:
            yield path, line, changes.source[start:end].decode(), new, function, code


class Sample:
    """A plugin of pytest that runs tests in forked processes, once as they are and then for each change."""

    def __init__(self, paths, n, seed):
        self.paths, self.n, self.seed, self.outcomes = paths, n, seed, {}

    def pytest_configure(self, config):
        """A counterexample is enough, the smallest one is not asked for."""
        from hypothesis import Phase, settings  # noqa: PLC0415  # not before pytest knows its plugins

        settings.register_profile("mutants", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome

    def run(self, items):
        """Run tests until one fails; yield those that ran."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item

    def reach(self, items, path):
        """Write which functions each test reaches, and the seconds that it takes."""
        found, reached, begun = {}, set(), time.process_time()

        def note(frame, event, of):
            if event == "call" and frame.f_code.co_filename in files:
                reached.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

        files = set(map(str, self.paths))
        sys.setprofile(note)
        for item in self.run(items):
            found[item.nodeid] = (time.process_time() - begun, sorted(reached))
            reached, begun = set(), time.process_time()
        sys.setprofile(None)
        path.write_text(json.dumps({test: of for test, of in found.items() if test not in self.outcomes}))

    def notices(self, items, path, function, code):
        """Whether one of the tests fails after the change."""
        gc.unfreeze()  # as conftest.py has frozen what was collected
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                old = each.__code__
                if (old.co_filename, old.co_firstlineno, old.co_name) == (str(path), function, code.co_name):
                    each.__code__ = code
        return any("failed" in self.outcomes.values() for _ in self.run(items))

    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        with TemporaryDirectory() as folder:
            path = Path(folder) / "reach.json"
            in_child(lambda: self.reach(session.items, path), seconds=3600)
            reach = json.loads(path.read_text())
        tests_of = defaultdict(list)
        for test, (seconds, functions) in reach.items():
            for file, line in functions:
                tests_of[file, line].append((seconds, test))
        every = [change for path in self.paths for change in changes_of(path)]
        drawn = random.Random(self.seed).sample(every, self.n)
        say(f"{len(reach)} tests; {len(every)} changes, {len(drawn)} of them drawn with seed {self.seed}")
        counts = Counter()
        for path, line, old, new, function, code in drawn:
            tests, total = [], 0.0
            for seconds, test in sorted(tests_of[str(path), function]):
                if tests and total + seconds > SECONDS:
                    break
                tests, total = [*tests, test], total + seconds
            chosen = [item for test, item in items.items() if test in tests]
            status = "no tests"
            if chosen:
                found = in_child(lambda: self.notices(chosen, path, function, code), seconds=LIMIT)  # noqa: B023
                status = {0: "survived", 1: "killed"}.get(found, "timeout")
            counts[status] += 1
            if status != "killed":
                said = " -> ".join(" ".join(text.split())[:70] for text in (old, new))
                say(f"{status} {path.parent.name}/{path.name}:{line}  {said}")
        say(", ".join(f"{status} {count}" for status, count in counts.items()))
        return True


def in_child(work, *, seconds):
    """What ``work`` returns in a forked process, as a number; 2 beyond the limit of CPU time."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            status = int(work() or 0)
        finally:
            os._exit(status)
    until = time.monotonic() + 20 * seconds  # in case that it waits for something
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.02)
    if ended == (0, 0):
        os.killpg(child, 9)
        ended = os.waitpid(child, 0)
    return 2 if os.WIFSIGNALED(ended[1]) else os.WEXITSTATUS(ended[1])


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("-n", type=int, default=100, help="how many changes to draw")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    patterns, names = (text.split() for text in ROOMS[options.room])
    paths = sorted(path for pattern in patterns for path in (root / "src/minimaxrisk").glob(pattern))
    files = [str(file) for name in names for file in (root / "tests").glob(f"*/test_{name}.py")]
    pytest.main(PYTEST + files, plugins=[Sample(paths, options.n, options.seed)])


if __name__ == "__main__":
    main()
