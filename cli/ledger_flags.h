// cli/ledger_flags.h — --ledger and its limits, of the commands that run the controllers.
//
// Threads: pure functions. Errors: kInvalid, with the flag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "ledger/ledger.h"

namespace berth::cli {

inline constexpr char kLedgerName[] = "ledger.db";  // in the data directory of `berth up`

struct LedgerFlags {
  std::optional<std::string> file;  // nullopt: the command's default; empty: none is written
  std::int64_t days = 90;
  std::int64_t megabytes = 256;
  bool users = false;  // records on the job and in the ledger who made the job
};

// nullopt: no ledger. `usual`: the file if the flags name none; empty: no ledger.
Result<std::optional<ledger::LedgerOptions>> LedgerOptionsOf(const LedgerFlags& flags,
                                                             const std::string& usual);

}  // namespace berth::cli
