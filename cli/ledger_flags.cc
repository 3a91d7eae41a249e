#include "cli/ledger_flags.h"

#include <filesystem>

namespace berth::cli {
namespace {

constexpr std::int64_t kMostDays = 3650;
constexpr std::int64_t kMostMegabytes = 100'000;
constexpr std::int64_t kMegabyte = 1024LL * 1024;

}  // namespace

Result<std::optional<ledger::LedgerOptions>> LedgerOptionsOf(const LedgerFlags& flags,
                                                             const std::string& usual) {
  const std::string file = flags.file.value_or(usual);
  if (flags.days < 1 || flags.days > kMostDays) {
    return Error{ErrorCode::kInvalid, "--ledger-maxage: write 1 to 3650 (days)"};
  }
  if (flags.megabytes < 1 || flags.megabytes > kMostMegabytes) {
    return Error{ErrorCode::kInvalid, "--ledger-maxsize: write 1 to 100000 (megabytes)"};
  }
  if (file.empty()) return std::optional<ledger::LedgerOptions>();
  ledger::LedgerOptions options;
  options.path = std::filesystem::absolute(file).string();
  options.limits.age = std::chrono::days(flags.days);
  options.limits.bytes = flags.megabytes * kMegabyte;
  return std::optional(std::move(options));
}

}  // namespace berth::cli
