#include "jobs/haversine/options.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"

namespace berth::haversine {
namespace {

constexpr std::int64_t kMostRows = 1'000'000'000'000;
constexpr std::int64_t kLargestSeed = INT64_MAX;

Error Usage(std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; }

Result<std::int64_t> Number(std::string_view name, std::string_view text, std::int64_t lowest,
                            std::int64_t highest) {
  const auto value = ParseInt64(text);
  if (!value || *value < lowest || *value > highest) {
    return Usage(std::string(name) + " takes a whole number from " + std::to_string(lowest) +
                 " to " + std::to_string(highest) + ", not \"" + std::string(text) + "\"");
  }
  return *value;
}

template <typename Enum, std::size_t kCount>
Result<Enum> Choice(std::string_view name, std::string_view text,
                    const std::array<std::pair<std::string_view, Enum>, kCount>& choices) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) {
    if (word == text) return value;
    words.emplace_back(word);
  }
  return Usage(std::string(name) + " takes one of " + Join(words, ", ") + ", not \"" +
               std::string(text) + "\"");
}

// Sets an option without a value. Returns false for other options.
bool SetFlag(std::string_view name, Options& options) {
  if (name == "--help" || name == "-h") {
    options.help = true;
  } else if (name == "--json") {
    options.json = true;
  } else if (name == "--quiet") {
    options.quiet = true;
  } else {
    return false;
  }
  return true;
}

Result<bool> SetNumber(std::string_view name, std::string_view text, Options& options) {
  if (name == "--generate") {
    options.generate = true;
    BERTH_TRY(const auto rows, Number(name, text, 1, kMostRows));
    options.generate_rows = static_cast<std::uint64_t>(rows);
  } else if (name == "--seed") {
    BERTH_TRY(const auto seed, Number(name, text, 0, kLargestSeed));
    options.seed = static_cast<std::uint64_t>(seed);
  } else if (name == "--threads") {
    BERTH_TRY(const auto threads, Number(name, text, 1, 1024));
    options.threads = static_cast<int>(threads);
  } else if (name == "--check") {
    BERTH_TRY(const auto rows, Number(name, text, 1, kMostRows));
    options.check_rows = static_cast<std::uint64_t>(rows);
  } else if (name == "--http-parallel") {
    BERTH_TRY(const auto parallel, Number(name, text, 1, 64));
    options.http_parallel = static_cast<int>(parallel);
  } else if (name == "--http-piece-kib") {
    BERTH_TRY(const auto kib, Number(name, text, 1, 65536));
    options.http_piece_bytes = static_cast<std::uint64_t>(kib) * 1024;
  } else if (name == "--http-deadline") {
    BERTH_TRY(const auto seconds, Number(name, text, 1, 86400));
    options.http_deadline_seconds = static_cast<int>(seconds);
  } else {
    return false;
  }
  return true;
}

Result<bool> SetText(std::string_view name, std::string_view text, Options& options) {
  static constexpr std::array<std::pair<std::string_view, DeviceChoice>, 3> kDevices = {
      {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"gpu", DeviceChoice::kGpu}}};
  static constexpr std::array<std::pair<std::string_view, InputFormat>, 3> kFormats = {
      {{"auto", InputFormat::kByName}, {"csv", InputFormat::kCsv}, {"raw", InputFormat::kRaw}}};
  if (name == "--device") {
    BERTH_TRY(options.device, Choice(name, text, kDevices));
  } else if (name == "--format") {
    BERTH_TRY(options.format, Choice(name, text, kFormats));
  } else if (name == "--distances") {
    options.distances = text;
  } else if (name == "--write-csv") {
    options.write_csv = text;
  } else if (name == "--write-raw") {
    options.write_raw = text;
  } else {
    return false;
  }
  if (text.empty()) return Usage(std::string(name) + " takes a name, not an empty one");
  return true;
}

Status CheckCombination(const Options& options) {
  if (options.help) return OkStatus();
  if (options.generate == !options.input.empty()) {
    return Usage(options.generate ? "--generate and an input exclude each other"
                                  : "no input: name a file or a URL, or use --generate ROWS");
  }
  const bool writes = !options.write_csv.empty() || !options.write_raw.empty();
  if (writes && !options.generate) {
    return Usage("--write-csv and --write-raw go with --generate only");
  }
  if (!options.write_csv.empty() && !options.write_raw.empty()) {
    return Usage("--write-csv and --write-raw exclude each other");
  }
  if (writes && (!options.distances.empty() || options.check_rows > 0)) {
    return Usage("--write-csv and --write-raw only write trips: compute them in a second run");
  }
  return OkStatus();
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (!name.starts_with('-')) {
      if (!options.input.empty()) {
        return Usage("two inputs: " + options.input + " and " + std::string(name));
      }
      options.input = name;
      continue;
    }
    if (SetFlag(name, options)) continue;
    const std::size_t equals = name.find('=');
    std::optional<std::string_view> text;
    if (equals != std::string_view::npos) {
      text = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < arguments.size()) {
      text = arguments[i + 1];
    }
    BERTH_TRY(bool known, SetNumber(name, text.value_or(""), options));
    if (!known) {
      BERTH_TRY(known, SetText(name, text.value_or(""), options));
    }
    if (!known) return Usage("no option " + std::string(name) + " (see --help)");
    if (equals == std::string_view::npos) ++i;
  }
  BERTH_CHECK_OK(CheckCombination(options));
  return options;
}

std::string HelpText(std::string_view program) {
  return "Great-circle distances of taxi trips: how many, mean, maximum, histogram.\n"
         "\n"
         "  " +
         std::string(program) +
         " INPUT [OPTION…]\n"
         "  " +
         std::string(program) +
         " --generate ROWS [--seed N] [OPTION…]\n"
         "\n"
         "INPUT is a file or an http(s) URL (read in ranges, several at a time): CSV whose header\n"
         "names pickup_longitude, pickup_latitude, dropoff_longitude and dropoff_latitude, as New\n"
         "York's yellow-taxi files of 2015 have it; or, named *.raw or *.f64, those four columns\n"
         "one after the other as little-endian float64.\n"
         "\n"
         "  --device auto|cpu|gpu   auto: a GPU where there is one (default). gpu: exit 77 "
         "without\n"
         "  --threads N             that decode and compute (default: one for each core)\n"
         "  --format auto|csv|raw   whatever the name says\n"
         "  --check ROWS            compare so many with a long-double reference; exit 3 if one\n"
         "                          differs by more than a millionth of a kilometre\n"
         "  --distances FILE        write them, float64 kilometres in input order\n"
         "  --write-csv FILE        with --generate: write the trips and stop; --write-raw "
         "likewise\n"
         "  --json                  the result as one JSON object\n"
         "  --quiet                 no progress on stderr\n"
         "  --http-parallel N       requests at a time (default 4)\n"
         "  --http-piece-kib N      size of one request (default 4096)\n"
         "  --http-deadline SECONDS for one piece with all its retries (default 120)\n"
         "\n"
         "Exit status: 0; 1 input or output failed; 2 usage; 3 a distance failed its check;\n"
         "77 no GPU.\n"
         "\n"
         "  " +
         std::string(program) +
         " --generate 146112989 --check 1000\n"
         "  " +
         std::string(program) + " yellow_tripdata_2015-01.csv --distances km.f64\n";
}

}  // namespace berth::haversine
