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
  std::optional<Seconds> since;  // selects records that had not ended at this time
  std::vector<std::string> namespaces;
  std::string owner_kind;  // in upper or lower case; "workload": `name` is the Workload's name
  std::string name;        // the name of the owner, or of the Workload where owner_kind is empty
  std::string queue;       // a LocalQueue or a ClusterQueue
  std::string workload;    // the Workload's name, for requests and the time of nodes; empty: all
};

class LedgerReader {
 public:
  static Result<LedgerReader> Open(const std::string& path);

  // Returns the attempts in the order of queueing, with resources and waits.
  Result<std::vector<AttemptRecord>> Attempts(const HistoryFilter& filter);
  // Gives the attempts to `visit` one by one, in the order of uids and numbers, so that only one
  // attempt is in memory.
  Status EachAttempt(const HistoryFilter& filter,
                     const std::function<void(const AttemptRecord&)>& visit);
  // The number of attempts that the filter selects.
  Result<std::int64_t> CountAttempts(const HistoryFilter& filter);
  // Returns requests in the order of creation. The filter's `since` and `namespaces` count, its
  // other fields do not.
  Result<std::vector<CapacityRecord>> Requests(const HistoryFilter& filter);
  // Returns the times in the order of their beginnings. The filter's `since` and `namespaces`
  // count, its other fields do not. A file of an older schema, which only a writer migrates, has
  // none.
  Result<std::vector<NodeTimeRecord>> NodeTimes(const HistoryFilter& filter);
  // Returns prices in the order of flavors and times; a file of an older schema, which only a
  // writer migrates, has none.
  Result<std::vector<PriceRecord>> Prices();
  // Returns the quotas of a ClusterQueue, or of all if `cluster_queue` is empty, in the order of
  // queues, resources and times; a file of an older schema has none.
  Result<std::vector<QuotaRecord>> Quotas(const std::string& cluster_queue);
  // Returns samples that end after `since`, in the order of their lengths, times and pools; a file
  // of an older schema has none.
  Result<std::vector<PoolSampleRecord>> PoolSamples(Seconds since);
  // Namespace and name of a Workload; nullopt: the ledger has no such uid.
  Result<std::optional<std::string>> NameOf(const std::string& uid);

 private:
  LedgerReader(Sqlite sqlite, std::int64_t version)
      : sqlite_(std::move(sqlite)), version_(version) {}

  Sqlite sqlite_;
  std::int64_t version_;  // the version of the file's schema
};

}  // namespace berth::ledger
