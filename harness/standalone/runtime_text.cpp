#include "harness/standalone/runtime_text.hpp"

namespace attest {

const std::string_view kRuntimeText = R"text(#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

extern "C" {
// HIP's module API, as hip/hip_runtime_api.h declares it.
int hipModuleLoad(void** module, const char* path);
int hipModuleGetFunction(void** function, void* module, const char* name);
int hipMalloc(void** address, std::size_t bytes);
int hipFree(void* address);
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int hipMemsetD16(void* to, unsigned short value, std::size_t count);
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_lds_bytes, void* stream, void** values, void** extra);
int hipDeviceSynchronize();
const char* hipGetErrorString(int error);
// Only attest's emulator has these: the order in which workgroups run, and a name for the
// next buffer.
__attribute__((weak)) void attest_set_schedule(const char* text);
__attribute__((weak)) void attest_name_next(const char* name);
}

namespace repro {

[[maybe_unused]] constexpr double kInfinity = std::numeric_limits<double>::infinity();
[[maybe_unused]] constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
int checked = 0, wrong = 0, as_seen = 0;
void* the_stream = nullptr;

void need(int error, const char* call) {
  if (error == 0) return;
  std::fprintf(stderr, "%s: error %d: %s\n", call, error, hipGetErrorString(error));
  std::exit(2);
}

// Errors from 700 on are a kernel's own: a bad access, a time-out, a failed launch.
void need_kernel(int error, const char* call) {
  if (error < 700) return need(error, call);
  std::printf("the kernel stopped; %s: error %d: %s\n%s\n", call, error, hipGetErrorString(error),
              kStops ? "FAILS as recorded" : "FAILS, but not as recorded: the kernel stopped");
  std::exit(1);
}

struct Buffer {
  const char* name;
  std::size_t bytes;
  unsigned short fill;  // what it holds, and the guard zones on both sides, until
                        // something is written
  unsigned char* base = nullptr;
  unsigned char* at(std::size_t offset) const { return base + kGuardBytes + offset; }
};

void fill(const Buffer& b, std::size_t offset, std::size_t values, unsigned short value) {
  need(hipMemsetD16(b.at(offset), value, values), "hipMemsetD16");
}

void allocate(Buffer& b) {
  if (attest_name_next) attest_name_next(b.name);
  void* address = nullptr;
  need(hipMalloc(&address, b.bytes + 2 * kGuardBytes), "hipMalloc");
  b.base = static_cast<unsigned char*>(address);
  need(hipMemsetD16(b.base, b.fill, (b.bytes + 2 * kGuardBytes) / 2), "hipMemsetD16");
}

void release(Buffer& b) { need(hipFree(b.base), "hipFree"); }

void upload(const Buffer& b, std::size_t offset, const void* from, std::size_t bytes) {
  need(hipMemcpy(b.at(offset), from, bytes, 1), "hipMemcpy to the device");
}

void download(const Buffer& b, std::ptrdiff_t offset, void* to, std::size_t bytes) {
  need(hipMemcpy(to, b.at(0) + offset, bytes, 2), "hipMemcpy from the device");
}

void set_schedule(const char* text) {
  if (attest_set_schedule) attest_set_schedule(text);
}

struct Pointer {
  std::size_t at;  // byte of the argument
  const unsigned char* address;
};

// One kernel argument: its bytes as 32-bit words, and the addresses that some of them
// are.
struct Argument {
  Argument(std::initializer_list<std::uint32_t> words, std::initializer_list<Pointer> pointers)
      : words(words) {
    for (const Pointer& p : pointers)
      std::memcpy(reinterpret_cast<unsigned char*>(this->words.data()) + p.at, &p.address, 8);
  }
  std::vector<std::uint32_t> words;
};

struct Size {
  unsigned x, y, z;
};

void launch(void* module, const char* kernel, Size grid, Size block, unsigned dynamic_lds_bytes,
            std::vector<Argument> arguments) {
  void* function = nullptr;
  need(hipModuleGetFunction(&function, module, kernel), kernel);
  std::vector<void*> values;
  for (Argument& a : arguments) values.push_back(a.words.data());
  need_kernel(hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                    dynamic_lds_bytes, the_stream, values.data(), nullptr),
              kernel);
}

