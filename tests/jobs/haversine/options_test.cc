// Goal: the command line has the meaning of --help, and errors name the option.
#include "jobs/haversine/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::haversine {
namespace {

using testing::HasSubstr;

TEST(Options, EveryOptionOfAComputationIsRead) {
  const auto options =
      ParseOptions({"trips.csv", "--device", "gpu", "--threads=3", "--format=raw", "--check", "10",
                    "--distances", "km", "--json", "--quiet", "--http-parallel", "8",
                    "--http-piece-kib=64", "--http-deadline", "5"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->input, "trips.csv");
  EXPECT_EQ(options->device, DeviceChoice::kGpu);
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(options->format, InputFormat::kRaw);
  EXPECT_EQ(options->check_rows, 10U);
  EXPECT_EQ(options->distances, "km");
  EXPECT_TRUE(options->json && options->quiet);
  EXPECT_EQ(options->http_parallel, 8);
  EXPECT_EQ(options->http_piece_bytes, 65536U);
  EXPECT_EQ(options->http_deadline_seconds, 5);
}

TEST(Options, TheOptionsOfGeneratedTripsAreRead) {
  const auto options = ParseOptions({"--generate", "146112989", "--seed", "7", "--write-csv=a"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->generate);
  EXPECT_EQ(options->generate_rows, 146112989U);
  EXPECT_EQ(options->seed, 7U);
  EXPECT_EQ(options->write_csv, "a");
}

TEST(Options, RefusesWrongArgumentsWithAMessage) {
  struct Row {
    std::vector<std::string_view> arguments;
    std::string_view message;
  };
  const std::vector<Row> rows = {
      {{}, "no input: name a file or a URL, or use --generate ROWS"},
      {{"a", "b"}, "two inputs: a and b"},
      {{"a", "--generate", "5"}, "--generate and an input exclude each other"},
      {{"--generate", "0"}, "--generate takes a whole number from 1 to"},
      {{"--generate", "1e6"}, "not \"1e6\""},
      {{"--generate"}, "--generate takes a whole number"},
      {{"a", "--threads", "-1"}, "--threads takes a whole number from 1 to 1024, not \"-1\""},
      {{"a", "--device", "tpu"}, "--device takes one of auto, cpu, gpu, not \"tpu\""},
      {{"a", "--format=xls"}, "--format takes one of auto, csv, raw"},
      {{"a", "--nonsense"}, "no option --nonsense (see --help)"},
      {{"a", "--distances="}, "--distances takes a name"},
      {{"a", "--write-csv", "b"}, "go with --generate only"},
      {{"--generate=5", "--write-csv=a", "--write-raw=b"}, "exclude each other"},
      {{"--generate=5", "--write-csv=a", "--check=1"}, "only write trips"},
  };
  for (const Row& row : rows) {
    const auto options = ParseOptions(row.arguments);
    ASSERT_FALSE(options) << row.message;
    EXPECT_THAT(options.error().message, HasSubstr(std::string(row.message)));
  }
}

TEST(Options, HelpNamesEveryOption) {
  ASSERT_TRUE(ParseOptions({"--help"})->help);
  const std::string help = HelpText("haversine");
  for (const std::string name :
       {"--generate", "--seed", "--device", "--threads", "--format", "--check", "--distances",
        "--write-csv", "--write-raw", "--json", "--quiet", "--http-parallel", "--http-piece-kib",
        "--http-deadline"}) {
    EXPECT_THAT(help, HasSubstr(name));
  }
}

}  // namespace
}  // namespace berth::haversine
