#!/usr/bin/env bash
# Make .venv-mrcpy, the environment in which the benchmark runs MRCpy with Gurobi.
#
# MRCpy 3.0 works only with releases of scikit-learn and NumPy that are too old for the rest of the benchmark,
# and it is under the GPL: it stays in an environment of its own and is called as a separate program. Without a
# Gurobi licence the environment serves problems of up to 2000 rows and columns. PyTorch, which MRCpy imports,
# is pinned and installed first: an unpinned one may bring gigabytes of CUDA libraries that nothing here uses.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-python3.11}
folder=${MRCPY_VENV:-.venv-mrcpy}
torch=${MRCPY_TORCH:-torch==2.13.0}

test -x "$folder/bin/python" || "$python" -m venv "$folder"
install=("$folder/bin/python" -m pip install --quiet --disable-pip-version-check)
"${install[@]}" "$torch" "numpy<2.3"
"${install[@]}" "MRCpy==3.0.0" "scikit-learn<1.6" "numpy<2.3" gurobipy
"$folder/bin/python" -c "import gurobipy, MRCpy" 2>/dev/null
echo "MRCpy is ready in $folder; 'make bench' will find it there." >&2
