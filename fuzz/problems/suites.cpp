#include "fuzz/problems/suites.hpp"

#include <algorithm>
#include <vector>

#include "fuzz/problems/external_suite.hpp"
#include "fuzz/problems/golden_suite.hpp"

namespace attest {
namespace {

// Small cases of every axis; suites_test.cpp says which axes, and how much work all of it may be.
constexpr std::string_view kSmoke[] = {
    // Head counts: under, at and over the tiles of 16 and 64.
    "v1:k=mla_decode:h=1",
    "v1:k=mla_decode:h=1:s=777:splits=2:dist=needles",
    "v1:k=mla_decode:h=5:s=300:page=16:dist=needles",
    "v1:k=mla_decode:h=12:s=1000:page=64:splits=7:dist=needles",
    "v1:k=mla_decode:s=1000:splits=8:dist=monotone",
    "v1:k=mla_decode:h=17:s=450:page=16:splits=2:dist=needles",
    "v1:k=mla_decode:h=64:s=700:page=64:splits=8:dist=needles",
    "v1:k=mla_decode:h=64:s=300:splits=1:dist=monotone",
    "v1:k=mla_decode:h=128:s=500:page=16:splits=2:dist=needles",
    "v1:k=mla_decode:h=128:s=200:splits=1",
    // Query tokens and the causal diagonal, s_kv < s_q among them.
    "v1:k=mla_decode:s=200,65:q=2:page=16:splits=2:dist=needles",
    "v1:k=mla_decode:h=12:s=130,129:q=3:splits=1:dist=needles",
    "v1:k=mla_decode:h=5:s=64,1:q=4:page=64:splits=2",
    "v1:k=mla_decode:h=1:s=250:q=5:page=16:splits=7:dist=uniform_logits",
    "v1:k=mla_decode:h=17:s=190:q=6:splits=2:dist=needles",
    "v1:k=mla_decode:s=66,3:q=7:page=16:dist=needles",
    "v1:k=mla_decode:h=12:s=0,1,7,8,9,64,65,200:q=8:splits=2:dist=needles",
    "v1:k=mla_decode:h=64:s=131:q=2:page=16:splits=2:dist=needles",
    "v1:k=mla_decode:h=12:s=300,2,0,100:q=1,4,3,8:page=16:splits=7:dist=uniform_logits",
    // Ragged lengths, empty sequences among them.
    "v1:k=mla_decode:s=0:splits=1",
    "v1:k=mla_decode:s=0x3:splits=8",
    "v1:k=mla_decode:h=12:s=1,63,64,65,127,128,129,0,600",
    "v1:k=mla_decode:h=12:s=1,63,64,65,127,128,129,0,600:page=16:splits=8:dist=needles",
    "v1:k=mla_decode:h=12:s=1,63,64,65,127,128,129,0,600:page=64:splits=7:dist=monotone",
    "v1:k=mla_decode:s=1,15,16,17,31,32,33:page=16:splits=1:dist=uniform_logits",
    "v1:k=mla_decode:h=5:s=64x20,0,1x3:dist=needles",
    // Splits: one, few, many, more than there are tokens; blocks of the merge.
    "v1:k=mla_decode:s=2000:page=16:splits=1:dist=monotone",
    "v1:k=mla_decode:s=4200,64,0,1:page=64:splits=64:dist=needles",
    "v1:k=mla_decode:s=4200,100:splits=64:dist=monotone",
    "v1:k=mla_decode:s=16500,300:page=64:splits=256:dist=needles",
    "v1:k=mla_decode:s=16384:page=16:splits=256",
    "v1:k=mla_decode:h=5:s=1100,70:page=16:splits=16:dist=needles",
    "v1:k=mla_decode:h=12:s=2100:q=2:splits=16:dist=uniform_logits",
    "v1:k=mla_decode:h=12:s=8200:page=64:dist=needles",
    // Both orders of the grid, asked for.
    "v1:k=mla_decode:s=900,100:splits=8:grid=split_minor:dist=needles",
    "v1:k=mla_decode:s=900,100:splits=8:grid=split_major:dist=needles",
    "v1:k=mla_decode:h=17:s=900,100:splits=7:grid=split_major:dist=needles",
    // Where things are stored: order of pages, shared pages, beyond 4 GiB, slack, strides.
    "v1:k=mla_decode:s=500,90:page=16:splits=2:order=sequential:dist=needles",
    "v1:k=mla_decode:s=500,90:splits=2:order=reversed:dist=needles",
    "v1:k=mla_decode:h=12:s=320,321,383,384,640:page=64:splits=8:prefix=320:dist=needles",
    "v1:k=mla_decode:h=12:s=48,64:page=16:prefix=48:dist=monotone",
    "v1:k=mla_decode:s=300,65:page=16:splits=2:base=240000:dist=needles",
    "v1:k=mla_decode:s=130:splits=2:base=3800000",
    "v1:k=mla_decode:s=130:splits=2:base=7500000",  // elements beyond 2^32
    "v1:k=mla_decode:s=300,0,65:page=16:splits=2:start=9:dist=needles",
    "v1:k=mla_decode:h=5:s=200,100:page=64:splits=2:start=1:qpad=8:opad=16",
    "v1:k=mla_decode:h=17:s=300:splits=1:qpad=64:opad=8:dist=needles",
    "v1:k=mla_decode:h=64:s=200:q=2:page=16:splits=2:qpad=24:opad=24",
    // Scales of the logits.
    "v1:k=mla_decode:s=400:splits=2:scale=0.25:dist=needles",
    "v1:k=mla_decode:s=400:splits=2:scale=-0.0625",
    "v1:k=mla_decode:h=5:s=200:splits=2:scale=0",
    "v1:k=mla_decode:h=12:s=300,65:q=2:page=16:splits=2:scale=0.044194173:dist=head_distinct",
    "v1:k=mla_decode:h=5:s=500:page=64:splits=7:scale=0.13523379:dist=rescale_steps",
    "v1:k=mla_decode:s=300:splits=2:scale=1:dist=huge_logits",
    "v1:k=mla_decode:h=12:s=257:q=2:page=16:splits=2:scale=0.001:dist=very_negative",
    "v1:k=mla_decode:h=5:s=200:scale=30:dist=sink",
    "v1:k=mla_decode:h=17:s=400,65:splits=2:scale=-0.125:dist=deep_spread",
    // What the numbers are (fuzz/distributions/README.md), at lengths at seams.
    "v1:k=mla_decode:h=12:s=1,63,64,65,600:page=16:splits=8:dist=small_normal",
    "v1:k=mla_decode:h=12:s=1,64,129,900:q=2:page=64:splits=7:dist=wide_logits",
    "v1:k=mla_decode:h=64:s=513:page=16:splits=2:dist=two_clusters",
    "v1:k=mla_decode:h=5:s=1,63,64,65,128,777:q=3:page=16:splits=2:dist=census",
    "v1:k=mla_decode:h=1:s=20000:page=64:splits=16:dist=census",
    "v1:k=mla_decode:h=12:s=700,65:q=2:page=16:splits=2:dist=decreasing",
    "v1:k=mla_decode:h=12:s=15,16,17,64,65,700:q=4:page=16:splits=2:dist=rescale_steps",
    "v1:k=mla_decode:h=64:s=1000:page=64:splits=7:dist=rescale_steps",
    "v1:k=mla_decode:h=12:s=1,64,500:q=2:page=16:splits=2:dist=huge_logits",
    "v1:k=mla_decode:s=1,65,900:page=64:splits=8:dist=very_negative",
    "v1:k=mla_decode:h=64:s=200:splits=1:dist=very_negative",
    "v1:k=mla_decode:h=12:s=1,63,128,600:q=2:page=16:splits=8:dist=deep_spread",
    "v1:k=mla_decode:h=12:s=1,64,65,1000:page=16:splits=8:dist=sink",
    "v1:k=mla_decode:h=17:s=1,64,300:q=2:page=16:splits=2:dist=ones",
    "v1:k=mla_decode:h=5:s=1,127,129,1100:page=64:splits=16:dist=positive",
    "v1:k=mla_decode:h=12:s=1,63,64,65,600:page=16:splits=7:dist=alternating",
    "v1:k=mla_decode:h=64:s=65,300:page=64:splits=2:dist=column_scales",
    "v1:k=mla_decode:h=12:s=1,63,65,400:q=2:page=16:splits=2:dist=subnormal",
    "v1:k=mla_decode:h=128:s=130,65:q=2:page=16:splits=2:dist=head_distinct",
    "v1:k=mla_decode:h=12:s=320,321,383,640:page=64:splits=8:prefix=320:dist=head_distinct",
    "v1:k=mla_decode:s=1000,64:page=64:splits=8:dist=periodic",
    "v1:k=mla_decode:h=12:s=1,63,65,300:q=2:page=16:splits=2:dist=one_hot",
    // The other partials.
    "v1:k=mla_decode_bf16_partials:s=1000:splits=8:dist=needles",
    "v1:k=mla_decode_bf16_partials:h=12:s=500,0,65,1:q=2:page=16:splits=7:dist=needles",
    "v1:k=mla_decode_bf16_partials:h=64:s=500:page=64:splits=2",
    "v1:k=mla_decode_bf16_partials:h=5:s=2100:splits=16:dist=monotone",
    "v1:k=mla_decode_bf16_partials:h=12:s=900,65:page=16:splits=8:dist=very_negative",
    "v1:k=mla_decode_bf16_partials:h=17:s=300:q=2:page=64:splits=2:dist=head_distinct",
    // Other orders of workgroups and waves.
    "v1:k=mla_decode:h=12:s=700,65:q=2:page=16:splits=8:dist=needles:sched=1",
    "v1:k=mla_decode:h=64:s=400:splits=7:dist=needles:seed=4:sched=2",
    "v1:k=mla_decode:h=17:s=1,300,0:q=3:splits=2:dist=monotone:seed=5:sched=18446744073709551615",
};

// Lengths at the edges of tiles and pages up to a long context, in one batch.
constexpr std::string_view kRagged[] = {
    "v1:k=mla_decode:h=12:s=1,63,64,65,4096,4097,65536,327600:seed=1",
    "v1:k=mla_decode:h=12:s=1,63,64,65,4096,4097,65536,327600:page=16:dist=needles:seed=2",
};

// A batch that shares a prefix of 308736 tokens (4824 pages of 64), as a prefix cache stores it.
constexpr std::string_view kPrefixBoundary[] = {
    "v1:k=mla_decode:h=12:s=308736,308737,312831,312832,312833,320000,327599,327600:page=64"
    ":prefix=308736:seed=1",
    "v1:k=mla_decode:h=12:s=308736,308737,312831,312832,312833,320000,327599,327600:page=64"
    ":prefix=308736:dist=needles:seed=2",
};

// A serving batch over many launches in the same memory (fuzz/trajectories/steps.hpp).
constexpr std::string_view kTrajectories[] = {
    // One capture, more than a hundred replays, with lengths and contents changed in place.
    "v1:k=mla_decode:h=2:s=65,15:page=16:splits=2:steps=pad4.capture.replay120",
    "v1:k=mla_decode_bf16_partials:h=5:s=130,0,63:page=64:splits=3:dist=needles"
    ":steps=capture.replay100",
    "v1:k=mla_decode:h=1:s=30:q=2:splits=1:opad=8:steps=pad3.capture.replay100",
    // Requests come and go; their pages are used again.
    "v1:k=mla_decode:h=12:s=65,130:page=16:splits=4:steps=launch.finish0.add129.launch.grow0,64"
    ".launch.finish1.add200.launch",
    "v1:k=mla_decode:s=64x2:page=64:splits=2:order=reversed:steps=pad4.capture.replay.grow0,1"
    ".replay.finish1.add63.replay.add2.replay.finish0.finish0.finish0.replay",
    // Outputs and workspaces that a longer batch left.
    "v1:k=mla_decode:h=12:s=300,200:page=16:splits=4:dist=needles"
    ":steps=launch.finish0.finish0.add40.dirty.launch.add0.dirty.launch",
    "v1:k=mla_decode:h=5:s=300,17:splits=8:start=3:steps=pad3.capture.replay.finish0.dirty.replay",
    // Another split plan for launches; a graph keeps its own.
    "v1:k=mla_decode:h=5:s=300,65:page=16:splits=4:steps=capture.replay.splits8.launch.grow1,3"
    ".replay.splits1.launch.replay.capture.splits3.launch.replay",
    "v1:k=mla_decode:h=64:s=130,1:q=3:page=16:splits=2:sched=7:steps=launch.capture.grow1,1.replay"
    ".grow1,3.dirty.replay.add66,1.launch",
};

// q and the cache in fp8, of AMD's objects, which the user gives (kernels/external): each storage
// and descale factor, contexts short and long, query tokens, heads, sequences without a token. No
// kernel that attest ships takes fp8.
constexpr std::string_view kFp8[] = {
    "v1:k=aiter_fp8_gqa16_ps:qt=fp8:kvt=fp8",
    "v1:k=aiter_fp8_gqa16_ps:s=0,65:splits=1:qt=fp8:kvt=fp8:dist=needles",
    "v1:k=aiter_fp8_gqa16_ps:s=1,63,64,65,127,129,0,600:splits=8:qt=fp8:kvt=fp8:dist=needles",
    "v1:k=aiter_fp8_gqa16_ps:s=1000,90:splits=8:qt=fp8:kvt=fp8:qscale=0.5:kvscale=0.5:dist=one_hot",
    "v1:k=aiter_fp8_gqa16_ps:s=1000:splits=7:qt=fp8:kvt=fp8:qscale=3:kvscale=3:dist=wide_logits",
    // 1e-3 holds numbers up to 0.24: of 0.1 N(0, 1) nearly all.
    "v1:k=aiter_fp8_gqa16:s=777:splits=2:scale=1:qt=fp8:kvt=fp8:qscale=0.001:kvscale=0.001"
    ":dist=small_normal",
    "v1:k=aiter_fp8_gqa16_ps:s=500,300:splits=4:qt=fp8:kvt=fp8:kvscale=3:dist=positive",
    "v1:k=aiter_fp8_gqa16:s=500,300:splits=4:qt=fp8:kvt=fp8:qscale=3:dist=head_distinct",
    "v1:k=aiter_fp8_gqa16_q2_ps:s=66,200:q=2:splits=2:qt=fp8:kvt=fp8:kvscale=0.1:dist=needles",
    "v1:k=aiter_fp8_gqa16_q4_ps:s=300,4,132:q=4:splits=2:qt=fp8:kvt=fp8:qscale=0.3:dist=needles",
    "v1:k=aiter_fp8_gqa128_ps:h=128:s=300,65:splits=2:qt=fp8:kvt=fp8:kvscale=0.5:dist=needles",
    "v1:k=aiter_fp8_gqa128:h=128:s=513:q=2:splits=4:qt=fp8:kvt=fp8:dist=monotone",
    "v1:k=aiter_fp8_gqa16_ps:s=16384:splits=16:qt=fp8:kvt=fp8:qscale=0.5:kvscale=3:dist=needles",
    // The tokens of a sink lie 6.9, 7.3 and 7.7 nats below it: about 2^-11, under which P without a
    // scale is rounded to 0 though all of them weigh more than the sink does.
    "v1:k=aiter_fp8_gqa16_ps:s=1340:splits=2:qt=fp8:kvt=fp8:dist=sink",
    "v1:k=aiter_fp8_gqa16_ps:s=2981:splits=4:qt=fp8:kvt=fp8:kvscale=0.5:dist=sink",
    "v1:k=aiter_fp8_gqa16_ps:s=6634:splits=1:qt=fp8:kvt=fp8:kvscale=3:dist=sink",
    // Rescales, and V of one sign.
    "v1:k=aiter_fp8_gqa16_ps:s=2100:splits=16:qt=fp8:kvt=fp8:kvscale=0.1:dist=monotone",
    // The cache alone.
    "v1:k=aiter_bf16_fp8_gqa16_ps:s=300,0,65:splits=2:kvt=fp8:kvscale=3:dist=needles",
    "v1:k=aiter_bf16_fp8_gqa16_ps:s=1000:q=4:splits=8:kvt=fp8:kvscale=0.5",
    "v1:k=aiter_bf16_fp8_gqa16_ps:s=4200,64:splits=64:kvt=fp8:kvscale=0.001:dist=small_normal",
    // Slack of the tables.
    "v1:k=aiter_fp8_gqa16_ps:s=200,100:splits=2:start=3:qt=fp8:kvt=fp8:dist=needles",
};

constexpr Suite kOwnSuites[] = {
    {"smoke", "small cases of every axis: heads, query tokens, pages, splits, layouts, schedules",
     kSmoke},
    {"ragged", "one batch from 1 to 327600 tokens, in full size", kRagged},
    {"prefix_boundary", "around the end of a shared prefix of 308736 tokens, in full size",
     kPrefixBoundary},
    {"trajectories",
     "a batch over many launches in the same memory: graphs, reused pages, left workspaces",
     kTrajectories},
    {"fp8",
     "q and the cache in fp8: storages, descale factors, P that is rounded to 0; taken by none but "
     "adapters for code objects of others: give them with --code-object",
     kFp8, true},
};

}  // namespace

std::span<const Suite> all_suites() {
  static const auto suites = [] {
    std::vector<Suite> list(std::begin(kOwnSuites), std::end(kOwnSuites));
    list.push_back({"external", "adapters for code objects of others: give them with --code-object",
                    external_suite(), true});
    list.push_back({"golden",
                    "small cases of every kernel and distribution: those of the golden "
                    "values in golden/",
                    golden_suite(), true});
    return list;
  }();
  return suites;
}

const Suite* find_suite(std::string_view name) {
  const auto suites = all_suites();
  const auto found = std::find_if(suites.begin(), suites.end(),
                                  [&](const Suite& suite) { return suite.name == name; });
  return found == suites.end() ? nullptr : &*found;
}

}  // namespace attest
