#include "fuzz/problems/golden_suite.hpp"

namespace attest {
namespace {

// Few rows each, since a row is 10 KB of a file: every kernel, every distribution, every regime;
// harness/golden_shipped_test.cpp says which. The values are those of the formula: what a kernel
// adds is its contract and where it has its seams.
constexpr std::string_view kGolden[] = {
    // Lengths: none, one, both sides of tiles and pages, several splits.
    "v1:k=mla_decode:h=1:s=0:splits=1",
    "v1:k=mla_decode:h=2:s=1:splits=1",
    "v1:k=mla_decode:h=1:s=0,1,15,16,17:page=16:splits=2",
    "v1:k=mla_decode:h=1:s=63,64,65:page=64:splits=2:dist=needles",
    "v1:k=mla_decode:h=1:s=127,128,129:splits=2:dist=needles",
    "v1:k=mla_decode:h=2:s=1000:page=64:splits=7:dist=needles",
    "v1:k=mla_decode:h=1:s=4200:page=16:splits=64",
    "v1:k=mla_decode:h=1:s=64x2:splits=256",
    // Query tokens and the causal diagonal, s_kv < s_q among them.
    "v1:k=mla_decode:h=1:s=65:q=2:page=16:splits=2:dist=needles",
    "v1:k=mla_decode:h=2:s=3:q=4:splits=1",
    "v1:k=mla_decode:h=1:s=130:q=8:splits=3",
    "v1:k=mla_decode:h=1:s=40,7:q=1,3:page=16:splits=2",
    // Where things are stored.
    "v1:k=mla_decode:h=1:s=64,70,129:page=64:splits=2:prefix=64:dist=needles",
    "v1:k=mla_decode:h=2:s=48:page=16:order=reversed:start=3:qpad=8:opad=8",
    "v1:k=mla_decode:h=1:s=90:page=16:splits=2:order=sequential:base=1000",
    // Scales.
    "v1:k=mla_decode:h=1:s=100:scale=-0.0625",
    "v1:k=mla_decode:h=1:s=100:scale=0",
    "v1:k=mla_decode:h=1:s=100:scale=0.25:dist=needles",
    // What the numbers are.
    "v1:k=mla_decode:h=1:s=200:page=16:splits=2:dist=small_normal",
    "v1:k=mla_decode:h=2:s=300:splits=2:dist=wide_logits",
    "v1:k=mla_decode:h=1:s=300:splits=2:dist=two_clusters",
    "v1:k=mla_decode:h=1:s=100:splits=2:dist=uniform_logits",
    "v1:k=mla_decode:h=1:s=777:page=16:splits=2:dist=census",
    "v1:k=mla_decode:h=2:s=500:splits=2:dist=monotone",
    "v1:k=mla_decode:h=1:s=500:splits=2:dist=decreasing",
    "v1:k=mla_decode:h=2:s=500:page=64:splits=2:dist=rescale_steps",
    "v1:k=mla_decode:h=2:s=300:splits=2:dist=huge_logits",
    "v1:k=mla_decode:h=2:s=300:splits=2:dist=very_negative",
    "v1:k=mla_decode:h=1:s=300:splits=2:dist=deep_spread",
    "v1:k=mla_decode:h=1:s=600:splits=2:dist=sink",
    "v1:k=mla_decode:h=1:s=100:splits=2:dist=ones",
    "v1:k=mla_decode:h=1:s=200:page=16:splits=2:dist=positive",
    "v1:k=mla_decode:h=1:s=129:splits=2:dist=alternating",
    "v1:k=mla_decode:h=1:s=200:page=64:splits=2:dist=column_scales",
    "v1:k=mla_decode:h=1:s=130:splits=2:dist=subnormal",
    "v1:k=mla_decode:h=2:s=65,64:q=2:page=16:splits=2:dist=head_distinct",
    "v1:k=mla_decode:h=1:s=256:page=64:splits=2:dist=periodic",
    "v1:k=mla_decode:h=2:s=100:splits=2:dist=one_hot",
    // The other partials.
    "v1:k=mla_decode_bf16_partials:h=1:s=0,1,129:q=2:page=16:splits=2",
    "v1:k=mla_decode_bf16_partials:h=2:s=1000:page=64:splits=8:dist=needles",
    // fp8, which no kernel takes that attest ships: q and the cache, and the cache alone, of
    // adapters that take 16 heads.
    "v1:k=aiter_fp8_gqa16_ps:s=200:splits=2:qt=fp8:kvt=fp8:qscale=0.3:kvscale=3:dist=needles",
    "v1:k=aiter_bf16_fp8_gqa16_ps:s=100:splits=2:kvt=fp8:kvscale=0.5",
};

}  // namespace

std::span<const std::string_view> golden_suite() { return kGolden; }

}  // namespace attest
