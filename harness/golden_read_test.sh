#!/usr/bin/env bash
# golden_read_test.sh PROGRAM FOLDER: the shipped golden files, and a capture, as h5py and h5dump read them. Each half
# is skipped where its package is missing; exit code 77, which ctest shows as skipped, where both are.
set -euo pipefail
program=$1 folder=$2 did=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'FAILED: %s\n' "$*"; exit 1; }

"$program" export v1:k=aiter_bf16_fp8_gqa16_ps:h=2:s=20,3:splits=1:kvt=fp8:kvscale=0.5 --out "$work/case.h5" >/dev/null
"$program" golden generate --capture "$work/case.h5" --out "$work/capture.h5" >/dev/null

if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  did=yes
  /usr/bin/python3 - "$folder" "$work/capture.h5" <<'PYTHON'
import glob, sys, h5py, numpy as np

def check(c, what):
    if not c: sys.exit("FAILED: " + what)

def all_attributes_are_single(name, item):
    for key, value in item.attrs.items():
        check(isinstance(value, (bytes, np.bytes_, str, np.int64, np.float64)), f"{name} @{key} is {type(value)}")

files = sorted(glob.glob(sys.argv[1] + "/*.h5"))
check(len(files) >= 3, "shipped files")
cases = 0
for path in files + [sys.argv[2]]:
    with h5py.File(path, "r") as f:
        f.visititems(all_attributes_are_single)
        check(list(f) == sorted(f), "groups in order")
        for case in f.values():
            cases += 1
            rows = case.attrs["rows"]
            check(case.attrs["token"].startswith(b"v1:k="), "a token")
            if "row_xxh3_128" in case:
                hashes = case["row_xxh3_128"]
                check(hashes.shape == (rows, 16) and hashes.dtype == np.uint8, "hashes")
                continue
            for name in ("o_hi", "o_lo", "sum_a_abs_v", "sum_a_dev", "sum_aa_vv", "sum_a_spread_dev"):
                check(case[name].shape == (rows, 512) and case[name].dtype == np.float64, name)
                filters = case[name].fletcher32 and case[name].shuffle and case[name].compression == "gzip"
                check(filters, name + " filters")
            o, lse = case["o_hi"][...], case["lse_hi"][...]
            check((np.abs(case["o_lo"][...]) <= np.spacing(np.abs(o)) / 2).all(), "low parts are below half an ulp")
            check((np.abs(o) <= case["sum_a_abs_v"][...] * (1 + 1e-6)).all(), "|o| <= sum a|v|")
            check(not np.isnan(lse).any() and not (lse == np.inf).any(), "lse")
            columns = case["of_row"].attrs["columns"].decode().split()
            check(case["of_row"].shape == (rows, len(columns)), "columns")
check(cases > 100, "cases")

# What the README says of a capture, and the formula once more, of the numbers that are stored.
with h5py.File(sys.argv[2], "r") as f:
    case = next(iter(f.values()))
    x = {name: data[...] for name, data in case["inputs"].items()}
    check(x["q"].dtype == np.uint16 and case["inputs/q"].attrs["dtype"] == b"bfloat16", "q in bf16")
    check(x["kv"].dtype == np.uint8 and case["inputs/kv"].attrs["dtype"] == b"float8_e4m3fnuz", "kv in fp8")
    q = (x["q"].astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    code = np.arange(256)
    e, m = code >> 3 & 15, code & 7
    value = np.where(e == 0, m * 2.0**-10, (8 + m) * 2.0**(e - 11.0)) * np.where(code < 128, 1, -1)
    kv = value[x["kv"]] * x["kv_scale"][0]
    k = kv[x["kv_indices"][x["kv_indptr"][0]:x["kv_indptr"][1]]].reshape(-1, 576)
    s = q[0] @ k.T / 24
    lse = np.log(np.exp(s - s.max(1, keepdims=True)).sum(1)) + s.max(1)
    check(np.allclose(lse, case["lse_hi"][:2], rtol=1e-6, atol=0), "lse of the capture")  # 1/24 is kept in fp32
    check(np.allclose(np.exp(s - lse[:, None]) @ k[:, :512], case["o_hi"][:2], rtol=0, atol=1e-5), "o of the capture")
PYTHON
fi

if [[ $did ]]; then  # what the README shows
  sed -n '/^```python$/,/^```$/p' "$folder/README.md" | sed '/^```/d' >"$work/example.py"
  (cd "$folder/.." && /usr/bin/python3 "$work/example.py") >"$work/said" || fail "the example of README.md"
  grep -q '^v1:k=mla_decode:' "$work/said" || fail "the example of README.md prints no token"
fi

if type -P h5dump >/dev/null; then
  did=yes
  for file in "$folder"/*.h5 "$work/capture.h5"; do
    h5dump -A "$file" >"$work/dump" 2>"$work/said" || fail "h5dump -A $file: $(cat "$work/said")"
    [[ ! -s $work/said ]] || fail "h5dump complains of $file: $(cat "$work/said")"
    grep -q 'H5T_IEEE_F64LE\|H5T_STD_U8LE' "$work/dump" || fail "no dataset in $file"
  done
  h5dump -H "$work/capture.h5" >"$work/dump"
  grep -q H5T_STD_U16LE "$work/dump" || fail "bf16 is no uint16"
  if type -P h5diff >/dev/null; then h5diff "$folder/values.h5" "$folder/values.h5" || fail "h5diff"; fi
fi
[[ $did ]] || { echo "skipped: neither h5py (Debian package python3-h5py) nor h5dump (hdf5-tools) is here"; exit 77; }
