# Of bad_input_test.sh: a nightly that cannot begin, and commands on the results of runs that are over.

# results NAME RUN STATUS BUCKET: NAME.jsonl, a run of one case.
results() {
  local case="{\"record\":\"case_end\",\"token\":\"$kSmallCase\",\"status\":\"$3\",\"reason\":\"\",\"bucket\":\"$4\"}"
  printf '{"record":"run_begin","device":"emu:gfx942","cases":1,"run":"%s","started":"2026-11-30T02:00:00Z"}\n%s\n' \
    "$2" "$case" >"$1.jsonl"
}
test_CompareTakesNoOtherThanResults() {
  results base 01 passed ""
  expect 2 "pr" attest compare base.jsonl
  expect 2 "nowhere.jsonl: No such file" attest compare base.jsonl nowhere.jsonl
  expect 2 "no run_begin in it" attest compare "$program" base.jsonl
  mkdir empty
  expect 2 "empty/results.jsonl" attest compare base.jsonl empty
  expect 2 "there is no format 'xml'; there are: text, markdown, json" attest compare base.jsonl base.jsonl --format xml
  expect 2 "not the shards of one run" attest compare base.jsonl base.jsonl,base.jsonl
  expect 4 "/proc/nope" attest compare base.jsonl base.jsonl --out /proc/nope/out.md
}
test_CompareExitsByWhatIsWorse() {
  results base 01 passed ""
  results red 02 failed o.wrong.all.mla_decode
  results weak 03 vacuous vacuous.mla_decode
  mkdir pr && cp red.jsonl pr/results.jsonl
  expect 0 "the same" attest compare base.jsonl base.jsonl
  expect 1 "worse: 1 new bucket, 1 case failed that passed" attest compare base.jsonl pr
  expect 0 "fixed        o.wrong.all.mla_decode" attest compare pr base.jsonl
  expect 0 "still open   o.wrong.all.mla_decode" attest compare pr pr
  expect 5 "proves less" attest compare base.jsonl weak.jsonl
  expect 5 "1 case vacuous that was failed" attest compare pr weak.jsonl
  head -n 1 base.jsonl >stopped.jsonl
  expect 3 "incomplete" attest compare base.jsonl stopped.jsonl
  expect 5 "compared with a part of BASE" attest compare stopped.jsonl base.jsonl
  expect 1 "<!-- attest-compare -->" attest compare base.jsonl pr --format markdown
}
test_HistoryTakesNoOtherFile() {
  results base 01 passed ""
  expect 2 "--history" attest history
  expect 2 "nowhere.db: there is no such file" attest history --history nowhere.db
  [[ ! -e nowhere.db ]] || fail "the file was made"
  expect 2 "base.jsonl: not a history of attest" attest history --history base.jsonl --add base.jsonl
  expect 4 "/proc/nope.db" attest history --history /proc/nope.db --add base.jsonl
  expect 2 "nowhere.jsonl: No such file" attest history --history h.db --add nowhere.jsonl
  expect 0 "run 01, cases: 1" attest history --history h.db --add base.jsonl
  expect 2 "no name of a file" attest history --history "" --add base.jsonl
  expect 2 "no name of a file" attest history --history :memory: --add base.jsonl
  expect 4 "stdout: No space left" history_to_full_disk
  : >empty.db
  expect 0 "no runs yet" attest history --history empty.db
  [[ ! -s empty.db ]] || fail "reading wrote into it"
  expect 2 "--family nope: there is none such" attest history --history h.db --family nope
  printf 'garbage' | dd of=h.db bs=1 seek=4096 conv=notrunc status=none
  expect 2 "h.db: a damaged history" attest history --history h.db
}
history_to_full_disk() { attest history --history h.db >/dev/full; }
# Shards without a common id are runs of their own.
test_HistoryAddsShardsEachAsItsRun() {
  results one 01 passed ""
  results two 02 failed o.wrong.all.mla_decode
  sed -i 's/"run":/"shard":"1\/2","run":/' one.jsonl
  sed -i "s/\"run\":/\"shard\":\"2\/2\",\"run\":/; s/$kSmallCase/$kSmallCase:seed=2/" two.jsonl
  expect 0 "two.jsonl: in the history: run 02" attest history --history h.db --add one.jsonl,two.jsonl
  expect 0 "shard 2/2" attest history --history h.db
}
test_HistoryKeepsARunOnce() {
  results base 01 passed ""
  results red 02 failed o.wrong.all.mla_decode
  expect 0 "" attest history --history h.db --add base.jsonl red.jsonl base.jsonl
  expect 0 "2 runs, the newest last" attest history --history h.db
  expect 0 "open    o.wrong.all.mla_decode  1 case in 1 run" attest history --history h.db
  expect 0 '"record":"history","format":1' attest history --history h.db --json
}
# What run is asked to write beside what it prints, for a failure as for a pass; each says its exit code.
test_RunWritesEachReportThatItIsAskedFor() {
  local files=(--junit r.xml --sarif r.sarif --markdown r.md --html r.html --jsonl r.jsonl)
  expect 0 "passed 1" attest run "$kSmallCase" --code-objects "$code_objects" "${files[@]}"
  grep -q 'tests="1" failures="0" errors="0"' r.xml || fail "r.xml does not say that it passed"
  grep -q '"exitCode": 0' r.sarif && grep -q 'exit code 0' r.md && [[ -s r.html ]] || fail "not each says so"
  expect 0 "passed 1" attest report r.jsonl
  expect 5 "vacuous 1" attest run v1:k=mla_decode:h=1:s=4096:splits=1:scale=10 --code-objects "$code_objects" "${files[@]}"
  grep -q '<failure type="vacuous"' r.xml && grep -q '"exitCode": 5' r.sarif && grep -q 'exit code 5' r.md ||
    fail "not each says that the pass proves too little"
}
test_FilesThatRunCannotWriteEndItBeforeAnyCase() {
  printf 'green\n' >r.xml  # of an earlier run: not to be taken for this one's
  expect 4 "nowhere/r.md: No such file" attest run "$kSmallCase" --junit r.xml --markdown nowhere/r.md
  expect 2 "--sarif -: name a file" attest run "$kSmallCase" --sarif -
  grep -q passed stdout && fail "a case ran"
  [[ ! -e r.xml ]] || fail "the earlier run's report is still there"
  expect 4 "/dev/full: No space left" attest run "$kSmallCase" --html /dev/full --code-objects "$code_objects"
}
test_AReportNamesWhatIsNoHistory() {
  results base 01 passed ""
  expect 2 "nowhere.db: there is no such file" attest report base.jsonl --history nowhere.db
  expect 2 "base.jsonl: not a history" attest report base.jsonl --history base.jsonl
  mkdir night && mv base.jsonl night/results.jsonl
  expect 0 "passed 1" attest report night
}
test_ANightlyThatCannotBegin() {
  expect 2 "--budget takes a time such as 90s, 30m, 8h, not 'soon'" attest nightly --out out --budget soon
  expect 2 "--timeout takes a time" attest nightly --out out --timeout 0
  expect 2 "--memory takes a size such as 512M, 4G, not '4 apples'" attest nightly --out out --memory "4 apples"
  expect 2 "--seed takes a whole number" attest nightly --out out --seed pi
  expect 2 "9/8" attest nightly --out out --shard 9/8
  expect 2 "--jobs" attest nightly --out out --jobs 0
  expect 2 "out/results.jsonl: there is no run to resume" attest nightly --resume out
  expect 2 "--out" attest nightly --resume out --out out
  expect 4 "nowhere" attest nightly --out out --history nowhere/history
  expect 2 "alone it has nothing to do" attest worker --parent 1
  [[ ! -e out ]] || fail "a folder was made"
  expect 4 "device emu:gfx1100" attest nightly --out out --device emu:gfx1100
}
test_AReportOfOnePartSaysInEachFormatThatTheRunIsIncomplete() {
  printf '{"record":"run_begin","cases":1,"shard":"1/2"}\n{"record":"case_end","token":"%s","status":"passed"}\n' \
    "$kSmallCase" >part.jsonl
  expect 3 "only 1 of 2 parts of the plan is here: 2/2 is not" attest report part.jsonl
  expect 3 "(exit code 3)" attest report part.jsonl --format markdown
  expect 3 "Exit code <b>3</b>" attest report part.jsonl --format html
  expect 3 'name="exit_code" value="3"' attest report part.jsonl --format junit
  expect 3 '"exitCode": 3,' attest report part.jsonl --format sarif
}
