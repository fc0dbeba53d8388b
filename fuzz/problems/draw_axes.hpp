// Generators of single axes. RapidCheck's own integers and floats know nothing of tiles and pages,
// and its floats are never special: each axis here has its domain, with most weight at the edges.
#pragma once
#include <rapidcheck.h>

#include <string>

#include "harness/core/case.hpp"

namespace attest::axes {

// 0..max, each power of two as likely as the next.
rc::Gen<int> log_up_to(int max);
// k * unit - 1 .. k * unit + 1 in 0..max.
rc::Gen<int> near_multiple(int unit, int max);

rc::Gen<int> heads();         // around tiles of 16 and 64
rc::Gen<int> query_tokens();  // of one sequence
rc::Gen<int> batch();         // rarely over 20
rc::Gen<int> page_size();
rc::Gen<int> num_splits();  // 0: the kernel's own rule
rc::Gen<float> sm_scale();
rc::Gen<float> descale();  // of an fp8 tensor
rc::Gen<PageOrder> page_order();
rc::Gen<GridOrder> grid_order();
rc::Gen<int> kv_indptr_start();
rc::Gen<int> pad();  // of q or o
// Pages in front of the pool: none, some, or so many that the byte or element offset of a row
// passes 2^31 or 2^32 - within the used pages, more often than not.
rc::Gen<std::int64_t> page_base(int page_size);
rc::Gen<std::string> distribution();
rc::Gen<std::uint64_t> seed();
rc::Gen<Schedule> schedule();  // in order half of the time

}  // namespace attest::axes
