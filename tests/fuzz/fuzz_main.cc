// The libFuzzer program: FUZZ_TARGET=NAME fuzz [LIBFUZZER ARGUMENT…]; `tools/fuzz` runs it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.h"

namespace {
const berth::fuzz::Target* g_target = nullptr;
}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("FUZZ_TARGET");
  g_target = name == nullptr ? nullptr : berth::fuzz::FindTarget(name);
  if (g_target != nullptr) return 0;
  std::fputs("set FUZZ_TARGET to one of:", stderr);
  for (const berth::fuzz::Target& target : berth::fuzz::Targets()) {
    std::fprintf(stderr, " %s", target.name);
  }
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  g_target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
