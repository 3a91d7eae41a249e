// cli/workload_source.h — the workload of `berth simulate`: a trace, a ledger, or a generator.
//
// Threads: one. Errors: those of the readers, with the file; kNotFound: the file cannot be read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulation/generator.h"
#include "simulation/trace.h"

namespace berth::cli {

class WorkloadSource {
 public:
  // "-" is standard input. `mapped`: ORIGIN=QUEUE, the LocalQueue of jobs that name none, by their
  // TraceJob::origin, else by their TraceJob::user; kInvalid: an entry without "=".
  static Result<WorkloadSource> Read(const std::string& path,
                                     const std::vector<std::string>& mapped);

  // Whether the jobs depend on the seed.
  bool is_generated() const { return !sources_.empty(); }
  Result<std::shared_ptr<const simulation::Trace>> Make(std::uint64_t seed) const;

 private:
  std::shared_ptr<const simulation::Trace> trace_;  // null: there are sources
  std::vector<simulation::JobSource> sources_;      // not empty: in place of the trace
};

}  // namespace berth::cli
