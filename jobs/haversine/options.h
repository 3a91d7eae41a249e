// jobs/haversine/options.h — parses the command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::haversine {

enum class DeviceChoice : std::uint8_t { kCpu, kGpu, kAuto };
enum class InputFormat : std::uint8_t { kByName, kCsv, kRaw };  // kByName: raw for *.raw and *.f64

struct Options {
  bool help = false;

  // Exactly one of `input` and `generate` is set.
  std::string input;  // a path, or an http(s) URL
  bool generate = false;
  std::uint64_t generate_rows = 0;
  std::uint64_t seed = 1;

  InputFormat format = InputFormat::kByName;
  DeviceChoice device = DeviceChoice::kAuto;
  int threads = 0;  // 0: one per core

  std::string write_csv;  // where `generate` is set: only write the trips
  std::string write_raw;
  std::string distances;  // output file of float64 distances; empty: none
  std::uint64_t check_rows = 0;
  bool json = false;
  bool quiet = false;  // no progress

  int http_parallel = 4;
  std::uint64_t http_piece_bytes = std::uint64_t{4} << 20;
  int http_deadline_seconds = 120;
};

// `arguments` without the program's name. kInvalid: the message names the option and the error.
Result<Options> ParseOptions(const std::vector<std::string_view>& arguments);

std::string HelpText(std::string_view program);

}  // namespace berth::haversine
