// ledger/ledger_file.h — the file of the ledger: schema, migrations, merging writes, retention.
//
//     attempt(uid, attempt, …)   resource(uid, attempt, flavor, …)   wait(uid, attempt, since, …)
//     capacity_request(uid, …)   node_time(id, …)   price(flavor, since, …)   meta(key, value)
//     pool_sample(span, since, pool, …)
//
// docs/guide/history.md describes the tables. Times are seconds since 1970.
//
// The file is private (0600). A damaged file is set aside as FILE.damaged, and a new one begun.
// Readers (ledger/ledger_reader.h) and a second writer may use the file at the same time.
//
// Threads: none. Errors: kForbidden (a newer schema, another program's database), kInvalid (damage
// found while writing), kUnavailable (the disk, permissions).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sqlite/sqlite.h"
#include "ledger/records.h"

namespace berth::ledger {

inline constexpr std::int64_t kSchemaVersion = 6;
inline constexpr std::int64_t kApplicationId = 0x424C4752;  // "BLGR", for file(1)

struct Limits {
  std::chrono::days age{90};                 // limits ended attempts and requests
  std::int64_t bytes = 256LL * 1024 * 1024;  // limits the pages in use
};

struct WriteCount {
  std::int64_t changed = 0;    // records that changed the file
  std::int64_t unchanged = 0;  // records whose content the file had
  std::int64_t refused = 0;    // new rows beyond the size limit
};

class LedgerFile {
 public:
  static Result<LedgerFile> Open(const std::string& path, const Limits& limits);
  LedgerFile(LedgerFile&&) = default;
  LedgerFile& operator=(LedgerFile&&) = delete;

  // Not empty: the file that Open has set aside, and the reason.
  const std::string& damage() const { return damage_; }

  // Writes all records in one transaction: all or none.
  Result<WriteCount> Write(const std::vector<Record>& records, Seconds now);
  // Removes what exceeds the limits. Ended attempts go first, the oldest first.
  Status Trim(Seconds now);
  // The pages that hold rows; the file may be larger until the next Trim.
  Result<std::int64_t> BytesInUse();
  // Folds the write-ahead log into the file.
  Status Close();

 private:
  LedgerFile(std::string path, const Limits& limits, Sqlite sqlite)
      : path_(std::move(path)), limits_(limits), sqlite_(std::move(sqlite)) {}

  static Result<LedgerFile> OpenSound(const std::string& path, const Limits& limits);
  Status Migrate();
  Status PrepareStatements();
  Status WriteAll(const std::vector<Record>& records, WriteCount& count);
  Status Take(const AttemptRecord& record, WriteCount& count);
  Status Take(const DeletedRecord& record, WriteCount& count);
  Status Take(const PresentWorkloads& record, WriteCount& count);
  Status Take(const CapacityRecord& record, WriteCount& count);
  Status Take(const PresentRequests& record, WriteCount& count);
  Status Take(const NodeTimeRecord& record, WriteCount& count);
  Status Take(const PriceRecord& record, WriteCount& count);
  Status Take(const QuotaRecord& record, WriteCount& count);
  Status Take(const PoolSampleRecord& record, WriteCount& count);
  Result<std::optional<AttemptRecord>> Known(const AttemptRecord& record);
  Result<bool> IsOfEarlierRow(const AttemptRecord& record);
  Status PutAttempt(const AttemptRecord& record);
  Result<bool> PutResources(const AttemptRecord& record, bool is_new);
  Result<bool> PutWait(const AttemptRecord& record);
  Seconds OldestAt(Seconds now) const { return now - std::chrono::seconds(limits_.age).count(); }
  Result<bool> IsTooLarge();
  Result<bool> RemoveOldest();
  Result<bool> RemoveOldestNodes();
  Status ThinSamples(Seconds now);

  std::string path_;
  Limits limits_;
  Sqlite sqlite_;
  std::string damage_;
  bool full_ = false;  // nothing is left to remove, and the file is too large
  Seconds last_write_ = 0;
  Seconds oldest_ = 0;  // records of attempts that ended earlier are not written
  Statement get_attempt_;
  Statement same_reservation_;
  Statement put_attempt_;
  Statement get_resources_;
  Statement clear_resources_;
  Statement put_resource_;
  Statement last_wait_;
  Statement put_wait_;
  Statement end_deleted_;
  Statement get_request_;
  Statement put_request_;
  Statement end_request_;
  Statement get_node_;
  Statement put_node_;
  Statement last_price_;
  Statement put_price_;
  Statement last_quota_;
  Statement put_quota_;
  Statement add_sample_;
  Statement put_last_write_;
};

}  // namespace berth::ledger