void synchronize() { need_kernel(hipDeviceSynchronize(), "hipDeviceSynchronize"); }

// The bits of a bf16 (2 bytes) or an fp32 (4).
std::uint32_t bits(const Buffer& b, std::size_t offset, int bytes) {
  std::uint32_t word = 0;
  download(b, static_cast<std::ptrdiff_t>(offset), &word, static_cast<std::size_t>(bytes));
  return word;
}

double value(std::uint32_t bits, int bytes) {
  const std::uint32_t word = bytes == 2 ? bits << 16 : bits;
  float x = 0;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

std::uint32_t unwritten(const Buffer& b, int bytes) {
  return bytes == 2 ? b.fill : b.fill * 0x10001u;
}

void count(bool is_right, bool is_as_seen) {
  ++checked;
  wrong += !is_right;
  as_seen += is_as_seen;
}

// Right when its stored value is in [low, high]: expected +- bound, rounded to its
// format. `seen`: what attest saw.
void within(const Buffer& b, std::size_t offset, int bytes, const char* element, double expected,
            double bound, double low, double high, std::uint32_t seen) {
  const std::uint32_t now = bits(b, offset, bytes);
  const double x = value(now, bytes);
  const bool is_right = low <= x && x <= high;  // false for a NaN
  std::printf("%s = %.9g (0x%0*x), expected %.9g +- %.3g, accepted as stored %.9g .. %.9g: %s\n",
              element, x, 2 * bytes, now, expected, bound, low, high,
              is_right           ? "ok"
              : now == unwritten(b, bytes) ? "NEVER WRITTEN"
                                 : "WRONG");
  count(is_right, now == seen);
}

// Right when it still holds `wanted`.
void untouched(const Buffer& b, std::size_t offset, int bytes, const char* element,
               std::uint32_t wanted, std::uint32_t seen) {
  const std::uint32_t now = bits(b, offset, bytes);
  std::printf("%s = 0x%0*x, expected 0x%0*x, which nothing may change: %s\n", element, 2 * bytes,
              now, 2 * bytes, wanted, now == wanted ? "ok" : "CHANGED");
  count(now == wanted, now == seen);
}

// Right when it is a number.
void finite(const Buffer& b, std::size_t offset, int bytes, const char* element,
            std::uint32_t seen) {
  const std::uint32_t now = bits(b, offset, bytes);
  const bool is_right = std::isfinite(value(now, bytes));
  std::printf("%s = %.9g (0x%0*x), expected a number: %s\n", element, value(now, bytes), 2 * bytes,
              now, is_right ? "ok" : "WRONG");
  count(is_right, now == seen);
}

// Right when somebody wrote it.
void written(const Buffer& b, std::size_t offset, int bytes, const char* element,
             std::uint32_t seen) {
  const std::uint32_t now = bits(b, offset, bytes);
  const bool is_right = now != unwritten(b, bytes);
  std::printf("%s = %.9g (0x%0*x): %s\n", element, value(now, bytes), 2 * bytes, now,
              is_right ? "ok" : "NEVER WRITTEN");
  count(is_right, now == seen);
}

// Right when it holds the bits that `other` had, of an earlier launch.
void same(const Buffer& b, std::size_t offset, int bytes, const char* element, std::uint32_t other,
          std::uint32_t seen, std::uint32_t seen_other) {
  const std::uint32_t now = bits(b, offset, bytes);
  std::printf("%s = %.9g (0x%0*x), expected the bits of the other launch, %.9g (0x%0*x): %s\n",
              element, value(now, bytes), 2 * bytes, now, value(other, bytes), 2 * bytes, other,
              now == other ? "ok" : "DIFFERS");
  count(now == other, now == seen && other == seen_other);
}

// Right when it is what `other` was, of an earlier launch, plus `shift`, within `bound`.
void near(const Buffer& b, std::size_t offset, int bytes, const char* element, std::uint32_t other,
          double shift, double bound, std::uint32_t seen, std::uint32_t seen_other) {
  const std::uint32_t now = bits(b, offset, bytes);
  const double x = value(now, bytes), expected = value(other, bytes) + shift;
  const bool is_right = std::fabs(x - expected) <= bound;  // false for a NaN
  std::printf("%s = %.9g (0x%0*x), expected %.9g +- %.3g by the other launch: %s\n", element, x,
              2 * bytes, now, expected, bound, is_right ? "ok" : "WRONG");
  count(is_right, now == seen && other == seen_other);
}

// Right when both guard zones hold the buffer's pattern.
void guards_are_whole(const Buffer& b) {
  std::vector<unsigned char> zone(kGuardBytes);
  for (const std::ptrdiff_t begin :
       {-static_cast<std::ptrdiff_t>(kGuardBytes), static_cast<std::ptrdiff_t>(b.bytes)}) {
    download(b, begin, zone.data(), zone.size());
    std::size_t first = 0;
    while (first < zone.size() &&
           zone[first] == (((begin + first) & 1) ? b.fill >> 8 : b.fill & 0xff))
      ++first;
    const bool is_whole = first == zone.size();
    std::printf("guard zone %s %s: %s", begin < 0 ? "before" : "after", b.name,
                is_whole ? "ok\n" : "");
    if (!is_whole)
      std::printf("WRITTEN, first at byte %td of the buffer\n",
                  begin + static_cast<std::ptrdiff_t>(first));
    count(is_whole, true);
  }
}

int finish() {
  std::printf("%d of %d checks fail\n", wrong, checked);
  if (kStops && wrong == 0) {
    std::printf("PASSES: the kernel runs to its end\n");
    return 0;
  }
  if (wrong == 0) {
    std::printf("PASSES\n");
    return 0;
  }
  if (as_seen == checked) {
    std::printf("FAILS as recorded\n");
  } else {
    std::printf("FAILS, but not as recorded: %d of %d hold the bits that attest saw\n", as_seen,
                checked);
  }
  return 1;
}
)text";

