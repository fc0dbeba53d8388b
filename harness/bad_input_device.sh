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
