#include "cli/server_flags.h"

#include <CLI/CLI.hpp>

#include "cli/completion.h"

namespace berth::cli {
namespace {

// `usual`: the file where none is given, in words.
void AddLedgerFlags(CLI::App& command, LedgerFlags& flags, const char* usual) {
  command.add_flag("--ledger-users", flags.users,
                   "note who made a job, in its annotation berth.dev/user and in the ledger");
  command
      .add_option("--ledger", flags.file,
                  std::string("history for berth history and berth report; empty writes none "
                              "(default: ") +
                      usual + ")")
      ->type_name(kFileValue);
  command
      .add_option("--ledger-maxage", flags.days,
                  "age at which records of ended workloads are deleted")
      ->type_name("DAYS")
      ->capture_default_str();
  command
      .add_option("--ledger-maxsize", flags.megabytes,
                  "size above which the oldest records are deleted")
      ->type_name("MEGABYTES")
      ->capture_default_str();
}

void AddEtaInterval(CLI::App& command, std::optional<std::string>& text, const char* usual) {
  command
      .add_option("--eta-interval", text,
                  std::string("how often the starts of waiting jobs are forecast, for berth status "
                              "and berth list; 0: never (default ") +
                      usual + ")")
      ->type_name("DURATION");
}

}  // namespace

void AddDecisionsFlag(CLI::App& command, std::string& decisions) {
  command
      .add_option("--decisions", decisions,
                  "kueue: Kueue's rules alone; berth: Berth's own rules, too; overrides "
                  "berth.decisions of the Configuration file")
      ->check(CLI::IsMember({"kueue", "berth"}));
}

void AddRecords(CLI::App& command, UpFlags& flags) {
  AddLedgerFlags(command, flags.ledger, "ledger.db in the data directory");
  AddEtaInterval(command, flags.eta_interval, "1m");
}

void AddRecords(CLI::App& command, ControllerFlags& flags) {
  AddLedgerFlags(command, flags.ledger, "none");
  AddEtaInterval(command, flags.eta_interval, "0");
}

}  // namespace berth::cli
