#include "cli/philly_log.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;
using simulation::Trace;
using simulation::TraceJob;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr std::size_t kMostGpus = 1'000'000;  // the most GPUs of a job

// Line and column of a byte of the text.
Error AtByte(std::string_view text, std::size_t byte, const std::string& problem) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t begin = before.rfind('\n');
  const std::size_t column =
      begin == std::string_view::npos ? before.size() + 1 : before.size() - begin;
  return simulation::TraceError(line, column, problem);
}

class PhillyReader {
 public:
  explicit PhillyReader(std::string_view text) : text_(text) {}

  Result<Trace> Read() {
    // Two bytes of text a value at least: the size of the text bounds the values.
    const auto tree = api::ParseJson(text_, {.max_depth = 16, .max_values = 100'000'000});
    if (!tree) return AtByte(text_, ByteOf(tree.error().message), tree.error().message);
    if (!tree->is_array()) return AtByte(text_, 0, "expected a list of jobs");
    for (const Json& job : *tree) BERTH_CHECK_OK(AddJob(job));
    trace_.unit = simulation::TraceUnit::kJob;
    return std::move(trace_);
  }

 private:
  // The number at the end of "invalid JSON at byte 17"; the bytes count from 1.
  static std::size_t ByteOf(const std::string& message) {
    const auto byte = ParseInt64(message.substr(message.rfind(' ') + 1));
    return byte && *byte > 0 ? static_cast<std::size_t>(*byte) - 1 : 0;
  }

  // The job that is being read is looked for by its id, from the last one on.
  Error Wrong(const std::string& problem) const {
    return AtByte(text_, place_,
                  "job " + (id_.empty() ? std::to_string(number_) : id_) + ": " + problem);
  }

  std::optional<std::string> Text(const Json& object, const char* field) const {
    const auto found = object.find(field);
    if (found == object.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  }

  // nullopt: "None", null, or no such field.
  Result<std::optional<Duration>> Time(const Json& object, const char* field) const {
    const auto text = Text(object, field);
    if (!text || *text == "None" || text->empty()) return std::optional<Duration>();
    std::string stamp = *text;
    for (const char* zone : {" PST", " PDT"}) {
      if (stamp.ends_with(zone)) stamp.resize(stamp.size() - 4);
    }
    std::replace(stamp.begin(), stamp.end(), ' ', 'T');
    const auto time = ParseTime(stamp + "Z");
    if (!time || time->time_since_epoch() < Duration::zero() ||
        time->time_since_epoch() > simulation::kMaxTraceTime) {
      return Wrong(std::string(field) + ": \"" + *text +
                   "\" is no time such as 2017-10-07 01:11:39");
    }
    return std::optional<Duration>(time->time_since_epoch());
  }

  Status AddJob(const Json& object) {
    ++number_;
    id_.clear();
    if (!object.is_object()) return Wrong("expected an object");
    id_ = Text(object, "jobid").value_or("");
    const std::size_t found =
        id_.empty() ? std::string_view::npos : text_.find("\"" + id_ + "\"", place_);
    if (found != std::string_view::npos) place_ = found;
    BERTH_TRY(const std::optional<Duration> submitted, Time(object, "submitted_time"));
    if (!submitted) return Wrong("submitted_time: the field is missing");
    const auto attempts = object.find("attempts");
    if (attempts == object.end() || !attempts->is_array()) {
      return Wrong("attempts: expected a list");
    }
    TraceJob job;
    job.line = number_;
    job.submit = *submitted;
    job.origin = Text(object, "vc").value_or("");
    job.failed = Text(object, "status") == "Failed";
    std::vector<std::size_t> gpus;  // GPUs of each server in the largest attempt
    for (const Json& attempt : *attempts) BERTH_CHECK_OK(AddAttempt(attempt, job, gpus));
    if (job.run == Duration::zero() || gpus.empty()) {
      ++trace_.skipped;
      return OkStatus();
    }
    const bool even = std::all_of(gpus.begin(), gpus.end(),
                                  [&gpus](std::size_t each) { return each == gpus.front(); });
    std::size_t sum = 0;
    for (const std::size_t each : gpus) sum += each;
    job.pods = static_cast<std::int32_t>(even ? gpus.size() : sum);
    job.requests[kGpu] = static_cast<api::Amount>(even ? gpus.front() : 1);
    trace_.jobs.push_back(std::move(job));
    return OkStatus();
  }

  Status AddAttempt(const Json& attempt, TraceJob& job, std::vector<std::size_t>& gpus) const {
    if (!attempt.is_object()) return Wrong("attempts: expected objects");
    BERTH_TRY(const std::optional<Duration> begun, Time(attempt, "start_time"));
    BERTH_TRY(const std::optional<Duration> ended, Time(attempt, "end_time"));
    if (begun && ended && *ended > *begun) {
      job.run = std::min<Duration>(job.run + (*ended - *begun), simulation::kMaxTraceTime);
    }
    const auto detail = attempt.find("detail");
    if (detail == attempt.end() || !detail->is_array()) return OkStatus();
    std::vector<std::size_t> servers;
    std::size_t sum = 0;
    for (const Json& server : *detail) {
      const auto list = server.is_object() ? server.find("gpus") : server.end();
      if (!server.is_object() || list == server.end() || !list->is_array()) {
        return Wrong("attempts: detail: expected servers with lists of gpus");
      }
      if (list->empty()) continue;
      servers.push_back(list->size());
      sum += list->size();
    }
    if (sum > kMostGpus) return Wrong("attempts: more than a million GPUs");
    std::size_t most = 0;
    for (const std::size_t each : gpus) most += each;
    if (sum > most) gpus = std::move(servers);
    return OkStatus();
  }

  std::string_view text_;
  std::size_t place_ = 0;
  std::int64_t number_ = 0;
  std::string id_;
  Trace trace_;
};

}  // namespace

bool IsPhillyLog(std::string_view text) {
  const std::string_view trimmed = TrimSpace(text.substr(0, 4096));
  return !trimmed.empty() && trimmed.front() == '[' &&
         trimmed.find("\"attempts\"") != std::string_view::npos;
}

Result<Trace> ReadPhillyLog(std::string_view text) { return PhillyReader(text).Read(); }

}  // namespace berth::cli
