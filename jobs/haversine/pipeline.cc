#include "jobs/haversine/pipeline.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace berth::haversine {
namespace {

class Pipeline {
 public:
  Pipeline(Source& source, const PipelineOptions& options) : source_(source), options_(options) {
    const std::uint64_t batches = std::max<std::uint64_t>(1, source.batch_count());
    // The last batch may be short: the full batches alone have to reach the number.
    const std::uint64_t full = std::max<std::uint64_t>(1, batches - 1);
    check_rows_per_batch_ = static_cast<std::size_t>((options.check_rows + full - 1) / full);
  }

  void Work(Device& device) {
    Batch batch(device.memory());
    Values km(device.memory());
    while (true) {
      batch.counts = {};
      batch.lines = 0;
      batch.first_bad = {};
      std::uint64_t turn = 0;
      Status status = OkStatus();
      {
        const std::lock_guard lock(take_mutex_);
        if (exhausted_) return;
        const auto taken = source_.Take(batch);
        if (!taken) status = taken.error();
        exhausted_ = !taken || !*taken;
        if (taken && !*taken) return;
        turn = next_turn_++;
      }
      Result<Summary> summary =
          status ? DecodeAndCompute(device, batch, km) : Result<Summary>(status.error());
      const CheckReport check =
          summary ? CheckRows(batch.trips, km, check_rows_per_batch_) : CheckReport();
      if (!Deliver(turn, batch, km, summary, check)) return;
    }
  }

  Result<Outcome> Finish() {
    if (error_) return *error_;
    if (outcome_.first_bad.line != 0) outcome_.first_bad.line += source_.header_lines();
    return outcome_;
  }

 private:
  Result<Summary> DecodeAndCompute(Device& device, Batch& batch, Values& km) const {
    // Memory that grows step by step is slow where a device provides it. CSV: no number is known.
    batch.trips.Reserve(batch.row_count > 0 ? batch.row_count : kBatchRows);
    BERTH_CHECK_OK(source_.Decode(batch));
    const bool wanted = options_.write_distances || check_rows_per_batch_ > 0;
    return device.Compute(batch.trips, wanted ? &km : nullptr);
  }

  // Waits for this batch's turn. False: stop, because this batch or an earlier one failed.
  bool Deliver(std::uint64_t turn, const Batch& batch, std::span<const double> km,
               const Result<Summary>& summary, const CheckReport& check) {
    std::unique_lock lock(add_mutex_);
    turn_changed_.wait(lock, [&] { return error_ || current_turn_ == turn; });
    if (error_) return false;
    Status status = OkStatus();
    if (!summary) {
      status = summary.error();
    } else if (options_.write_distances) {
      status = options_.write_distances(km);
    }
    if (!status) {
      error_ = status.error();
      turn_changed_.notify_all();
      const std::lock_guard take_lock(take_mutex_);
      exhausted_ = true;
      return false;
    }
    if (outcome_.first_bad.line == 0 && batch.first_bad.line != 0) {
      outcome_.first_bad = {lines_ + batch.first_bad.line, batch.first_bad.what};
    }
    lines_ += batch.lines;
    outcome_.counts.Add(batch.counts);
    outcome_.summary.Add(*summary);
    outcome_.check.Add(check);
    ++current_turn_;
    if (options_.on_progress) {
      options_.on_progress({outcome_.counts.read, source_.Fraction(current_turn_)});
    }
    turn_changed_.notify_all();
    return true;
  }

  Source& source_;
  const PipelineOptions& options_;
  std::size_t check_rows_per_batch_ = 0;

  std::mutex take_mutex_;  // guards the source and the two members below
  bool exhausted_ = false;
  std::uint64_t next_turn_ = 0;

  std::mutex add_mutex_;  // guards all below; locked before take_mutex_
  std::condition_variable turn_changed_;
  std::uint64_t current_turn_ = 0;
  std::uint64_t lines_ = 0;
  std::optional<Error> error_;
  Outcome outcome_;
};

}  // namespace

Result<Outcome> RunPipeline(Source& source, DeviceSet& devices, const PipelineOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  Pipeline pipeline(source, options);
  {
    std::vector<std::jthread> workers;
    for (const auto& device : devices.devices) {
      workers.emplace_back([&pipeline, &device] { pipeline.Work(*device); });
    }
  }
  BERTH_TRY(auto outcome, pipeline.Finish());
  outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return outcome;
}

}  // namespace berth::haversine
