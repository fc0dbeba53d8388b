#!/usr/bin/env bash
# The device run, in parts that each end within nine minutes on an H200 with 16 cores (harness/h200/README.md).
# shellcheck disable=SC2317  # parts are called by their names
usage() {
  cat <<'USAGE'
usage: harness/h200/run.sh [options] PART OUTDIR

Runs one part, writes the log and the results of every step into OUTDIR/PART, and prints a table of the steps last.
Parts:
  smoke       the GPU's test programs, the smoke suite, a short bench of kernels
  bench       kernels over the whole table, the reference, verification end to end
  suites      tier full of the nightly, the smoke suite with guard pages, then the two real suites by themselves
  fuzz        cases that are drawn: 50,000 (--cases) from seed 1 (--seed)
  selftest    the mutants of the kernels are fuzzed; nvcc builds what the bundle has not
  sanitizer   compute-sanitizer memcheck, racecheck and initcheck over the cases of the suites
  crosscheck  1,000 drawn tokens (--cases) on the emulator and on the device
  stress      replayed graphs, disturbed repeats, forced orders of arrival
Options:
  --device D   default: cuda:0
  --cases N    of fuzz, crosscheck, selftest (of each mutant) and sanitizer (at most so many tokens for each tool)
  --seed S     of fuzz and crosscheck; default: 1
  --minutes M  that the part may take; default: 9
  --tools T    of sanitizer, in this order; default: memcheck,initcheck,racecheck
  --quick      little of everything: a trial of this script
Exit code: 0 when every step passed; 1 when one failed; 2 usage; 4 the machine lacks something.
It runs in an unpacked bundle (bundle.sh), or in a built tree: ATTEST_PROGRAM names the program where it is another than
bin/attest or build/host/bin/attest.
USAGE
}
set -uo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf 'run: %s\n' "$*" >&2; }
die() { say "$1"; exit "${2:-4}"; }

device=cuda:0 tools=memcheck,initcheck,racecheck cases='' seed=1 minutes=9 quick='' part='' out=''
number() { [[ ${2-} =~ ^[1-9][0-9]*$ ]] || die "$1 takes a number" 2; }
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --device) device=${2-}; [[ $device ]] || die "--device takes a name" 2; shift ;;
    --cases) number "$@"; cases=$2; shift ;;
    --seed) number "$@"; seed=$2; shift ;;
    --minutes) number "$@"; minutes=$2; shift ;;
    --tools) tools=${2-}; [[ $tools ]] || die "--tools takes names" 2; shift ;;
    --quick) quick=yes ;;
    -*) usage >&2; die "no such option: $1" 2 ;;
    *) if [[ -z $part ]]; then part=$1; elif [[ -z $out ]]; then out=$1; else die "too many arguments: $1" 2; fi ;;
  esac
  shift
done
[[ $out ]] || { usage >&2; die "name a part and a folder" 2; }
mkdir -p "$out/$part" || die "cannot write to $out"
out=$(cd -- "$out/$part" && pwd)

cd -- "$root" || die "there is no $root"
attest=${ATTEST_PROGRAM-}
for program in bin/attest build/host/bin/attest; do
  [[ $attest ]] || [[ ! -x $program ]] || attest=$program
done
[[ -x $attest ]] || die "there is neither bin/attest nor build/host/bin/attest in $root: unpack a bundle, or build"
tests=$(dirname -- "$attest")
end=$((SECONDS + 60 * minutes))
names=() codes=() spent=() lines=()

left() { echo $((end - SECONDS)); }
# of QUICK FULL: what the part takes.
of() { if [[ $quick ]]; then echo "$1"; else echo "$2"; fi; }

# note NAME CODE SECONDS LINE: a row of the table.
note() { names+=("$1") codes+=("$2") spent+=("$3") lines+=("$4"); }

# step NAME COMMAND...: its output goes to NAME.log. The first Ctrl-C of `timeout` lets attest end in order.
step() {
  local name=$1 begin=$SECONDS code seconds
  shift
  seconds=$(left)
  if ((seconds < 5)); then
    note "$name" 3 0 "not begun: the part's time is spent"
    return
  fi
  say "$name: $*"
  { printf '$ %s\n' "$*"; timeout --signal=INT --kill-after=20 "$seconds" "$@"; } >"$out/$name.log" 2>&1 </dev/null
  code=$?
  note "$name" "$code" $((SECONDS - begin)) "$(summary_of "$out/$name.log")"
}

# The line that says what came of it.
summary_of() {
  grep -E 'cases: |PASSED|FAILED|killed|tokens on|GB/s \(|cuda:0' "$1" | tail -n 1 | cut -c1-110 | grep . ||
    tail -n 1 "$1" | cut -c1-110
}

