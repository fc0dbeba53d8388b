# Of nightly_faults_test.sh: a nightly, or its workers, killed or asked to end.

test_AKilledWorkerCostsNothing() {
  export ATTEST_FAULT="wait@s=777@$work/go"
  start --out out --jobs 1
  until_true says log s=777
  kill -KILL $(workers_of "$parent")
  touch go
  expect_end 0
  expect_complete out 0
  grep -q '"token":"[^"]*s=777[^"]*".*its first process was killed from outside (SIGKILL)' out/results.jsonl ||
    fail "the record does not say it"
}
test_AKilledNightlyGoesOnWhereItWas() {
  export ATTEST_FAULT="wait@$kEarly@$work/go"
  start --out out
  until_true says log "$kEarly"
  until_true says out/results.jsonl '"record":"case_end"'
  kill -KILL "$parent"
  expect_end 137
  until_true has_no_worker
  cp out/results.jsonl before
  unset ATTEST_FAULT
  expect 3 "case" "$program" report out/results.jsonl
  expect 0 "passed $kCases" nightly --resume out
  expect_complete out 0
  expect_no_rerun before
}
test_ACaseWithWhichTheNightlyIsKilledEachTimeDoesNotRunAgain() {
  export ATTEST_FAULT="wait@$kEarly@$work/go"
  local how
  for how in --out --resume; do
    rm -f log
    start "$how" out --jobs 1
    until_true says log "$kEarly"
    kill -KILL "$parent"
    expect_end 137
    until_true has_no_worker
  done
  rm log
  expect 4 "passed 87, infra 1" nightly --resume out
  ! grep -qF "$kEarly" log || fail "it ran again"
  grep -q "\"token\":\"[^\"]*$kEarly\".*it ran when the nightly was killed, and again" out/results.jsonl ||
    fail "the reason does not say why"
  expect_complete out 4
}
test_AStopOfTheWholeServiceIsNoResult() {
  export ATTEST_FAULT="wait@$kEarly@$work/go"
  start --out out
  until_true says log "$kEarly"
  kill -TERM "$parent" $(workers_of "$parent")
  until_true says stderr "finishing the cases that run"
  kill -TERM $(workers_of "$parent")
  kill -KILL $(workers_of "$parent")  # as when the patience of who stops it is over
  expect_end 3
  ! grep -q '"status":"infra"' out/results.jsonl || fail "the stop is a result"
  cp out/results.jsonl before
  touch go
  expect 0 "passed $kCases" nightly --resume out
  expect_complete out 0
  expect_no_rerun before
}
test_CtrlCLetsRunningCasesEnd() {
  local signal
  for signal in INT TERM; do
    rm -rf out log go
    export ATTEST_FAULT="wait@$kEarly@$work/go"
    start --out out
    until_true says log "$kEarly"
    kill "-$signal" "$parent"
    until_true says stderr "finishing the cases that run"
    touch go
    expect_end 3
    says stderr "to go on: ./attest nightly --tier smoke" || fail "it does not say how to go on"
    ended out/results.jsonl | grep -qF "$kEarly" || fail "the case that ran did not end"
    grep -q '"record":"run_end".*"interrupted":true.*"exit_code":3' out/results.jsonl || fail "no end on record"
    expect 3 "interrupted" "$program" report out/results.jsonl
    cp out/results.jsonl before
    expect 0 "passed $kCases" nightly --resume out
    expect_complete out 0
    expect_no_rerun before
    [[ -z $(runs_twice) ]] || fail "a case ran twice"
  done
}
test_CtrlCTwiceEndsThemAtOnce() {
  export ATTEST_FAULT="loop@$kEarly"
  start --out out
  until_true says log "$kEarly"
  kill -INT "$parent"
  until_true says stderr "finishing the cases that run"
  kill -INT "$parent"
  expect_end 3
  until_true has_no_worker
  ! ended out/results.jsonl | grep -qF "$kEarly" || fail "the case that looped has an end"
  cp out/results.jsonl before
  unset ATTEST_FAULT
  expect 0 "passed $kCases" nightly --resume out
  expect_complete out 0
  expect_no_rerun before
}
