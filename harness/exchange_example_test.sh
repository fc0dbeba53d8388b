#!/usr/bin/env bash
# exchange_example_test.sh PROGRAM EXAMPLE: a case is exported, computed by the example in Python, and judged. Exit code
# 77, which ctest shows as skipped, where Python has no h5py.
set -euo pipefail
program=$1 example=$2
/usr/bin/python3 -c 'import h5py' 2>/dev/null || { echo "skipped: python3 has no h5py (Debian package python3-h5py)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" export v1:k=mla_decode:h=4:s=100,0,7:q=2:page=16 --out "$work/case.h5"
/usr/bin/python3 "$example" "$work/case.h5"
"$program" judge "$work/case.h5" --name example --p fp32
# The same outputs with a single bit of one lse moved.
/usr/bin/python3 - "$work/case.h5" <<'PYTHON'
import sys, h5py
with h5py.File(sys.argv[1], "r+") as f:
    f["outputs/lse"][1, 2] *= 1.001
PYTHON
if "$program" judge "$work/case.h5" --name example --p fp32; then
  echo "FAILED: a wrong lse passes"
  exit 1
fi
