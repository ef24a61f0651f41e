"""
Data that stay in their file
============================

A fit asks the data questions with small answers. So they can stay where they are: in a file that is read
block by block. We measure memory and time of fits on tables of growing width, with a copy in memory and
without.
"""

# %%
# Tables in files
# ---------------
# 100 patients, up to 300,000 variants, float32 in NumPy files. ``np.load(..., mmap_mode="r")`` opens a file
# without reading it. Real tables that need this are far larger; the picture is the same.

import tempfile
import tracemalloc
from pathlib import Path
from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from minimaxrisk import MinimaxRiskClassifier

widths = [50_000, 100_000, 200_000, 300_000]
y = np.arange(100) % 2


def write_table(path, n_columns):
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(len(y), n_columns))
    for start in range(0, n_columns, 50_000):
        X[:, start : start + 50_000] = random.standard_normal((len(y), 50_000), dtype=np.float32)
    X[:, :20] += 1.5 * y[:, None]  # the columns that differ between the classes
    X.flush()


# %%
# Fit with and without a copy
# ---------------------------
# ``copy=True`` makes a float64 copy in memory, ``copy=False`` none. The default, ``"auto"``, copies what is
# small and leaves the rest in its file. Both give the same model, and both read the whole table some twenty
# times; without a copy that is from the file, or from what the system keeps of it.

megabytes, seconds = {True: [], False: []}, {True: [], False: []}
with tempfile.TemporaryDirectory() as folder:
    for n_columns in widths:
        write_table(Path(folder) / f"{n_columns}.npy", n_columns)
        X = np.load(Path(folder) / f"{n_columns}.npy", mmap_mode="r")
        for copy in (True, False):
            tracemalloc.start()
            begun = process_time()
            model = MinimaxRiskClassifier(radius=6.0, copy=copy).fit(X, y)
            seconds[copy].append(process_time() - begun)
            megabytes[copy].append(tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
            print(f"{n_columns:7,} columns, copy={copy!s:5}: {megabytes[copy][-1]:4.0f} MB, ", end="")
            print(f"{model.n_passes_} passes, R* = {model.worst_case_error_:.6f}")
        del X  # before its file is removed

# %%
# Look
# ----
# With a copy, memory grows with the table. Without one it grows far more slowly: what is left are a few
# numbers per column and the blocks that are read. Times are of this one run; they stay close as long as the
# system keeps the file in its cache.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 4), layout="constrained")
thousands = np.array(widths) / 1000
left.plot(thousands, 4e-6 * 100 * np.array(widths), color="0.5", linestyle=":", label="size of the file")
for copy, colour, marker, label in (
    (True, "#E69F00", "s", "with a copy"),
    (False, "#0072B2", "o", "without a copy"),
):
    left.plot(thousands, megabytes[copy], color=colour, marker=marker, label=label)
    right.plot(thousands, seconds[copy], color=colour, marker=marker, label=label)
left.set_ylabel("memory of the fit, in megabytes")
right.set_ylabel("processor time of the fit, in seconds")
for ax in (left, right):
    ax.set_xlabel("thousands of columns")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
