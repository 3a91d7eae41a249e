#include "tests/local/apiserver/costs/operation_count.h"

#include <cstdlib>
#include <new>

#if defined(__clang__)
#define BERTH_NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define BERTH_NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif

namespace {

constexpr std::size_t kBytesOfAnOperation = 16;

std::uint64_t operations = 0;
std::uint64_t bytes = 0;

}  // namespace

// Called at each basic block: the name is the compiler's.
// NOLINTNEXTLINE(readability-identifier-naming, bugprone-reserved-identifier)
extern "C" BERTH_NOT_COUNTED void __sanitizer_cov_trace_pc() { ++operations; }

BERTH_NOT_COUNTED void* operator new(std::size_t size) {
  bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
BERTH_NOT_COUNTED void operator delete(void* memory) noexcept { std::free(memory); }
BERTH_NOT_COUNTED void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace berth {

std::uint64_t CountOperations(const std::function<void()>& call) {
  const std::uint64_t operations_before = operations;
  const std::uint64_t bytes_before = bytes;
  call();
  return operations - operations_before + (bytes - bytes_before) / kBytesOfAnOperation;
}

}  // namespace berth
