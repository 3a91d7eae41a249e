// cli/ledger_parser.h — history, report, and the flags of the ledger on the command line of berth.
#pragma once

#include "cli/history.h"

namespace CLI {
class App;
}

namespace berth::cli {

// The flags that the parser fills; they must outlive it.
struct LedgerCommandFlags {
  HistoryFlags history;
  ReportFlags report;
};

// Adds history and report to `app`.
void AddLedgerCommands(CLI::App& app, LedgerCommandFlags& flags, int& exit_code);

// Adds --ledger and its limits. `usual`: the file where none is given, in words.
void AddLedgerFlags(CLI::App& command, LedgerFlags& flags, const char* usual);

}  // namespace berth::cli