const std::string_view kGraphText = R"text(
}  // namespace repro

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamEndCapture(void* stream, void** graph);
int hipGraphInstantiate(void** instance, void* graph, void** node, char* log,
                        std::size_t log_bytes);
int hipGraphLaunch(void* instance, void* stream);
}

namespace repro {

void begin_capture() {
  if (!the_stream) need(hipStreamCreate(&the_stream), "hipStreamCreate");
  need(hipStreamBeginCapture(the_stream, 0), "hipStreamBeginCapture");
}

void* end_capture() {
  void* graph = nullptr;
  void* instance = nullptr;
  need(hipStreamEndCapture(the_stream, &graph), "hipStreamEndCapture");
  need(hipGraphInstantiate(&instance, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
  return instance;
}

void replay(void* graph) { need_kernel(hipGraphLaunch(graph, the_stream), "hipGraphLaunch"); }
)text";

const std::string_view kDataFileText = R"text(
std::string data_file = __FILE__ ".h5";

std::vector<unsigned char> stored(const char* name) {
  static const hid_t file = H5Fopen(data_file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = file < 0 ? -1 : H5Dopen2(file, name, H5P_DEFAULT);
  std::vector<unsigned char> bytes(set < 0 ? 0 : H5Dget_storage_size(set));
  if (set < 0 || H5Dread(set, H5Dget_type(set), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
    std::fprintf(stderr, "%s: no dataset %s can be read from it\n", data_file.c_str(), name);
    std::exit(2);
  }
  return bytes;
}

void upload(const Buffer& b, std::size_t offset, const std::vector<unsigned char>& bytes) {
  upload(b, offset, bytes.data(), bytes.size());
}
)text";

}  // namespace attest
