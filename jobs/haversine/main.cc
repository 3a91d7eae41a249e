// The program: haversine on the processor, haversine-cuda also on a GPU.
#include <cstdio>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "jobs/haversine/device.h"
#include "jobs/haversine/http_reader.h"
#include "jobs/haversine/options.h"
#include "jobs/haversine/output_file.h"
#include "jobs/haversine/pipeline.h"
#include "jobs/haversine/range_reader.h"
#include "jobs/haversine/source.h"
#include "jobs/haversine/text_report.h"
#include "jobs/haversine/write_trips.h"

namespace berth::haversine {
namespace {

enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitCheckFailed = 3,
  kExitNoGpu = 77,  // test runners take this status for "skipped"
};

int Fail(const Error& error, ExitStatus status) {
  fmt::print(stderr, "haversine: {}\n", error.message);
  return status;
}

Result<std::unique_ptr<Source>> OpenSource(const Options& options) {
  if (options.generate) return MakeGenerator(options.generate_rows, options.seed);
  const std::string& input = options.input;
  const bool is_url = IsUrl(input);
  std::unique_ptr<RangeReader> reader;
  if (is_url) {
    HttpOptions http;
    http.deadline = std::chrono::seconds(options.http_deadline_seconds);
    BERTH_TRY(reader, OpenUrl(input, http));
  } else if (input.find("://") != std::string::npos) {
    return Error{ErrorCode::kInvalid, input + ": only http and https URLs are read"};
  } else {
    BERTH_TRY(reader, OpenFile(input));
  }
  const bool raw =
      options.format == InputFormat::kRaw || (options.format == InputFormat::kByName &&
                                              (input.ends_with(".raw") || input.ends_with(".f64")));
  if (raw) return OpenRaw(std::move(reader));
  ReadOptions read;
  if (is_url) {
    read = {options.http_parallel, static_cast<std::size_t>(options.http_piece_bytes)};
  }
  return OpenCsv(std::move(reader), read);
}

Result<DeviceSet> OpenDevices(const Options& options) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int workers = options.threads > 0 ? options.threads : cores;
  if (options.device != DeviceChoice::kCpu) {
    auto gpu = MakeGpuDevices(workers);
    if (gpu || options.device == DeviceChoice::kGpu) return gpu;
    if (!options.quiet) {
      fmt::print(stderr, "haversine: computing on the CPU: {}\n", gpu.error().message);
    }
  }
  return MakeCpuDevices(workers);
}

int WriteTrips(const Options& options, Source& source, ProgressWriter& progress) {
  const auto show = [&progress](const Progress& now) { progress.Show(now); };
  const bool csv = !options.write_csv.empty();
  const std::string& path = csv ? options.write_csv : options.write_raw;
  const auto rows =
      csv ? WriteCsv(source, path, show) : WriteRaw(source, options.generate_rows, path, show);
  if (!rows) return Fail(rows.error(), kExitFailed);
  fmt::print("{}: {} rows\n", path, *rows);
  return kExitOk;
}

Result<Outcome> Compute(const Options& options, Source& source, DeviceSet& devices,
                        ProgressWriter& progress) {
  std::optional<OutputFile> distances;
  PipelineOptions pipeline;
  pipeline.check_rows = options.check_rows;
  pipeline.on_progress = [&progress](const Progress& now) { progress.Show(now); };
  if (!options.distances.empty()) {
    BERTH_TRY(auto file, OutputFile::Create(options.distances));
    distances.emplace(std::move(file));
    pipeline.write_distances = [&distances](std::span<const double> km) {
      return distances->Append(
          {reinterpret_cast<const char*>(km.data()), km.size() * sizeof(double)});
    };
  }
  BERTH_TRY(auto outcome, RunPipeline(source, devices, pipeline));
  if (outcome.counts.used == 0) {
    const std::string example =
        outcome.first_bad.line == 0
            ? ""
            : fmt::format("; line {}: {}", outcome.first_bad.line, outcome.first_bad.what);
    return Error{ErrorCode::kInvalid,
                 fmt::format("{}: none of its {} rows can be computed{}", source.description(),
                             outcome.counts.read, example)};
  }
  if (distances) BERTH_CHECK_OK(distances->Finish());
  return outcome;
}

int Run(const Options& options) {
  auto source = OpenSource(options);
  if (!source) return Fail(source.error(), kExitFailed);
  const auto style =
      options.quiet ? ProgressWriter::Style::kSilent : ProgressWriter::StyleOfStderr();
  Result<Outcome> outcome = Error{};
  RunFacts facts;
  {
    ProgressWriter progress(style);
    if (!options.write_csv.empty() || !options.write_raw.empty()) {
      return WriteTrips(options, **source, progress);
    }
    auto devices = OpenDevices(options);
    if (!devices) {
      const bool absent = devices.error().code == ErrorCode::kNotFound;
      return Fail(devices.error(), absent ? kExitNoGpu : kExitFailed);
    }
    facts = {(*source)->description(), devices->description};
    outcome = Compute(options, **source, *devices, progress);
  }
  if (!outcome) return Fail(outcome.error(), kExitFailed);
  const std::string report =
      options.json ? JsonReport(*outcome, facts) : TextReport(*outcome, facts);
  if (std::fputs(report.c_str(), stdout) < 0 || std::fflush(stdout) != 0) return kExitFailed;
  if (outcome->check.failed > 0) {
    return Fail({ErrorCode::kInternal, "check failed: " + outcome->check.first_failure},
                kExitCheckFailed);
  }
  return kExitOk;
}

int Main(const std::vector<std::string_view>& arguments) {
  const auto options = ParseOptions(arguments);
  if (!options) return Fail(options.error(), kExitUsage);
  if (options->help) {
    fmt::print("{}", HelpText("haversine"));
    return kExitOk;
  }
  return Run(*options);
}

}  // namespace
}  // namespace berth::haversine

int main(int argc, char** argv) {
  return berth::haversine::Main(std::vector<std::string_view>(argv + 1, argv + argc));
}
