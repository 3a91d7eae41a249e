// cli/history_commands.h — berth history and berth report: read the ledger's file, need no API
// server.
#pragma once

#include <string>

#include "cli/client_flags.h"

namespace berth::cli {

// Chooses the ledger's file: `ledger`, else ledger.db in `data_dir`, else ledger.db beside the
// kubeconfig that `berth up` has written (--kubeconfig, KUBECONFIG), else ledger.db in the usual
// data directory.
struct LedgerPlace {
  std::string ledger;
  std::string data_dir;
  std::string kubeconfig;
};

// The ledger in the folder of a kubeconfig; an empty `kubeconfig` stands for the one of KUBECONFIG.
// Returns "" if there is no ledger.
std::string LedgerBeside(const std::string& kubeconfig);

struct HistoryFlags {
  LedgerPlace place;
  std::string reference;  // job/x, KIND/x, workload/x, queue/x, x; empty: everything
  std::string since;      // "7d", "12h"; empty: everything that the ledger has
  std::string namespace_name;
  view::OutputFormat output = view::OutputFormat::kText;
  bool ascii = false;
};
int RunHistory(const HistoryFlags& flags);

struct ReportFlags {
  LedgerPlace place;
  std::string by =
      "queue";  // queue, clusterqueue, namespace, priority, cause, preemptor, team, label=KEY
  std::string since = "30d";
  std::string namespace_name;
  std::string output = "table";  // table, json, csv, html
};
int RunReport(const ReportFlags& flags);

}  // namespace berth::cli
