// Goal: the program's exit codes and messages, as a container or a script sees them.
#include <array>
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

using testing::HasSubstr;

struct Ran {
  int status = -1;
  std::string output;  // stdout and stderr
};

Ran RunProgram(const std::string& arguments) {
  const std::string command = std::string(BERTH_HAVERSINE_PROGRAM) + " " + arguments + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  Ran ran;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    ran.output.append(buffer.data(), got);
  }
  const int status = ::pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

TEST(Program, ComputesGeneratedTrips) {
  const Ran ran = RunProgram("--generate 100000 --check 100 --device cpu --quiet");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("rows       100,000 read: 100,000 computed"));
  EXPECT_THAT(ran.output, HasSubstr("against long double: 0 differ"));
}

TEST(Program, CsvAndRawFilesGiveTheSameDistances) {
  const ScratchFolder folder;
  ASSERT_EQ(RunProgram("--generate 5000 --write-csv " + folder.Path("a.csv")).status, 0);
  ASSERT_EQ(RunProgram("--generate 5000 --write-raw " + folder.Path("a.raw")).status, 0);
  for (const std::string name : {"a.csv", "a.raw"}) {
    const Ran ran =
        RunProgram(folder.Path(name) + " --quiet --json --distances " + folder.Path(name + ".km"));
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("\"rowsComputed\":5000,"));
  }
  EXPECT_EQ(ReadFile(folder.Path("a.csv.km")).size(), 40'000U);
  EXPECT_TRUE(ReadFile(folder.Path("a.csv.km")) == ReadFile(folder.Path("a.raw.km")));
}

TEST(Program, EachOutcomeHasItsExitStatusAndMessage) {
  const ScratchFolder folder;
  WriteFile(folder.Path("zeros.csv"), CsvOf({"0,0,0,0", "x,0,0,0"}));
  WriteFile(folder.Path("other.csv"), "VendorID,fare\n1,2\n");
  struct Row {
    std::string arguments;
    int status;
    std::string output;
  };
  const std::vector<Row> rows = {
      {"--help", 0, "--generate ROWS"},
      {"", 2, "haversine: no input"},
      {"--generate 10 --bogus", 2, "no option --bogus"},
      {folder.Path("missing.csv"), 1, "missing.csv: No such file or directory"},
      {"s3://bucket/a.csv", 1, "s3://bucket/a.csv: only http and https URLs are read"},
      {folder.Path("other.csv"), 1, "other.csv: the header has no column pickup_longitude"},
      {folder.Path("zeros.csv"), 1,
       "zeros.csv: none of its 2 rows can be computed; line 3: column pickup_longitude: \"x\" is "
       "not a number"},
      {"--generate 10 --distances /nonexistent/km", 1, "/nonexistent/km: cannot be created"},
      {"--generate 10 --distances " + folder.path(), 1, "is there and is not a regular file"},
      {"--generate 10 --device gpu", 77, "built without CUDA"},
  };
  for (const Row& row : rows) {
    const Ran ran = RunProgram(row.arguments);
    EXPECT_EQ(ran.status, row.status) << row.arguments << "\n" << ran.output;
    EXPECT_THAT(ran.output, HasSubstr(row.output)) << row.arguments;
  }
}

}  // namespace
}  // namespace berth::haversine
