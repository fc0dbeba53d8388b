# Of bad_input_test.sh: commands that measure, compare or stress devices.

test_ABenchOfKernelsThatCannotBe() {
  expect 2 "there is no kernel 'nope'" attest bench kernels --kernel nope
  expect 2 "--heads" attest bench kernels --heads 16,129
  expect 2 "--lengths" attest bench kernels --lengths 63
  expect 2 "--lengths" attest bench kernels --lengths 1024,many
  expect 2 "--page" attest bench kernels --page 3
  expect 4 "nowhere/bench.md" attest bench kernels --lengths 128 --batches 1 --out nowhere/bench.md
  grep -q "passed" stdout && fail "it measured"
  return 0
}
test_ABenchOfVerificationThatCannotBe() {
  expect 2 "--cases" attest bench verify --cases 0
  expect 4 "cuda:77" attest bench verify --device cuda:77 --cases 1
  expect 4 "nowhere/bench.md" attest bench verify --cases 1 --out nowhere/bench.md
  grep -q "passed" stdout && fail "it ran"
  return 0
}
test_GuardPagesThatCannotBe() {
  expect 2 "--guard-page: only a GPU has it" attest run "$kSmallCase" --guard-page after
  expect 2 "--guard-page" attest run "$kSmallCase" --device cuda:0 --guard-page sideways
  expect 2 "--guard-page" attest run "$kSmallCase" --device cuda:0 --guard-page
  expect 4 "cuda:77" attest run "$kSmallCase" --device cuda:77 --guard-page before
  expect 4 "cuda:77" attest crosscheck emu:gfx942 cuda:77 --cases 1 --guard-page after
}
test_WhatCannotBeStressed() {
  expect 2 "A subcommand is required" attest stress
  expect 2 "'nonsense'" attest stress replay nonsense
  expect 2 "there is no kernel 'nope'" attest stress repeat v1:k=nope:s=65
  expect 2 "leave out steps=" attest stress replay "$kSmallCase:steps=capture.replay"
  expect 2 "leave out prop=" attest stress repeat "$kSmallCase:prop=repeat"
  expect 2 "leave out prefix=" attest stress order "v1:k=mla_decode:s=64,64:page=16:prefix=16"
  expect 2 "--replays" attest stress replay "$kSmallCase" --replays 1
  expect 2 "--launches" attest stress repeat "$kSmallCase" --launches many
  expect 2 "--replays" attest stress repeat "$kSmallCase" --replays 5
  expect 4 "cuda:77" attest stress replay "$kSmallCase" --device cuda:77
  expect 5 "q and the cache in bf16 alone" attest stress replay "$kSmallCase:qt=fp8"
  expect 5 "every step has the same answer" attest stress replay v1:k=mla_decode:h=1:s=0:splits=1 --replays 4
}
test_StressWithoutItsCodeObjects() {
  mkdir alone
  cp -- "$code_objects/mla_decode.gfx942.co" alone/
  expect 4 "alone/mla_decode_forward.gfx942.co" attest stress order "$kSmallCase" --code-objects alone
  expect 4 "nowhere/mla_decode.gfx942.co" attest stress replay "$kSmallCase" --code-objects nowhere
  printf text >alone/disturb.gfx942.co
  expect 4 "alone/disturb.gfx942.co" attest stress repeat "$kSmallCase" --code-objects alone
  expect 0 "20 launches" attest stress repeat "$kSmallCase" --code-objects "$code_objects"
}
test_CrosscheckTakesTwoDevicesOrOneAndAFile() {
  expect 2 "two devices" attest crosscheck emu:gfx942
  expect 2 "two devices" attest crosscheck emu:gfx942 emu:gfx90a emu:gfx942
  expect 2 "devices is required" attest crosscheck
  expect 2 "name the other alone" attest crosscheck emu:gfx942 emu:gfx90a --save s.jsonl
  expect 2 "excludes" attest crosscheck emu:gfx942 --save s.jsonl --against s.jsonl
  expect 2 "excludes" attest crosscheck emu:gfx942 --against s.jsonl --cases 3
  expect 2 "unknown key 'bogus'" attest crosscheck emu:gfx942 emu:gfx90a v1:k=mla_decode:bogus=1
  expect 2 "nope.jsonl" attest crosscheck emu:gfx942 --against nope.jsonl
  expect 4 "device cuda:99" attest crosscheck emu:gfx942 cuda:99 --cases 1
  expect 4 "nowhere/s.jsonl" attest crosscheck emu:gfx942 --save nowhere/s.jsonl --cases 1
}
test_CrosscheckNamesEachDifferenceWithBothCommands() {
  local two=(v1:k=mla_decode:h=1 v1:k=mla_decode:h=2)
  expect 0 "2 tokens on emu:gfx942 and emu:gfx90a: 2 with the same verdict: passed 2; 0 right on both but vacuous on one, 0 differ" \
    attest crosscheck emu:gfx942 emu:gfx90a "${two[@]}" --out out --code-objects "$code_objects"
  expect 0 "s.jsonl: 2 cases on emu:gfx942: passed 2" attest crosscheck emu:gfx942 "${two[@]}" --save s.jsonl \
    --code-objects "$code_objects"
  sed -i '/case_end.*h=2/{s/"status":"passed"/"status":"failed"/;s/"bucket":""/"bucket":"a.b.c.d"/}' s.jsonl
  expect 1 "1 differ" attest crosscheck emu:gfx90a --against s.jsonl --out out --code-objects "$code_objects"
  grep -qF "DIFFERS  v1:k=mla_decode:h=2" stdout || fail "the token is not named"
  grep -qF "bucket a.b.c.d" stdout || fail "the recorded verdict is not named"
  [[ $(grep -c "see it again: ./attest repro 'v1:k=mla_decode:h=2'" stdout) == 2 ]] || fail "not both commands"
  grep -q "repro .* --device emu:gfx90a" stdout || fail "the command does not name its device"
  grep -qF '"likeness":"DIFFERS"' out/crosscheck.jsonl || fail "the journal does not hold it"
  expect 4 "2 without a verdict" attest crosscheck emu:gfx942 emu:gfx90a "${two[@]}" --out out --code-objects nope
}
test_CrosscheckAgainstARunThatIsIncompleteIsIncomplete() {
  local two=(v1:k=mla_decode:h=1 v1:k=mla_decode:h=2)
  expect 0 "passed 2" attest crosscheck emu:gfx942 "${two[@]}" --save s.jsonl --code-objects "$code_objects"
  sed -i '/case_end.*h=2"/d;/run_end/d' s.jsonl
  expect 3 "1 cases did not end, such as v1:k=mla_decode:h=2" \
    attest crosscheck emu:gfx90a --against s.jsonl --out out --code-objects "$code_objects"
  grep -qF "1 with the same verdict: passed 1; " stdout || fail "what is there was not compared"
  printf '{"record":"case_e' >>s.jsonl
  expect 3 "the last line is cut short" \
    attest crosscheck emu:gfx90a --against s.jsonl --out out --code-objects "$code_objects"
}
test_CrosscheckIsRedWhereBothFailAlike() {
  local folder objects=
  expect 0 "1 of 1 mutants are built" attest selftest --build-only --mutant drop_last_token --cache cache
  for folder in cache/gfx942/*; do  # of the mutant, and of the kernel that it is held against
    attest run "$kSmallCase" --code-objects "$folder" >stdout 2>stderr || objects=$folder
  done
  expect 1 "s.jsonl: 1 cases on emu:gfx942: failed 1" attest crosscheck emu:gfx942 "$kSmallCase" --save s.jsonl \
    --code-objects "$objects"
  expect 1 "1 with the same verdict: failed 1" attest crosscheck emu:gfx942 --against s.jsonl --out out \
    --code-objects "$objects"
}
test_AReferenceOnADeviceWhereNoneIsFormed() {
  local command
  expect 2 "--reference" attest run "$kSmallCase" --reference gpu
  for command in "fuzz --cases 1 --out out" "stress replay $kSmallCase" "crosscheck emu:gfx942 emu:gfx90a" \
    "golden verify $here/../golden/values.h5" "bench kernels" "bench verify" "selftest" "explain $kSmallCase"; do
    # shellcheck disable=SC2086  # words
    expect 2 "${command%% *}" attest $command --reference device
    grep -qF "forms its references on the host" stderr || fail "it does not say why"
  done
  expect 0 "passed" attest run "$kSmallCase" --reference device --code-objects "$code_objects"
}
test_WhatOnlyAnEmulatorHasIsUsageOnAGpu() {
  expect 2 "--check: only an emulator" attest run "$kSmallCase" --device cuda:0 --check
  expect 2 "--arith: only an emulator" attest nightly --device cuda:0 --arith all
  expect 2 "--schedules: only an emulator" attest fuzz --device hip:0 --schedules 3
  expect 4 "cuda:99" attest fuzz --device cuda:99 --cases 1
}
test_AnIsolatedCampaignSaysWhatTheOtherSays() {
  expect 2 "--isolate takes no --schedules" attest fuzz --isolate --schedules 2 --cases 1
  expect 0 "10 cases: passed 10" attest fuzz --cases 10 --corpus corpus --out out --code-objects "$code_objects" --isolate
  expect 4 "infra" attest fuzz --cases 3 --code-objects nope --corpus corpus --out out --isolate
}
test_AGpuThatIsNotHereIsSaidAtOnceByEveryCommand() {
  local command
  for command in "run $kSmallCase" "run $kSmallCase --in-process" "repro $kSmallCase" "nightly --out out" "selftest" \
    "golden verify $here/../golden/values.h5" "fuzz --cases 1 --out out"; do
    # shellcheck disable=SC2086  # words
    expect 4 "device cuda:99" attest $command --device cuda:99
  done
  [[ ! -e out ]] || fail "a folder was made for a run that cannot begin"
}
test_ANightTakesSeveralDevicesOfOneTarget() {
  expect 2 "one kind of device" attest nightly --out out --device emu:gfx942 --device emu:gfx90a
  expect 4 "device emu:nope" attest nightly --out out --device emu:gfx942 --device emu:nope
  expect 0 "88 of 88 cases: passed 88" attest nightly --out out --device emu:gfx942 --device emu:gfx942 --jobs 2 \
    --code-objects "$code_objects"
  grep -qF '"device":"emu:gfx942,emu:gfx942"' out/results.jsonl || fail "the results do not name the devices"
}
test_IsolatedMutantsSeveralAtATimeAreKilledByTheirOwnLaunchersAndCodeObjects() {
  expect 0 "2 of 2 defects and cheats killed" attest selftest --isolate --jobs 2 --cases 10 --property oracle \
    --mutant drop_last_token --mutant lse_left_in_the_workspace --code-objects "$code_objects"
}
test_SelftestBuildsForADeviceThatIsNotHere() {
  expect 2 "--build-only" attest selftest --build-only=nonsense
  expect 0 "1 of 1 mutants are built for sm_90: 1 launchers" attest selftest --device cuda:0 --build-only=launchers \
    --mutant lse_left_in_the_workspace --cache cache
  compgen -G "cache/launcher/*/launcher.so" >/dev/null || fail "there is no launcher"
  expect 4 "cuda:99" attest selftest --device cuda:99 --mutant lse_left_in_the_workspace --cache cache
}
