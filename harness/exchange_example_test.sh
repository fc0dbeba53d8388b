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

# Again over its own outputs, with attributes as h5py writes text: of variable length.
/usr/bin/python3 - "$work/case.h5" <<'PYTHON'
import sys, h5py
with h5py.File(sys.argv[1], "r+") as f:
    for name in ("format", "token"):
        text = f.attrs[name]
        f.attrs[name] = text.decode() if isinstance(text, bytes) else str(text)
PYTHON
/usr/bin/python3 "$example" "$work/case.h5"
"$program" judge "$work/case.h5" --name example --p fp32

# refused WORDS FILE: judge takes the file for none that it can judge.
refused() {
  local code=0
  "$program" judge "$2" >"$work/said" 2>&1 || code=$?
  [[ $code == 2 ]] && grep -qF -- "$1" "$work/said" || { echo "FAILED: exit code $code:"; cat "$work/said"; exit 1; }
}
cp "$work/case.h5" "$work/huge.h5"
cp "$work/case.h5" "$work/list.h5"
/usr/bin/python3 - "$work" <<'PYTHON'
import sys, h5py, numpy as np
with h5py.File(sys.argv[1] + "/huge.h5", "r+") as f:
    del f["outputs/o"]
    f.create_dataset("outputs/o", (10**12,), np.uint16, chunks=(1024,))
with h5py.File(sys.argv[1] + "/list.h5", "r+") as f:
    f.attrs["token"] = np.array([b"v1:k=mla_decode", b"v1:k=mla_decode"])
PYTHON
refused "outputs/o: its shape is [1000000000000]" "$work/huge.h5"
refused "attribute token: it is no single text" "$work/list.h5"

# An example that reads bf16 alone says so of fp8.
if "$program" export v1:k=aiter_fp8_gqa16:splits=2:qt=fp8:kvt=fp8 --out "$work/fp8.h5"; then
  if /usr/bin/python3 "$example" "$work/fp8.h5" 2>"$work/said"; then
    echo "FAILED: fp8 is taken for bf16"
    exit 1
  fi
  grep -q "bfloat16" "$work/said"
fi

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
