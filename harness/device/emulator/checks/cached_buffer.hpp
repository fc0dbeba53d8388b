// One buffer as memory and the L2 caches of eight XCDs hold it. Bytes that an XCD has stored or
// loaded have a copy of their own for it, at an address of its own; which of its bytes it has,
// which of those memory lacks, and which are older than the last store are bits of its line.
#pragma once
#include <array>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {

// Source: AMD, "CDNA 3 architecture" white paper: eight XCDs in an MI300X, each with an L2 of
// 128-byte lines.
inline constexpr int kXcds = 8, kLineBytes = 128;
__extension__ typedef unsigned __int128 LineBits;  // a bit a byte

// A load that gets less than the last store of this launch.
struct Stale {
  enum class Why : u8 {
    kNotWrittenBack,  // the last store is in its XCD's L2 alone
    kOverwritten,     // it was in memory, until an older store of another XCD was written back
    kCachedBefore,    // it is in memory; this XCD's line is older
    kOwnStore,        // this XCD's own older store, not written back, is in the way
  };
  bool found = false;
  Why why = Why::kNotWrittenBack;
  // This XCD stored to these bytes too, and the value that it gets is that of the last store.
  bool same_value = false;
  u64 offset = 0;  // of the first stale byte
  u32 store = 0;   // the number that the last store came with
  int xcd = 0;     // and its XCD
};

class CachedBuffer {
 public:
  // No page is touched before an access. Throws bad_alloc when there are no addresses for it.
  explicit CachedBuffer(const Buffer& buffer);
  ~CachedBuffer();
  CachedBuffer(const CachedBuffer&) = delete;
  CachedBuffer& operator=(const CachedBuffer&) = delete;

  // Where an access of an XCD to [offset, offset + bytes), at most 64 bytes, finds its bytes. Each
  // is told before it happens. Coherent: at agent scope or wider. `store`: below 2^29, a number
  // that Stale gives back.
  u64 load(int xcd, u64 offset, int bytes, Stale* stale);
  // A load that is as one of memory, and of lines that the XCD has loaded before.
  bool is_plain(int xcd, u64 offset, int bytes) const {
    const auto plain = [&](u64 at) {
      const Line& line = lines_[at / kLineBytes];
      return !line.mirrored && (line.held >> xcd & 1);
    };
    return plain(offset) && plain(offset + static_cast<u64>(bytes) - 1);
  }
  u64 load_coherent(int xcd, u64 offset, int bytes, Stale* stale);
  u64 store(int xcd, u64 offset, int bytes, u32 store);
  u64 store_coherent(int xcd, u64 offset, int bytes, u32 store);
  u64 atomic(int xcd, u64 offset, int bytes, u32 store, Stale* stale);

  void write_back(int xcd);  // release: what it stored reaches memory
  void invalidate(int xcd);  // acquire: what it only loaded is dropped
  void end_launch();         // all of it is in memory, nothing is cached

 private:
  struct Line {
    u8 held;        // bit x: XCD x has bytes of it
    bool mirrored;  // those XCDs have copies; else all that is held equals memory
  };
  struct alignas(64) Held {  // of one line and XCD
    LineBits valid, dirty;
    LineBits outdated;  // of the valid: another XCD has stored since
    LineBits stored;    // by this XCD in this launch
  };
  struct Part {  // of an access, in one line
    u32 line;
    LineBits bits;
  };
  struct Parts {
    std::array<Part, 2> part;
    int count;
    const Part* begin() const { return part.data(); }
    const Part* end() const { return part.data() + count; }
  };

  static Parts parts_of(u64 offset, int bytes);
  Held& held(int xcd, u32 line) {
    return held_[static_cast<std::size_t>(xcd) * lines_count_ + line];
  }
  u8* copy(int xcd, u32 line) {
    return copies_ + static_cast<std::size_t>(xcd) * padded_ + std::size_t{line} * kLineBytes;
  }
  u8* memory(u32 line) const { return memory_ + std::size_t{line} * kLineBytes; }

  void hold(int xcd, u32 line);
  void mirror(u32 line);
  void fill(int xcd, u32 line, LineBits bits);
  void write_back(u32 line, int xcd, LineBits bits);
  void stored(int xcd, const Part& part, u32 store);
  void in_memory(int xcd, const Part& part, u32 store);
  // `got`: the line that the load reads.
  void note(int xcd, const Part& part, LineBits outdated, const u8* got, Stale* stale);
  bool same_value(int xcd, u32 line, LineBits bits, int last, const u8* got);

  u8* memory_;
  std::size_t padded_, lines_count_;  // of the buffer, in whole lines
  void* map_ = nullptr;               // one piece of lazy zeros; the pointers below are into it
  std::size_t map_bytes_ = 0;
  u8* copies_ = nullptr;                 // [xcd][byte]
  Held* held_ = nullptr;                 // [xcd][line]
  LineBits* memory_outdated_ = nullptr;  // [line]: memory lacks the last store
  u32* last_ = nullptr;                  // [dword]: number and XCD of its last store
  Line* lines_ = nullptr;                // [line]
  std::array<std::vector<u32>, kXcds> held_lines_, dirty_lines_;  // may hold one that is no more
  bool touched_ = false;
};

}  // namespace attest::emulator
