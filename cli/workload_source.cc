#include "cli/workload_source.h"

#include <map>
#include <utility>

#include "cli/generator_file.h"
#include "cli/ledger_workload.h"
#include "cli/philly_log.h"
#include "view/manifest_files.h"

namespace berth::cli {
namespace {

using simulation::Trace;

Result<Trace> ReadRecorded(const std::string& path, const std::string& text) {
  if (IsLedger(text)) return ReadLedgerWorkload(path);
  if (IsPhillyLog(text)) return ReadPhillyLog(text);
  return simulation::ReadTrace(simulation::FormatOf(path, text), text);
}

Status MapQueues(const std::vector<std::string>& mapped, Trace& trace) {
  std::map<std::string, std::string> queues;
  for (const std::string& entry : mapped) {
    const std::size_t sign = entry.rfind('=');
    if (sign == std::string::npos || sign + 1 == entry.size()) {
      return Error{ErrorCode::kInvalid, "--map \"" + entry + "\": write ORIGIN=QUEUE"};
    }
    queues[entry.substr(0, sign)] = entry.substr(sign + 1);
  }
  for (simulation::TraceJob& job : trace.jobs) {
    if (!job.queue.empty()) continue;
    auto found = queues.find(job.origin);
    if (found == queues.end()) found = queues.find(job.user);
    if (found != queues.end()) job.queue = found->second;
  }
  return OkStatus();
}

}  // namespace

Result<WorkloadSource> WorkloadSource::Read(const std::string& path,
                                            const std::vector<std::string>& mapped) {
  BERTH_TRY(const std::string text, view::ReadTextFile(path));
  WorkloadSource source;
  if (IsGenerator(text)) {
    auto sources = ReadGenerator(text);
    if (!sources) return Annotate(sources.error(), path);
    source.sources_ = *std::move(sources);
    return source;
  }
  auto trace = ReadRecorded(path, text);
  if (!trace) return Annotate(trace.error(), path);
  BERTH_CHECK_OK(MapQueues(mapped, *trace));
  source.trace_ = std::make_shared<const Trace>(*std::move(trace));
  return source;
}

Result<std::shared_ptr<const Trace>> WorkloadSource::Make(std::uint64_t seed) const {
  if (trace_ != nullptr) return trace_;
  BERTH_TRY(Trace made, simulation::GenerateTrace(sources_, seed));
  return std::shared_ptr<const Trace>(std::make_shared<Trace>(std::move(made)));
}

}  // namespace berth::cli
