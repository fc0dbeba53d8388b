#!/usr/bin/env bash
# bad_input_test.sh PROGRAM CODE_OBJECT_DIR NAME: the program end to end on input that it cannot take. Each function
# test_NAME is one test, here or in bad_input_*.sh beside this file: it demands an exit code and words of the message. Run
# without NAME to list them.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
if (($# < 3)); then
  sed -n 's/^test_\([A-Za-z0-9]*\)() {.*/\1/p' "$here"/bad_input_*.sh
  exit 2
fi
program=$1 code_objects=$2 name=$3
kSmallCase=v1:k=mla_decode:s=65
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd -- "$work"

fail() {
  printf 'FAILED: %s\n' "$*"
  cat stdout stderr 2>/dev/null || true
  exit 1
}

# expect CODE WORDS COMMAND...: the command exits with CODE, and stdout or stderr holds WORDS.
expect() {
  local code=$1 words=$2 got=0
  shift 2
  "$@" >stdout 2>stderr </dev/null || got=$?
  [[ $got == "$code" ]] || fail "exit code $got where $code is expected: $*"
  grep -qF -- "$words" stdout stderr || fail "no '$words' in the message of: $*"
}

attest() { "$program" "$@"; }

# A folder with the real code objects, so that one of them can be spoilt.
copy_code_objects() {
  mkdir spoilt
  cp -- "$code_objects"/*.co spoilt/
}

# expect_unusable WORDS: the case on the spoilt code object gets no verdict, and the message names file and cause.
expect_unusable() {
  expect 4 "$1" attest run "$kSmallCase" --code-objects spoilt
  grep -q "spoilt/mla_decode.gfx942.co" stdout || fail "the message does not name the file"
}

test_AGoodCasePasses() {  # what each test below spoils
  expect 0 "passed" attest run "$kSmallCase" --code-objects "$code_objects"
}
test_AMalformedTokenIsUsage() {
  expect 2 "'nonsense'" attest run nonsense
  expect 2 "'abc'" attest run v1:k=mla_decode:s=abc
  expect 2 "v1" attest run ""
  expect 2 "'nonsense'" attest repro nonsense
}
test_ChecksAndArithmeticsThatThereAreNot() {
  expect 2 "'races' is no check" attest run "$kSmallCase" --check=races
  expect 2 "'cdna9' is no arithmetic" attest run "$kSmallCase" --arith cdna9
}
test_WhatCannotBeExchanged() {
  expect 2 "'nonsense'" attest export nonsense --out case.h5
  expect 2 "between launches; a file holds one" attest export "$kSmallCase:prop=repeat" --out case.h5
  expect 4 "nowhere/case.h5" attest export "$kSmallCase" --out nowhere/case.h5
  expect 2 "case.h5: there is no such file" attest judge case.h5
  printf text >case.h5
  expect 2 "case.h5: no HDF5 file" attest judge case.h5
  attest export "$kSmallCase" --out case.h5 >/dev/null
  expect 2 "outputs/o: there is no such dataset" attest judge case.h5
  expect 2 "'int8' is no format of P" attest judge case.h5 --p int8
  expect 2 "fp8_fnuz (e4m3fnuz" attest judge case.h5 --p fp8
  expect 2 "--tile" attest judge case.h5 --tile 0
  expect 2 "there is no such file" attest judge "$(printf 'x%.0s' {1..300})"
  expect 2 "no matrix unit 'tpu'" attest judge case.h5 --unit tpu
}
test_WhatIsNoGoldenFileOrMakesNone() {
  expect 2 "name cases: tokens, --suite, --match or --capture" attest golden generate --out g.h5
  expect 2 "'nonsense'" attest golden generate nonsense --out g.h5
  expect 2 "'nope'" attest golden generate --suite nope --out g.h5
  expect 2 "many launches; a golden case is one" attest golden generate --suite trajectories --out g.h5
  expect 2 "--reason" attest golden generate "$kSmallCase" --out g.h5 --reason whim
  expect 2 "keeps no inputs" attest golden generate --capture case.h5 --hashes-only --out g.h5
  expect 2 "case.h5: there is no such file" attest golden generate --capture case.h5 --out g.h5
  expect 4 "there is no folder nowhere" attest golden generate "$kSmallCase" --out nowhere/g.h5
  expect 4 "it is a folder" attest golden generate "$kSmallCase" --out .
  attest export "$kSmallCase" --out case.h5 >/dev/null
  expect 2 "$kSmallCase comes twice" attest golden generate "$kSmallCase" --capture case.h5 --out g.h5
  expect 2 'case.h5: /: no file of `attest golden generate`' attest golden verify case.h5
  expect 2 "g.h5: there is no such file" attest golden info g.h5
  expect 2 "files" attest golden diff case.h5
  expect 2 "A subcommand is required" attest golden
  [[ ! -e g.h5 ]] && ! compgen -G "*.part" || fail "a file was written"
}
# A limit on the size of files stands for a full disk. HDF5 is not to crash over it when the program ends.
test_AGoldenFileIsKeptWhereTheDiskIsFull() {
  attest golden generate "$kSmallCase" --out g.h5 >/dev/null
  cp g.h5 before.h5
  limited() { (trap '' XFSZ && ulimit -f 100 && attest "$@"); }  # KiB
  expect 4 "is the disk full?" limited golden generate "$kSmallCase:seed=1" --out g.h5 --reason input
  expect 4 "is the disk full?" limited export v1:k=mla_decode:s=4000 --out other.h5
  cmp g.h5 before.h5 || fail "the old file is another one"
  [[ ! -e other.h5 ]] && ! compgen -G "*.part" || fail "a part was left"
}
test_WhatGoldenSaysIntoAFullDiskIsNoSuccess() {
  attest golden generate "$kSmallCase" --out g.h5 >/dev/null
  full() { attest "$@" >/dev/full; }
  for words in "diff g.h5 g.h5" "info g.h5" "info g.h5 --json" "verify g.h5"; do
    # shellcheck disable=SC2086
    expect 4 "stdout: " full golden $words
  done
}
test_AStandalonePathIsCheckedBeforeTheRun() {
  expect 2 "name it .cpp" attest repro "$kSmallCase" --standalone repro.txt
  expect 4 "there is no folder nowhere" attest repro "$kSmallCase" --standalone nowhere/repro.cpp
  mkdir repro.cpp
  expect 4 "repro.cpp: it is a folder" attest repro "$kSmallCase" --standalone repro.cpp
  grep -q verdict stdout && fail "the case ran"
  expect 2 "--json" attest repro "$kSmallCase" --standalone other.cpp --json
  expect 2 "leave them out" attest repro "$kSmallCase" --standalone other.cpp --check
  expect 2 "leave them out" attest repro "$kSmallCase" --standalone other.cpp --arith cdna3
}
test_StandaloneWritesNothingOfACaseThatPasses() {
  expect 0 "nothing to reproduce, nothing written: the case is passed" \
    attest repro "$kSmallCase" --code-objects "$code_objects" --standalone repro.cpp
  [[ ! -e repro.cpp ]] || fail "a program was written"
}
test_AnUnknownKeyIsUsage() {
  expect 2 "unknown key 'bogus'" attest run v1:k=mla_decode:bogus=3
}
test_AnUnknownKernelIsUsage() {
  expect 2 "'nope'" attest run v1:k=nope
}
test_AnUnknownDistributionIsUsage() {
  expect 2 "'nope'" attest run v1:k=mla_decode:dist=nope
}
test_LengthsOverTheLimitsAreUsage() {
  expect 2 "s_kv = 1048577" attest run v1:k=mla_decode:s=1048577
  expect 2 "99999999999999999999" attest run v1:k=mla_decode:s=99999999999999999999
  expect 2 "129" attest run v1:k=mla_decode:h=129
  expect 2 "9" attest run v1:k=mla_decode:q=9
  expect 2 "257" attest run v1:k=mla_decode:splits=257
  expect 2 "4097" attest run v1:k=mla_decode:s=1x4097
  expect 2 "-1" attest run v1:k=mla_decode:s=-1
}
test_OneBadTokenStopsTheRunBeforeAnyCase() {
  expect 2 "unknown key" attest run "$kSmallCase" v1:k=mla_decode:bogus=3
  grep -q passed stdout && fail "a case ran"
  return 0
}
test_AnUnknownSuiteIsUsage() {
  expect 2 "'nope'" attest run --suite nope
  expect 2 "'nope'" attest nightly --tier nope
}
test_NothingSelectedProvesTooLittle() {
  expect 5 "nothing" attest run --suite smoke --match no_such_case
}
test_AnAbsentDeviceIsInfrastructure() {
  expect 4 "device emu:gfx1100" attest run "$kSmallCase" --device emu:gfx1100
  expect 4 "device cuda:99" attest run "$kSmallCase" --device cuda:99
  expect 4 "device toaster" attest run "$kSmallCase" --device toaster
}
test_AMissingCodeObjectIsNamed() {
  mkdir spoilt
  expect_unusable "No such file"
}
test_ACodeObjectForAnotherArchitectureIsRefused() {
  copy_code_objects
  cp spoilt/mla_decode.gfx90a.co spoilt/mla_decode.gfx942.co
  expect_unusable "built for gfx90a, but the device is gfx942"
}
test_AFileThatIsNoElfIsRefused() {
  copy_code_objects
  printf 'not an object, but long enough to hold an ELF header: %.64d\n' 0 >spoilt/mla_decode.gfx942.co
  expect_unusable "not a usable code object"
  : >spoilt/mla_decode.gfx942.co
  expect_unusable "not a usable code object"
}
test_ATruncatedCodeObjectNeverCrashes() {
  copy_code_objects
  local whole bytes code
  whole=$(stat -c %s "$code_objects/mla_decode.gfx942.co")
  for bytes in 1 16 63 64 100 1000 4096; do
    head -c "$bytes" "$code_objects/mla_decode.gfx942.co" >spoilt/mla_decode.gfx942.co
    expect_unusable "not a usable code object"
  done
  # Debug information and section names come last; a kernel runs without them.
  for bytes in $((whole / 2)) $((whole - 1)); do
    head -c "$bytes" "$code_objects/mla_decode.gfx942.co" >spoilt/mla_decode.gfx942.co
    code=0
    attest run "$kSmallCase" --code-objects spoilt >stdout 2>stderr </dev/null || code=$?
    [[ $code == 0 || $code == 4 ]] || fail "exit code $code with $bytes of $whole bytes"
  done
}
# Every 4-byte field of the ELF header set to 0xffffffff in turn: a message or a verdict, never a signal.
test_AHostileElfHeaderNeverCrashes() {
  copy_code_objects
  local at code
  for ((at = 0; at < 64; at += 4)); do
    cp -- "$code_objects/mla_decode.gfx942.co" spoilt/mla_decode.gfx942.co
    printf '\377\377\377\377' | dd of=spoilt/mla_decode.gfx942.co bs=1 seek=$at conv=notrunc status=none
    code=0
    attest run "$kSmallCase" --code-objects spoilt >stdout 2>stderr </dev/null || code=$?
    ((code <= 5)) || fail "exit code $code with bytes $at..$((at + 3)) of the ELF header overwritten"
  done
}
test_OutOfMemoryIsInfrastructureAndNamed() {
  ulimit -v 400000  # KiB; the cache of this case alone is 1.1 GB
  expect 4 "memory" attest run v1:k=mla_decode:s=1000000 --code-objects "$code_objects"
}
test_OutOfMemoryCostsOnlyTheCaseThatNeedsIt() {
  ulimit -v 400000
  expect 4 "passed 1, infra 1" attest run v1:k=mla_decode:s=1000000 "$kSmallCase" --threads 1 \
    --code-objects "$code_objects"
}
# Little more address space than the program itself takes: stacks of threads are what fails first.
test_OutOfMemoryNeverCrashes() {
  local least=150000 kib code  # below some amount not even the libraries load
  until (ulimit -v "$least" && attest --help >/dev/null 2>&1) 2>/dev/null; do
    least=$((least + 2000))
    [[ $least -lt 2000000 ]] || fail "--help needs $least KiB"
  done
  for kib in "$least" $((least + 5000)) $((least + 20000)) $((least + 60000)) $((least + 120000)); do
    code=0
    (ulimit -v "$kib" && attest run --suite smoke --threads 64 --code-objects "$code_objects" >stdout 2>stderr \
      </dev/null) || code=$?
    [[ $code == 0 || $code == 4 ]] || fail "exit code $code with $kib KiB"
  done
}
test_AFolderThatCannotBeWrittenIsInfrastructure() {
  expect 4 "/proc/nope" attest nightly --tier smoke --out /proc/nope
}
test_AnUnreadableLedgerIsUsage() {
  expect 2 "nope" attest run "$kSmallCase" --ledger nope
  local rest="issue=https://host/7 expires=2027-03-31"
  printf '# fine\ntolerated bucket=* %s\ntolerated bukcet=* %s\n' "$rest" "$rest" >ledger
  expect 2 "ledger:3: unknown key 'bukcet'" attest run "$kSmallCase" --ledger ledger
  expect 2 "ledger:3: unknown key 'bukcet'" attest nightly --ledger ledger --out out
  printf 'tolerated bucket=* issue=https://host/7 expires=tomorrow\n' >ledger
  expect 2 "ledger:1: expires=tomorrow" attest run "$kSmallCase" --ledger ledger
  printf 'tolerated bucket=* expires=2027-03-31\n' >ledger
  expect 2 "ledger:1: no issue=" attest run "$kSmallCase" --ledger ledger
}
test_AnExpiredLineOfTheLedgerIsSaidAndExcusesNothing() {
  printf 'quarantined kernel=mla_decode issue=https://host/7 expires=2026-01-31\n' >ledger
  expect 0 "ledger:1: expired on 2026-01-31" attest run "$kSmallCase" --ledger ledger --code-objects "$code_objects"
}
test_AToleratedCaseThatPassesIsNotGreen() {
  printf 'tolerated bucket=* token=%s issue=https://host/7 expires=9999-12-31\n' "$kSmallCase" >ledger
  expect 1 "xpass 1" attest run "$kSmallCase" --ledger ledger --code-objects "$code_objects"
  expect 0 "passed 1" attest run "$kSmallCase" --ledger none --code-objects "$code_objects"
}
test_AQuarantinedCaseIsSkipped() {
  printf 'quarantined token=*s=65* issue=https://host/7 expires=9999-12-31\n' >ledger
  expect 5 "quarantined: https://host/7" attest run "$kSmallCase" --ledger ledger --code-objects nope
}
test_ABadCorpusIsUsage() {
  expect 2 "nope" attest run --corpus nope
  mkdir corpus
  printf '%s  # merge.wrong.all.mla_decode\nv1:bogus=1\n' "$kSmallCase" >corpus/mla_decode.tokens
  expect 2 "corpus/mla_decode.tokens:2: " attest run --corpus corpus
  rm corpus/mla_decode.tokens
  expect 5 "nothing" attest run --corpus corpus
}
test_FuzzTakesNoUnknownName() {
  expect 2 "there is no kernel 'nope'; there are: mla_decode" attest fuzz --kernel nope
  expect 2 "there is no property 'nope'; there are: oracle" attest fuzz --property nope
  expect 2 "--for takes a time such as 90s, 30m, 8h, not '3 fortnights'" attest fuzz --for "3 fortnights"
  expect 2 "target" attest fuzz --target speed
  expect 2 "nope" attest fuzz --ledger nope
}
test_FuzzTakesNoKernelThatCannotBeDrawn() {
  unset ATTEST_AITER_HSA
  expect 2 "takes no problem that fuzz draws" attest fuzz --kernel aiter_bf16_3buffer_gqa16_ps --cases 1
  expect 2 "no code object is given" attest fuzz --kernel aiter_bf16_gqa16 --cases 1
  grep -qF -- "./attest run --suite external --match" stderr || fail "the message does not say what to do"
}
test_AWrongPathOfACodeObjectIsUsage() {
  expect 2 "--code-object /nonexistent: there is no such file or folder" attest run v1:k=aiter_bf16_gqa16:splits=2 \
    --code-object /nonexistent
  [[ $(grep -c nonexistent stderr) == 1 && ! -s stdout ]] || fail "it is said more than once"
}
test_ACommandThatSeesItAgainQuotesItsPaths() {
  mkdir "with space"
  expect 4 "--code-objects 'with space'" attest run "$kSmallCase" --code-objects "with space"
}
test_FuzzReadsItsCorpusFirst() {
  mkdir corpus
  printf 'v1:bogus=1\n' >corpus/mla_decode.tokens
  expect 2 "corpus/mla_decode.tokens:1: " attest fuzz --cases 1 --corpus corpus
  printf '%s\n' "$kSmallCase" >corpus/mla_decode.tokens
  expect 0 "2 cases: passed 2" attest fuzz --cases 2 --corpus corpus --out out --code-objects "$code_objects"
  grep -qF "{\"event\":\"case_begin\",\"index\":0,\"token\":\"$kSmallCase\"}" out/fuzz.jsonl ||
    fail "the corpus' case is not the first"
  printf 'v1:k=mla_decode:h=1:s=4096:splits=1:scale=10\n' >corpus/mla_decode.tokens  # could not have failed
  expect 0 "passed 1, vacuous 1" attest fuzz --cases 2 --corpus corpus --out out --code-objects "$code_objects"
  expect 5 "vacuous 1" attest fuzz --cases 1 --corpus corpus --out out --code-objects "$code_objects"
}
test_FuzzWithoutCodeObjectsIsInfrastructure() {
  expect 4 "infra" attest fuzz --cases 3 --code-objects nope --corpus corpus --out out
  expect 4 "/proc/nope" attest fuzz --cases 1 --out /proc/nope --code-objects "$code_objects"
}
test_WhatNoReportCanBeMadeOf() {
  attest run "$kSmallCase" --json --code-objects "$code_objects" >r.jsonl 2>stderr
  expect 0 "passed 1" attest report r.jsonl
  expect 2 "nope: No such file" attest report nope
  printf 'text\n' >text
  expect 2 "text: no run_begin in it" attest report text
  expect 2 "files is required" attest report
  expect 2 "there is no format 'pdf'; there are: console, " attest report r.jsonl --format pdf
  cp r.jsonl again.jsonl
  expect 2 "  $kSmallCase" attest report r.jsonl again.jsonl  # no shards of one run
}
test_AReportThatCannotBeWrittenIsInfrastructure() {
  attest run "$kSmallCase" --json --code-objects "$code_objects" >r.jsonl 2>stderr
  expect 4 "nowhere/report.txt: No such file" attest report r.jsonl --out nowhere/report.txt
  expect 4 "/dev/full: No space left" attest report r.jsonl --out /dev/full
  expect 4 "/proc/nope" attest report r.jsonl --all /proc/nope
  mkdir report.txt
  expect 4 "report.txt: it is a folder" attest report r.jsonl --out report.txt
}
test_AReportOfACutFileSaysWhatIsMissing() {
  attest run --suite smoke --match h=1: --json --code-objects "$code_objects" >r.jsonl 2>stderr
  head -n 4 r.jsonl | head -c -20 >cut.jsonl
  expect 3 "cut.jsonl:4: the last line is cut short" attest report cut.jsonl
  expect 3 "more cases were announced than are known" attest report cut.jsonl
}
test_APlanThatCannotBeMadeIsUsage() {
  expect 2 "there is no tier 'nope'; there are: smoke, nightly, full" attest list --plan 2 --tier nope
  expect 2 "--plan" attest list --plan 0
  expect 2 "--plan" attest list --plan two
  expect 2 "--tier requires --plan" attest list --tier full
  expect 2 "nope" attest list --plan 2 --costs nope
  expect 2 "nope" attest list --plan 2 --ledger nope
  mkdir corpus
  printf '%s\nv1:k=nope\n' "$kSmallCase" >corpus/mla_decode.tokens
  expect 2 "corpus/mla_decode.tokens:2: there is no kernel 'nope'" attest list --plan 2 --tier full --corpus corpus
  expect 0 "tier smoke: 88 cases" attest list --plan 2 --corpus corpus
}
test_AColourThatThereIsNotIsUsage() {
  expect 2 "--color: pink not in {auto,always,never}" attest run "$kSmallCase" --color pink
  expect 2 "--color: pink not in {auto,always,never}" attest nightly --color pink
}
test_SelftestTakesNoUnknownName() {
  expect 2 "there is no mutant 'nope'" attest selftest --mutant nope
  expect 2 "nope" attest selftest --mutants nope
  expect 2 "nope cannot be read" attest selftest --replay --kills nope
  printf 'drop_last_token bucket\n' >kills
  expect 2 "kills:1: a line is MUTANT BUCKET TOKEN" attest selftest --replay --kills kills
}
# Ctrl-C while a campaign runs: exit code 3, and the journal ends with what was found.
test_CtrlCEndsACampaignWithItsReport() {
  local code=0
  set -m
  "$program" fuzz --cases 1000000 --corpus corpus --out out --code-objects "$code_objects" >stdout 2>stderr </dev/null &
  local pid=$!
  set +m
  for ((i = 0; i < 600; ++i)); do
    (($(cat out/fuzz.jsonl 2>/dev/null | grep -c case_begin) > 20)) && break
    sleep 0.05
  done
  kill -INT "$pid"
  wait "$pid" || code=$?
  [[ $code == 3 ]] || fail "exit code $code where 3 is expected"
  tail -n 1 out/fuzz.jsonl | grep -q '"event":"fuzz_end".*interrupted' || fail "the journal does not end with its report"
  grep -q "interrupted" stdout || fail "the report does not say that it was interrupted"
}
# Ctrl-C after the first finished case: exit code 3, and the file holds every finished case as whole lines.
test_CtrlCKeepsFinishedCases() {
  local code=0 finished
  set -m  # a job of its own, so that it does not ignore the signal
  "$program" nightly --tier full --out out --code-objects "$code_objects" >stdout 2>stderr </dev/null &
  local pid=$!
  set +m
  for ((i = 0; i < 600; ++i)); do
    grep -qs '"record":"case_end"' out/results.jsonl && break
    sleep 0.05
  done
  kill -INT "$pid"
  wait "$pid" || code=$?
  [[ $code == 3 ]] || fail "exit code $code where 3 is expected"
  finished=$(grep -c '"record":"case_end".*"status":"passed".*}$' out/results.jsonl)
  ((finished > 0)) || fail "no finished case was kept"
  grep -q "\"record\":\"run_end\".*\"passed\":$finished.*\"exit_code\":3" out/results.jsonl ||
    fail "the last record does not count the $finished finished cases"
}
test_JsonOnStdoutIsNothingButJson() {
  "$program" list --json >stdout 2>stderr </dev/null
  [[ $(head -c 1 stdout) == "{" && $(tail -n 1 stdout) == "}" ]] || fail "list --json prints other text"
}

source "$here/bad_input_results.sh"
source "$here/bad_input_device.sh"
declare -F "test_$name" >/dev/null || fail "there is no test $name"
"test_$name"