gpu_tests() {
  local program
  [[ $device != emu:* ]] || return 0
  for program in "$tests"/attest_gpu*_test; do
    [[ -x $program ]] || { note gpu_tests 5 0 "none is here: of the device itself nothing is proven"; return; }
    step "$(basename -- "$program")" "$program"
  done
}

part_smoke() {
  step devices "$attest" list
  gpu_tests
  step smoke_suite "$attest" nightly --tier smoke --device "$device" --out "$out/nightly"
  step bench_kernels "$attest" bench kernels --device "$device" --heads 16,128 \
    --lengths "$(of 128 8192)" --batches "$(of 1,2 1,32)" --out "$out/bench_kernels.md"
}

part_bench() {
  if [[ $quick ]]; then
    step bench_kernels "$attest" bench kernels --device "$device" --lengths 128 --batches 1,2 --out "$out/bench_kernels.md"
  else
    step bench_kernels "$attest" bench kernels --device "$device" --out "$out/bench_kernels.md"
    step bench_kernels_64 "$attest" bench kernels --device "$device" --heads 64 --lengths 8192,65536 \
      --out "$out/bench_kernels_64.md"
    step bench_reference "$attest" bench reference --device "$device" --out "$out/bench_reference.md"
  fi
  step bench_verify "$attest" bench verify --device "$device" --cases "$(of 20 5000)" --out "$out/bench_verify.md"
  step bench_verify_1 "$attest" bench verify --device "$device" --cases "$(of 5 500)" --threads 1 \
    --out "$out/bench_verify_1.md"
}

part_suites() {
  step nightly "$attest" nightly --tier "$(of smoke full)" --device "$device" --out "$out/nightly"
  if [[ $device != emu:* ]]; then
    step guard_page_after "$attest" nightly --tier smoke --device "$device" --guard-page after --out "$out/guard_after"
    step guard_page_before "$attest" nightly --tier smoke --device "$device" --guard-page before --out "$out/guard_before"
  fi
  step ragged "$attest" run --device "$device" --suite ragged --jsonl "$out/ragged.jsonl"
  [[ $quick ]] ||
    step prefix_boundary "$attest" run --device "$device" --suite prefix_boundary --jsonl "$out/prefix_boundary.jsonl"
}

part_fuzz() {
  step fuzz "$attest" fuzz --device "$device" --cases "${cases:-$(of 20 50000)}" --seed "$seed" \
    --corpus "$out/corpus" --out "$out/fuzz"
}

