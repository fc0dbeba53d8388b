#!/usr/bin/env bash
# run_test.sh: what the part `sanitizer` of run.sh makes of what compute-sanitizer says, by stand-ins for it and for attest.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf 'FAILED: %s\n' "$*"; cat "$work/table"; exit 1; }

# stand_in NAME: a program of what stdin says.
stand_in() { cat >"$work/$1"; chmod +x "$work/$1"; }

stand_in attest <<'STANDIN'
#!/usr/bin/env bash
[[ $1 == list ]] || exit 0
printf '"token": "%s"\n' v1:k=a:s=4096x2 v1:k=a:h=1:s=3,5 v1:k=a
STANDIN
stand_in attest_gpu_test </dev/null

# expect CODE WORDS...: the part ends with CODE, and its table holds each of WORDS.
expect() {
  local code=$1 words got=0
  shift
  PATH="$work:$PATH" ATTEST_PROGRAM="$work/attest" bash "$here/run.sh" sanitizer "$work/out" >"$work/table" 2>&1 || got=$?
  [[ $got == "$code" ]] || fail "exit code $got where $code is expected"
  for words in "$@"; do grep -E -- "$words" "$work/table" >/dev/null || fail "no '$words'"; done
}

# Everything is well: what is planted is reported, and nothing else. The cheap cases come first.
stand_in compute-sanitizer <<'STANDIN'
#!/usr/bin/env bash
if [[ $* == *AWildWrite* ]]; then echo '========= ERROR SUMMARY: 1 error'; exit 99; fi
if [[ $* == *ARace* ]]; then echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 99; fi
[[ $* == *--in-process* ]] || exit 1
echo "${@: -1}" >>"$(dirname -- "$0")/shown"
echo '========= ERROR SUMMARY: 0 errors'
STANDIN
expect 0 'planted_memcheck +0 ' 'planted_racecheck +0 ' 'memcheck +0 .* 0 errors in 3 of 3 cases' 'initcheck +0 '

[[ $(head -n 3 "$work/shown" | tr '\n' ' ') == 'v1:k=a:h=1:s=3,5 v1:k=a v1:k=a:s=4096x2 ' ]] || fail "another order: $(cat "$work/shown")"

# What is said of a group that runs into the limit counts, though it has no summary.
stand_in compute-sanitizer <<'STANDIN'
#!/usr/bin/env bash
echo '========= Invalid __global__ read of size 4 bytes'
exit 124
STANDIN
expect 1 'planted_memcheck +0 ' 'memcheck +1 .* 1 errors in 0 of 3 cases'

# A tool that sees nothing, whatever it is shown.
stand_in compute-sanitizer <<'STANDIN'
#!/usr/bin/env bash
echo '========= ERROR SUMMARY: 0 errors'
STANDIN
expect 1 'planted_memcheck +1 .*silent' 'planted_racecheck +1 .*silent' 'memcheck +0 '

# Nor is it silence that nothing could be tried.
rm "$work/attest_gpu_test"
expect 1 'planted_memcheck +5 '
