// tests/ledger/records.h — records for tests: a Workload with one attempt, times from 1000 on.
#pragma once

#include <string>

#include "ledger/records.h"

namespace berth::ledger::test {

// Pending since `queued`, for one GPU and two CPUs.
inline AttemptRecord Pending(const std::string& uid, Seconds queued = 1000,
                             std::int64_t number = 1) {
  return {.uid = uid,
          .attempt = number,
          .namespace_name = "team-a",
          .name = "job-" + uid,
          .owner_kind = "Job",
          .owner_name = uid,
          .local_queue = "main",
          .priority = 10,
          .labels = "team=vision,user=ann",
          .created = 1000,
          .queued = queued,
          .resources = {{"", "cpu", 2000}, {"", "nvidia.com/gpu", 1}},
          .waits = {{queued, "WaitingForQuota"}}};
}

inline AttemptRecord Admitted(const std::string& uid, Seconds queued, Seconds admitted,
                              std::int64_t number = 1) {
  AttemptRecord record = Pending(uid, queued, number);
  record.cluster_queue = "gpus";
  record.reserved = admitted;
  record.admitted = admitted;
  record.resources = {{"h100", "cpu", 2000}, {"h100", "nvidia.com/gpu", 1}};
  record.waits.clear();
  return record;
}

inline AttemptRecord Ended(AttemptRecord record, Seconds ended, const std::string& outcome,
                           const std::string& reason = "") {
  record.ended = ended;
  record.outcome = outcome;
  record.reason = reason;
  return record;
}

}  // namespace berth::ledger::test