part_selftest() {
  local some=(--cases "${cases:-20}" --shrink-seconds 10) all=(--benign-cases 200 --seconds 120) survivors=()
  [[ -z $quick ]] || all=(--mutant drop_last_token --mutant lse_in_base_2)
  step selftest "$attest" selftest --device "$device" --out "$out/selftest.md" "${some[@]}" "${all[@]}"
  # A read just past a buffer shows where the page behind it is unmapped.
  mapfile -t survivors < <(sed -nE 's/^SURVIVES +([a-z_0-9]+) .*/--mutant=\1/p' "$out/selftest.log")
  if [[ $device != emu:* ]] && ((${#survivors[@]})); then
    step survivors_guard_page "$attest" selftest --device "$device" --guard-page after \
      --seconds 30 --out "$out/survivors_guard_page.md" "${some[@]}" "${survivors[@]}"
  fi
}

part_crosscheck() {
  step crosscheck "$attest" crosscheck emu:gfx942 "$device" --cases "${cases:-$(of 20 1000)}" --seed "$seed" \
    --out "$out/crosscheck"
}

part_stress() {
  local how
  for how in replay repeat order; do
    step "stress_$how" "$attest" stress "$how" --device "$device"
  done
}

# Tokens of the suites, the cheap ones first (KV tokens times heads): so the time covers the most of them.
suite_tokens() {
  "$attest" list --plan 1 --tier full --json | sed -nE 's/^ *"token": "(.*)",?$/\1/p' | sort -u | awk '
    {
      heads = 16; lengths = "64"; tokens = 0  # what a token leaves out
      if (match($0, /:h=[0-9]+/)) heads = substr($0, RSTART + 3, RLENGTH - 3)
      if (match($0, /:s=[0-9x,]+/)) lengths = substr($0, RSTART + 3, RLENGTH - 3)
      n = split(lengths, each, ",")
      for (i = 1; i <= n; ++i) tokens += split(each[i], times, "x") > 1 ? times[1] * times[2] : each[i]
      print tokens * heads, $0
    }' | sort -n | cut -d ' ' -f 2-
}

# watch TOOL SECONDS LOG COMMAND...: under the tool; exit code 99: it reports an error.
watch() {
  local tool=$1 seconds=$2 log=$3
  shift 3
  timeout --signal=INT --kill-after=20 "$seconds" \
    compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 --print-limit 20 \
    "$@" >"$log" 2>&1 </dev/null
}

# What it counted; of a run that ended before its summary, what it named.
errors_in() {
  local counted named
  counted=$(sed -nE 's/.*(ERROR|RACECHECK) SUMMARY: ([0-9]+) (error|hazard).*/\2/p' "$1" | awk '{ n += $1 } END { print n + 0 }')
  named=$(grep -v SUMMARY "$1" | grep -cE '^=+ .*(Invalid|Uninitialized|[Hh]azard|Race reported)')
  echo $((counted > named ? counted : named))
}

# prove TOOL WHAT TEST: a tool that is silent about what is planted would be silent about the kernels too.
prove() {
  local tool=$1 what=$2 name=planted_$1 begin=$SECONDS program=$tests/attest_gpu_test ended errors
  [[ -x $program ]] || { note "$name" 5 0 "attest_gpu_test is not here: that $tool sees $what is not proven"; return; }
  watch "$tool" 60 "$out/$name.log" "$program" --gtest_also_run_disabled_tests --gtest_filter="*DISABLED_$3/${device%:*}"
  ended=$? errors=$(errors_in "$out/$name.log")
  if ((errors > 0 || ended == 99)); then
    note "$name" 0 $((SECONDS - begin)) "$tool reports $what ($errors errors)"
  else
    note "$name" 1 $((SECONDS - begin)) "$tool is silent about $what: its row below proves nothing"
  fi
}

# sanitize TOOL SECONDS: in groups, the dear cases alone, so that what is done when the time is spent counts.
sanitize() {
  local tool=$1 until=$((SECONDS + $2)) begin=$SECONDS group done=0 errors=0 code=0 ended=0 log=$out/$1.log
  : >"$log"
  while ((done < ${#tokens[@]} && SECONDS < until)); do
    group=$((${#tokens[@]} - done > 20 ? 8 : 1))
    # In this process, which the tool watches to its end: attest ends its workers before the tool has said anything.
    # The kernels under test are what is looked at, not the reference's.
    watch "$tool" $((until - SECONDS + 30)) "$out/group.log" \
      "$attest" run --device "$device" --in-process --reference cpu "${tokens[@]:done:group}"
    ended=$?
    cat "$out/group.log" >>"$log"
    errors=$((errors + $(errors_in "$out/group.log")))
    [[ $ended != 124 && $ended != 137 ]] || break  # the time is spent: not covered
    grep -E '(ERROR|RACECHECK) SUMMARY' "$out/group.log" >/dev/null || { code=4; break; }
    ((ended == 0)) || code=1
    done=$((done + group < ${#tokens[@]} ? done + group : ${#tokens[@]}))
  done
  rm -f "$out/group.log"
  ((errors == 0)) || code=1
  ((done > 0 || code > 0)) || code=3
  note "$tool" "$code" $((SECONDS - begin)) "$errors errors in $done of ${#tokens[@]} cases"
}

part_sanitizer() {
  command -v compute-sanitizer >/dev/null || PATH=$PATH:/usr/local/cuda/bin
  command -v compute-sanitizer >/dev/null || die "there is no compute-sanitizer here (NVIDIA's CUDA toolkit)"
  local wanted
  IFS=, read -ra wanted <<<"$tools"
  mapfile -t tokens < <(suite_tokens | head -n "${cases:-$(of 8 100000)}")
  ((${#tokens[@]})) || die "attest lists no tokens"
  prove memcheck 'a planted write' AWildWriteInThisProcess
  prove racecheck 'a planted race' ARaceInSharedMemory
  # What a tool leaves of its share of the time is for those after it.
  while ((${#wanted[@]})); do
    sanitize "${wanted[0]}" $(($(left) / ${#wanted[@]} - 10))
    wanted=("${wanted[@]:1}")
  done
}

declare -F "part_$part" >/dev/null || { rmdir "$out" 2>/dev/null; usage >&2; die "no such part: $part" 2; }
"part_$part"

worst=0
{
  printf '%-22s %6s %6s  %s\n' step code s 'what came of it'
  for ((i = 0; i < ${#names[@]}; ++i)); do
    printf '%-22s %6s %6s  %s\n' "${names[i]}" "${codes[i]}" "${spent[i]}" "${lines[i]}"
    ((codes[i] == 0)) || worst=1
  done
} >"$out/table.txt"
((${#names[@]})) || worst=1
for code in "${codes[@]}"; do ((code == 0)) || worst=1; done
cat "$out/table.txt"
exit "$worst"
