// ledger/ledger_reader.h — reads a ledger's file, also while a controller writes the file.
//
// Threads: none. Errors: kNotFound (no such file), kForbidden (a newer schema, no ledger),
// kInvalid (damaged), kUnavailable (the disk, permissions).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sqlite/sqlite.h"
#include "ledger/records.h"

namespace berth::ledger {

// Which attempts and requests are read. Empty fields select everything.
struct HistoryFilter {
  std::optional<Seconds> since;  // what had not ended at this time
  std::vector<std::string> namespaces;
  std::string owner_kind;  // in any case; "workload": `name` is that of the Workload
  std::string name;        // the name of the owner, or of the Workload where owner_kind is empty
  std::string queue;       // a LocalQueue or a ClusterQueue
  std::string workload;    // the Workload's name, for requests and the time of nodes; empty: all
};

class LedgerReader {
 public:
  static Result<LedgerReader> Open(const std::string& path);

  // In the order of queueing, with resources and waits.
  Result<std::vector<AttemptRecord>> Attempts(const HistoryFilter& filter);
  // Gives them to `visit` one by one, in the order of uids and numbers: what has to be kept at once
  // is one attempt.
  Status EachAttempt(const HistoryFilter& filter,
                     const std::function<void(const AttemptRecord&)>& visit);
  // The number of these attempts.
  Result<std::int64_t> CountAttempts(const HistoryFilter& filter);
  // In the order of creation. The filter's `since` and `namespaces` count, its other fields do not.
  Result<std::vector<CapacityRecord>> Requests(const HistoryFilter& filter);
  // In the order of their beginnings. The filter's `since` and `namespaces` count, its other fields
  // do not. A file that no berth has migrated yet has none.
  Result<std::vector<NodeTimeRecord>> NodeTimes(const HistoryFilter& filter);
  // Returns prices in the order of flavors and times; a file that no berth has migrated yet has
  // none.
  Result<std::vector<PriceRecord>> Prices();
  // Namespace and name of a Workload; nullopt: the ledger has no such uid.
  Result<std::optional<std::string>> NameOf(const std::string& uid);

 private:
  LedgerReader(Sqlite sqlite, std::int64_t version)
      : sqlite_(std::move(sqlite)), version_(version) {}

  Sqlite sqlite_;
  std::int64_t version_;  // the version of the file's schema
};

}  // namespace berth::ledger
