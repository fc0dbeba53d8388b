# Stage 2 leaves the row of query token 0, head 0 unwritten.
# file: kernels/mla_decode/stage2.hpp
s/if (!query.exists) return;/if (!query.exists || query.token + head == 0) return;/
