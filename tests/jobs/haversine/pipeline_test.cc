// Goal: the result depends on the input alone, errors come in input order, and every requested row
// is checked.
#include "jobs/haversine/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

Result<Outcome> Compute(Source& source, int threads, const PipelineOptions& options = {}) {
  auto devices = MakeCpuDevices(threads);
  return RunPipeline(source, devices, options);
}

TEST(Pipeline, AnyNumberOfWorkersGivesTheSameBits) {
  const auto one = Compute(*MakeGenerator(900'000, 5), 1);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->summary.rows, 900'000U);
  for (const int threads : {2, 5, 16}) {
    const auto many = Compute(*MakeGenerator(900'000, 5), threads);
    ASSERT_TRUE(many);
    EXPECT_EQ(many->summary.sum_km, one->summary.sum_km) << threads;
    EXPECT_EQ(many->summary.max_km, one->summary.max_km);
    EXPECT_EQ(many->summary.bins, one->summary.bins);
    EXPECT_EQ(many->counts, one->counts);
  }
}

TEST(Pipeline, DistancesComeInInputOrder) {
  std::vector<double> written;
  PipelineOptions options;
  options.write_distances = [&](std::span<const double> km) {
    written.insert(written.end(), km.begin(), km.end());
    return OkStatus();
  };
  ASSERT_TRUE(Compute(*MakeGenerator(600'000, 2), 4, options));
  std::vector<double> expected;
  const auto source = MakeGenerator(600'000, 2);
  auto device = MakeCpuDevices(1);
  Batch batch;
  Values km;
  while (*source->Take(batch)) {
    ASSERT_TRUE(source->Decode(batch));
    ASSERT_TRUE(device.devices[0]->Compute(batch.trips, &km));
    expected.insert(expected.end(), km.begin(), km.end());
  }
  EXPECT_TRUE(written == expected);
}

TEST(Pipeline, ChecksAtLeastAsManyRowsAsAskedFor) {
  for (const std::uint64_t rows : {1ULL, 10ULL, 300'000ULL, 900'000ULL, 5'000'000ULL}) {
    PipelineOptions options;
    options.check_rows = rows;
    const auto outcome = Compute(*MakeGenerator(600'000, 5), 2, options);
    ASSERT_TRUE(outcome);
    EXPECT_GE(outcome->check.checked, std::min<std::uint64_t>(rows, 600'000)) << rows;
    EXPECT_EQ(outcome->check.failed, 0U);
  }
}

class OffByAMetre : public Device {
 public:
  explicit OffByAMetre(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  Result<Summary> Compute(const Columns& trips, Values* km) override {
    auto summary = device_->Compute(trips, km);
    for (double& value : *km) value += 1e-3;
    return summary;
  }

 private:
  std::unique_ptr<Device> device_;
};

TEST(Pipeline, CheckFindsADeviceWithWrongDistances) {
  auto devices = MakeCpuDevices(2);
  for (auto& device : devices.devices) device = std::make_unique<OffByAMetre>(std::move(device));
  PipelineOptions options;
  options.check_rows = 100;
  const auto source = MakeGenerator(10'000, 5);
  const auto outcome = RunPipeline(*source, devices, options);
  ASSERT_TRUE(outcome);
  EXPECT_GE(outcome->check.checked, 100U);
  EXPECT_EQ(outcome->check.failed, outcome->check.checked);
  EXPECT_NEAR(outcome->check.worst_km, 1e-3, 1e-6);
}

TEST(Pipeline, BadRowsAreCountedAndNumberedOverAllBatches) {
  std::vector<std::string> lines(200, "-74,40,-73,41");
  lines[150] = "-74,40,oops,41";
  lines[170] = "later";
  const auto source =
      OpenCsv(std::make_unique<MemoryReader>(CsvOf(lines)), {2, 256});  // many batches
  ASSERT_TRUE(source);
  const auto outcome = Compute(**source, 3);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->counts, (RowCounts{200, 198, 0, 0, 2}));
  EXPECT_EQ(outcome->first_bad.line, 152U);
  EXPECT_EQ(outcome->first_bad.what, "column dropoff_longitude: \"oops\" is not a number");
}

TEST(Pipeline, FirstErrorInInputOrderEndsThePipeline) {
  const std::string text = CsvOf(std::vector<std::string>(500, "-74,40,-73,41"));
  for (const int threads : {1, 4}) {
    const auto source = OpenCsv(std::make_unique<MemoryReader>(text, 3000), {2, 128});
    ASSERT_TRUE(source);
    const auto outcome = Compute(**source, threads);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().message, "memory: bad byte");
  }
}

TEST(Pipeline, FailedWriteOfDistancesEndsThePipeline) {
  PipelineOptions options;
  int calls = 0;
  options.write_distances = [&](std::span<const double>) -> Status {
    if (++calls == 2) return Error{ErrorCode::kUnavailable, "km.f64: no space left"};
    return OkStatus();
  };
  const auto outcome = Compute(*MakeGenerator(kBatchRows * 6, 1), 3, options);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "km.f64: no space left");
  EXPECT_EQ(calls, 2);
}

TEST(Pipeline, ProgressRisesToOne) {
  std::vector<double> fractions;
  PipelineOptions options;
  options.on_progress = [&](const Progress& progress) { fractions.push_back(progress.fraction); };
  ASSERT_TRUE(Compute(*MakeGenerator(kBatchRows * 4, 1), 3, options));
  EXPECT_THAT(fractions, testing::ElementsAre(0.25, 0.5, 0.75, 1.0));
}

}  // namespace
}  // namespace berth::haversine
