#!/usr/bin/env bash
# schemas_test.sh PROGRAM CODE_OBJECT_DIR BUILD_DIR NAME: what the program writes, held against the schema of its
# format. Each function test_NAME is one test; exit code 77: the tool or the schema is not here.
set -euo pipefail
program=$1 code_objects=$2 build=$3 name=$4
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
approved=$here/../approved
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd -- "$work"

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
skip() { printf 'skipped: %s\n' "$*"; exit 77; }

# report CODE FILE ARGUMENTS...: writes FILE, and the program ends with CODE.
report() {
  local code=$1 file=$2 got=0
  shift 2
  "$program" report "$@" --out "$file" 2>stderr || got=$?
  [[ $got == "$code" ]] || { cat stderr; fail "exit code $got where $code is expected: report $*"; }
}
# A run that passes, with --check and schedules, so that more of the fields are there.
run_some() {
  "$program" run --suite smoke --match h=1: --check --json --code-objects "$code_objects" >run.jsonl 2>stderr ||
    { cat stderr; fail "a healthy kernel does not pass"; }
}
check() { /usr/bin/python3 "$here/check_json.py" "$@"; }

test_TheJournalOfARun() {
  run_some
  check "$here/results.schema.json" run.jsonl "$approved/merged.jsonl"
}
test_AJournalThatLacksAReasonDoesNotFit() {
  check "$here/results.schema.json" "$approved/merged.jsonl" || exit $?
  sed '7s/"reason":"[^"]*"/"reason":""/' "$approved/merged.jsonl" >wrong.jsonl
  check "$here/results.schema.json" wrong.jsonl >stdout && fail "a failure without a reason fits"
  grep -q '^wrong.jsonl:7: reason: ' stdout || { cat stdout; fail "the line is not named"; }
}
test_JunitXml() {
  type -P xmllint >/dev/null || skip "there is no xmllint (Debian: libxml2-utils)"
  run_some
  report 0 green.xml run.jsonl --format junit
  report 1 red.xml "$approved/results.jsonl" --format junit
  xmllint --noout --schema "$here/junit.xsd" green.xml red.xml
  sed 's/<failure type="[a-z]*"/<failure/' red.xml >wrong.xml
  xmllint --noout --schema "$here/junit.xsd" wrong.xml 2>/dev/null && fail "a failure without a type fits"
  return 0
}
test_Sarif() {
  [[ -s $build/sarif_schema.json ]] || skip "there is no $build/sarif_schema.json (.ci/run gets it)"
  run_some
  report 0 green.json run.jsonl --format sarif
  report 1 red.json "$approved/results.jsonl" --format sarif
  check "$build/sarif_schema.json" green.json red.json
}

declare -F "test_$name" >/dev/null || fail "there is no test $name"
"test_$name"
