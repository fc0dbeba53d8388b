# The accumulator keeps its old scale when the running max moves.
# file: kernels/mla_decode/online_softmax.hpp
s/if (gpu::wave_any(moved)) {/if (false) {/
