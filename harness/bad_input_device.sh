# Of bad_input_test.sh: commands that measure or compare devices.

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
