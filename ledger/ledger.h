// ledger/ledger.h — the history of Workloads, requests and nodes, written in the background: Append
// puts a record into a bounded queue, and a thread of the ledger writes the queue to the file, one
// batch per second.
//
//     controllers ── Append ─▶ queue (bounded; full: drops and counts) ─▶ thread ─▶ FILE
//
// No decision waits for the ledger or depends on the ledger. An error of the disk loses the batch,
// is logged, and is counted. A file that turns out damaged is set aside, and a new one begun.
//
// Threads: Append, Flush and stats may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "ledger/ledger_file.h"
#include "ledger/records.h"

namespace berth::ledger {

struct LedgerOptions {
  std::string path;
  Limits limits;
  std::size_t queue = 65'536;                      // records that wait at most
  Duration batch_every = std::chrono::seconds(1);  // a batch is written this long after its first
                                                   // record, or when kBatch records wait
  Duration trim_every = std::chrono::minutes(1);   // also the longest time between two writes
};

struct LedgerStats {
  std::int64_t written = 0;    // records that the file has
  std::int64_t changed = 0;    // records among them that changed the file
  std::size_t queued = 0;      // records that wait
  Duration lag{};              // age of the oldest queued record, also in the batch being written
  std::int64_t bytes = 0;      // pages of the file in use, at the last write
  std::int64_t dropped = 0;    // the queue was full, the disk failed, or the file is too large
  std::int64_t overflows = 0;  // the part of `dropped` for which the queue was full
};

class Ledger {
 public:
  // Opens or creates the file. `clock` must outlive the ledger. Errors: as LedgerFile::Open.
  static Result<std::unique_ptr<Ledger>> Open(const Clock& clock, LedgerOptions options);
  virtual ~Ledger() = default;  // writes what is queued, then closes the file

  virtual void Append(Record record) = 0;
  // Waits until every record appended before is written or dropped.
  virtual void Flush() = 0;
  // Ends without writing the queued records, as a crash does. For tests.
  virtual void Abandon() = 0;
  virtual LedgerStats stats() const = 0;
  virtual std::size_t queue_size() const = 0;  // LedgerOptions::queue
};

}  // namespace berth::ledger
