#!/usr/bin/env bash
# nightly_faults_test.sh ATTEST_FAULTY CODE_OBJECT_DIR NAME: a nightly under faults (harness/faulty_main.cpp), end to end:
# no finished case is lost, none runs twice, and the exit code is right. Each function test_NAME is one test; run without
# NAME to list them. They wait for lines in files, not for time. Exit code 77: it cannot be tried here.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
if (($# < 3)); then
  sed -n 's/^test_\([A-Za-z0-9]*\)() {.*/\1/p' "${BASH_SOURCE[0]}" "$here/nightly_faults_stops.sh"
  exit 2
fi
program=$1 code_objects=$2 name=$3
kCases=88  # of the tier smoke
kEarly=h=12:s=1000:page=64:splits=7:dist=needles  # of one of its first cases
work=$(mktemp -d)
mounted=
parent=  # the nightly that was started
finish() {
  [[ -z $parent ]] || kill -KILL "$parent" 2>/dev/null || true
  [[ -z $mounted ]] || umount "$mounted"
  rm -rf "$work"
}
trap finish EXIT
cd -- "$work"
export ATTEST_LOG=$work/log  # a line for each case that a worker begins
unset ATTEST_FAULT

fail() {
  tail -n 40 stdout stderr 2>/dev/null || true
  printf 'FAILED: %s\n' "$*"
  exit 1
}

nightly() { "$program" nightly --ledger none --code-objects "$code_objects" "$@"; }

# expect CODE WORDS COMMAND...: the command exits with CODE, and stdout or stderr holds WORDS.
expect() {
  local code=$1 words=$2 got=0
  shift 2
  "$@" >stdout 2>stderr </dev/null || got=$?
  [[ $got == "$code" ]] || fail "exit code $got where $code is expected: $*"
  grep -qF -- "$words" stdout stderr || fail "no '$words' in what is said by: $*"
}

start() {  # a nightly in the background, a job of its own so that it does not ignore Ctrl-C
  set -m
  "$program" nightly --ledger none --code-objects "$code_objects" "$@" >stdout 2>stderr </dev/null &
  parent=$!
  set +m
}
expect_end() {  # CODE: of the nightly that was started
  local code=0
  wait "$parent" || code=$?
  ended_parent=$parent parent=
  [[ $code == "$1" ]] || fail "exit code $code where $1 is expected"
}

# until COMMAND...: it succeeds at last.
until_true() {
  local i
  for ((i = 0; i < 2400; ++i)); do
    if "$@"; then return; fi
    sleep 0.05
  done
  fail "this never came true: $*"
}
says() { grep -qsF -- "$2" "$1"; }
workers_of() {  # PROCESS: their numbers; they have its number as an argument, as grep's own has not
  grep -slzx -- "[${1:0:1}]${1:1}" /proc/[0-9]*/cmdline | cut -d/ -f3
}
has_no_worker() { [[ -z $(workers_of "$ended_parent") ]]; }

# The cases that ended; of a last line that is cut short, none.
ended() {
  head -n "$(wc -l <"$1")" "$1" | sed -n 's/^{"record":"case_end","token":"\([^"]*\)".*/\1/p' | sort
}
runs_twice() { sort log | uniq -d; }

# Every planned case ended once, and the report of the journal has the exit code of the nightly.
expect_complete() {  # FOLDER CODE
  [[ $(ended "$1/results.jsonl" | uniq | wc -l) == "$kCases" ]] || fail "a planned case did not end"
  [[ -z $(ended "$1/results.jsonl" | uniq -d) ]] || fail "a case ended twice"
  expect "$2" "of $kCases cases" "$program" report "$1/results.jsonl"
}
# What had ended in the file BEFORE did not run again.
expect_no_rerun() {
  local again
  again=$(comm -12 <(ended "$1") <(runs_twice))
  [[ -z $again ]] || fail "it had ended and ran again: $again"
}

test_ACrashAnAbortAndAnExitCostACaseEach() {
  export ATTEST_FAULT="segv@s=777;abort@s=8200;exit7@scale=30"
  expect 1 "passed 85, crashed 3" nightly --out out
  expect_complete out 1
  local bucket
  for bucket in sigsegv sigabrt exit7; do
    grep -q "\"bucket\":\"process.crash.$bucket.mla_decode\"" out/results.jsonl || fail "no bucket of $bucket"
  done
  grep -q '"reason":"mla_decode: its process ended by SIGSEGV (Segmentation fault), and so again .*about to fail' \
    out/results.jsonl || fail "the reason does not say what happened"
}
test_ACrashThatDoesNotComeAgainIsNeverGreen() {
  export ATTEST_FAULT="segv@s=777@$work/once"
  expect 4 "passed 87, infra 1" nightly --out out
  expect_complete out 4
}
# What the slowest case takes here, in this build.
slowest_ms() {
  expect 0 "passed $kCases" nightly --out healthy
  sed -n 's/.*"total_ms":\([0-9]*\).*/\1/p' healthy/results.jsonl | sort -n | tail -n 1
}
test_AnEndlessLoopCostsACase() {
  local limit_s=$(($(slowest_ms) / 100 + 20))  # ten times as long, and more
  export ATTEST_FAULT="loop@s=777"
  expect 1 "passed 87, hung 1" nightly --out out --timeout "${limit_s}s"
  expect_complete out 1
}
test_AMemoryBombCostsACase() {
  export ATTEST_FAULT="wait@$kEarly@$work/go"
  start --out idle --jobs 1  # a worker before its first larger case
  until_true says log "$kEarly"
  local idle_mib=$(($(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$(workers_of "$parent")/status") / 1024))
  kill -KILL "$parent"
  expect_end 137
  export ATTEST_FAULT="bomb@s=777"
  expect 4 "passed 87, infra 1" nightly --out out --memory "$((2 * idle_mib + 600))M"
  grep -q 'needs more than [0-9.]* GiB, twice' out/results.jsonl || fail "the reason does not say how much"
  expect_complete out 4
}
test_AConsoleThatFailsEndsNoNightly() {
  [[ -c /dev/full ]] || exit 77
  nightly --out full_stderr 2>/dev/full >stdout || fail "exit code $? where stderr is a full disk"
  says stdout "passed $kCases" || fail "the summary is not there"
  expect_complete full_stderr 0
  local code=0
  nightly --out closed <&- >&- 2>&- || code=$?
  [[ $code == 4 ]] || fail "exit code $code where stdout is closed"
  ! grep -v '^{' closed/results.jsonl || fail "the journal has what is meant for people"
  expect_complete closed 0
  local -a codes
  set +e
  nightly --out pipe 2>&1 | head -n 1 >/dev/null
  codes=("${PIPESTATUS[@]}")
  set -e
  [[ ${codes[0]} == 4 ]] || fail "exit code ${codes[0]} where nobody reads"
  expect_complete pipe 0
}
test_PartsOfOneCommandLineHaveAFolderEach() {
  local rank
  export OMPI_COMM_WORLD_SIZE=2
  for rank in 0 1; do
    expect 0 "from OMPI_COMM_WORLD_RANK, in out/shard-$((rank + 1))-of-2" env OMPI_COMM_WORLD_RANK=$rank \
      "$program" nightly --ledger none --code-objects "$code_objects" --out out
  done
  export OMPI_COMM_WORLD_RANK=1
  expect 0 "its run is finished" nightly --resume out
  unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK
  expect 0 "its run is finished" nightly --resume out/shard-2-of-2 --shard 2/2
  expect 0 "$kCases of $kCases cases" "$program" report out/shard-*/results.jsonl
}
test_APartWithoutCasesIsNoFailure() {
  expect 0 "shard 150/200: an empty part of a plan of $kCases cases" nightly --out out --shard 150/200
  [[ $(head -c 21 out/results.jsonl) == '{"record":"run_begin"' ]] || fail "it is not on record"
}
test_ReportsAreWrittenWhereTheHistoryIsNot() {
  export ATTEST_FAULT="wait@$kEarly@$work/go"
  start --out out --history history
  until_true says log "$kEarly"
  rm -f history
  mkdir history
  touch go
  expect_end 4
  says stderr "reports: out/ report.html" || fail "it does not say where the reports are"
  [[ -s out/junit.xml && -s out/report.html ]] || fail "there are no reports"
  expect_complete out 0
}
test_WhereTheControlCaseFailsTooTheNightlyStops() {
  export ATTEST_FAULT="segv@v1"
  expect 4 "it is the machine or the device" nightly --out out
  (($(ended out/results.jsonl | wc -l) < 20)) || fail "it burnt the list"
  expect 4 "infra" "$program" report out/results.jsonl
  unset ATTEST_FAULT
  expect 4 "passed" nightly --resume out  # what ended as infra stays
}
test_WithoutCodeObjectsTheNightlyStops() {
  expect 4 "20 cases in a row" "$program" nightly --out out --code-objects nowhere
  (($(ended out/results.jsonl | wc -l) < 40)) || fail "it burnt the list"
}

# Where the journal cannot grow: exit code 4, what is finished stays, and it goes on later.
expect_full() {  # WORDS
  grep -qF "out/results.jsonl: $1; " stderr || fail "the message does not say where and why"
  grep -qE '[0-9]+ finished cases are kept; free space, then: ./attest nightly .*--resume out' stderr ||
    fail "the message does not say how to go on"
  local said
  said=$(sed -n 's/.*; \([0-9]*\) finished cases are kept.*/\1/p' stderr)
  [[ $(ended out/results.jsonl | wc -l) == "$said" ]] || fail "not as many cases are kept as it says"
  ((said > 0)) || fail "nothing was finished"
  cp out/results.jsonl before
}
test_AFullDiskKeepsWhatIsFinished() {
  mkdir out
  mount -t tmpfs -o size=128k none out 2>/dev/null || exit 77
  mounted=$work/out
  expect 4 "No space left on device" nightly --out out
  expect_full "No space left on device"
  mount -o remount,size=64m out
  expect 0 "passed $kCases" nightly --resume out
  expect_complete out 0
  expect_no_rerun before
  umount out
  mounted=
}
test_AFileThatMayNotGrowKeepsWhatIsFinished() {
  expect 4 "File too large" bash -c 'trap "" XFSZ; ulimit -f 100; "$@"' - \
    "$program" nightly --ledger none --code-objects "$code_objects" --out out
  expect_full "File too large"
  expect 0 "passed $kCases" nightly --resume out
  expect_complete out 0
  expect_no_rerun before
}

test_AJournalThatIsCutShortGoesOn() {
  expect 0 "passed $kCases" nightly --out whole
  local size plan_end cut
  size=$(stat -c %s whole/results.jsonl)
  plan_end=$(head -n 2 whole/results.jsonl | wc -c)
  for cut in $((size - 1)) $((size - 100)) $((size * 9 / 10)) $((size / 2)) $((plan_end - 1)) $((plan_end - 50)); do
    rm -rf out log
    mkdir out
    head -c "$cut" whole/results.jsonl >out/results.jsonl
    cp out/results.jsonl before
    expect 0 "passed $kCases" nightly --resume out
    expect_complete out 0
    [[ -z $(runs_twice) ]] || fail "a case ran twice"
    [[ ! -e log || -z $(comm -12 <(ended before) <(sort log)) ]] || fail "cut at $cut: what had ended ran again"
  done
  head -c 100 whole/results.jsonl >out/results.jsonl  # before there was a run
  expect 2 "nightly --out out" nightly --resume out
  expect 0 "passed $kCases" nightly --out out
}
test_TwoNightliesDoNotShareAFolder() {
  export ATTEST_FAULT="wait@$kEarly@$work/go"
  start --out out
  until_true says log "$kEarly"
  cp stdout stdout_of_first
  local code=0
  nightly --resume out >second 2>&1 || code=$?
  [[ $code == 2 ]] || fail "the second one: exit code $code"
  grep -qF "out/results.jsonl: process $parent writes it" second || fail "it does not say who: $(cat second)"
  touch go
  expect_end 0
  expect_complete out 0
  [[ -z $(runs_twice) ]] || fail "a case ran twice"
}
test_AFinishedRunIsNotRunAgain() {
  export ATTEST_FAULT="segv@s=777"
  expect 1 "crashed 1" nightly --out out
  unset ATTEST_FAULT
  mv log before
  expect 1 "its run is finished: passed 87, crashed 1" nightly --resume out
  [[ ! -e log ]] || fail "a case ran"
  expect 2 "is there already. To go on with its run: ./attest nightly --resume out" nightly --out out
  expect_complete out 1
}
test_ARunGoesOnOnlyAsItBegan() {
  mkdir objects
  cp -- "$code_objects"/* objects/
  code_objects=objects
  expect 3 "did not end" nightly --out out --budget 0.001s
  expect 2 "device: it was emu:gfx942; now emu:gfx90a" nightly --resume out --device emu:gfx90a
  expect 2 "options: it was --code-objects objects; now --code-objects objects --check" nightly --resume out --check
  expect 2 "command: it was nightly --tier smoke --ledger none; now nightly --tier full" nightly --resume out --tier full
  expect 2 "shard: it was none; now 1/2" nightly --resume out --shard 1/2
  printf x >>objects/mla_decode.gfx942.co
  expect 2 "build: it was" nightly --resume out
  [[ ! -e log ]] || fail "a case ran"
}
test_ACaseThatWouldNotEndInTimeDoesNotBegin() {
  expect 3 "$kCases cases did not end; to go on: ./attest nightly --tier smoke" nightly --out out --budget 0.001s
  [[ ! -e log ]] || fail "a case ran"
  expect 3 "interrupted" "$program" report out/results.jsonl
  expect 0 "passed $kCases" nightly --resume out
  expect_complete out 0
}
test_ShardsThatBeginOneAfterAnotherShareThePlan() {  # though the first tells the second what cases cost
  expect 0 "passed" nightly --out one --shard 1/2 --history history
  expect 0 "passed" nightly --out two --shard 2/2 --history history
  expect 0 "$kCases of $kCases cases: passed $kCases" "$program" report one/results.jsonl two/results.jsonl
  [[ -z $(runs_twice) ]] || fail "a case ran twice"
}
test_AFailureOfFuzzIsShrunkAndKept() {
  export ATTEST_FAULT="segv@prop="
  is_kept() { grep -qs process.crash.sigsegv out/corpus/*.tokens; }
  start --out out --budget 1h --seed 3
  until_true is_kept
  kill -INT "$parent"
  expect_end 1
  local kept
  kept=$(sed -n 's/^kept: \(.*\)  # process.crash.sigsegv.*/\1/p' stderr)
  grep -qF -- "$kept" out/corpus/*.tokens || fail "it does not say what was kept"
  grep -q '"record":"case_end".*"phase":"fuzz","status":"crashed"' out/results.jsonl || fail "no case of fuzz crashed"
  expect 1 "crashed" "$program" report out/results.jsonl
  rm log
  cp out/results.jsonl before
  start --resume out --budget 1h --seed 3
  expect_end 1  # its plan has ended
  [[ ! -e log || -z $(comm -12 <(ended before) <(sort log)) ]] || fail "what had ended ran again"
}
test_VerdictsAreThoseOfOneProcess() {
  alike() {  # all but times, what a run adds, and the rows that a nightly certifies
    grep '"record":"case_end"' "$1" | sed -E 's/"(total_ms|kernel_ms|at_s|rows_certified|reference_off)":[^,]*,//g;
      s/"phase":"[a-z]*",//' | sort
  }
  expect 0 "passed $kCases" nightly --out out --jobs 3
  "$program" run --suite smoke --ledger none --code-objects "$code_objects" --json >run.jsonl 2>stderr
  diff <(alike run.jsonl) <(alike out/results.jsonl) >difference || fail "verdicts differ: $(head -c 2000 difference)"
  [[ $(alike run.jsonl | wc -l) == "$kCases" ]] || fail "there is nothing to compare"
}

source "$here/nightly_faults_stops.sh"
declare -F "test_$name" >/dev/null || fail "there is no test $name"
"test_$name"
