// Goal: waiting Workloads get the annotation berth.dev/eta, which follows what is forecast; nothing
// is written where nothing is new, and never faster than commentary may be.
// Method: the admission controllers on the real API in virtual time; forecasts run in the test's
// thread.
#include "program/eta_writer.h"

#include "api/codec/start_forecast.h"
#include "api/deadline.h"
#include "base/rfc3339.h"
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using api::StartForecast;

class EtaWriterTest : public AdmissionFixture {
 protected:
  EtaWriterTest() { PutQueues(2); }
  ~EtaWriterTest() override {
    manager_->Stop();
    writer_.reset();
  }

  void Forecast(Duration wait = Duration::zero()) {
    writer_.emplace(
        *manager_, clock_,
        program::EtaWrites{
            .wait =
                [this, wait] {
                  if (wait > Duration::zero() && writes_ > 0) return wait;
                  return admission_->TakeCommentary();
                },
            .annotate =
                [this](const auto& workload, const auto& name, const auto& value, auto done) {
                  ++writes_;
                  admission_->Annotate(workload, name, value, done);
                },
            .on_start = [this](auto hit) { hits_.push_back(hit); },
            .on_danger =
                [this](const auto& workload, std::int32_t in_time) {
                  told_.push_back(workload.meta.name);
                  EXPECT_LT(in_time, api::kSafeDeadline);
                },
            .on_endangered = [this](const auto& workloads) { endangered_ = workloads; }},
        program::EtaWriterOptions{.interval = 60s}, [](const auto& task) { task(); });
  }
  // A job that has ended. The first forecast of its wait was for ten minutes later, and it started
  // `minutes` later.
  void PutStarted(const std::string& name, int minutes, int days_ago) {
    PutWorkload(name, 1);
    const WallTime at = clock_.Now() - 24h * days_ago;
    const api::StartForecast told{.at = at, .p10 = at + 9min, .p50 = at + 10min, .p90 = at + 11min};
    Edit(name, [&](Json& object) {
      object["metadata"]["annotations"][api::kEtaAnnotation] = api::EncodeStartForecast(told);
      const auto condition = [](const char* type, WallTime since) {
        return Json{{"type", type},
                    {"status", "True"},
                    {"reason", "Succeeded"},
                    {"message", ""},
                    {"lastTransitionTime", FormatTime(since)}};
      };
      object["status"]["conditions"] = {
          condition(api::kAdmitted, at + std::chrono::minutes(minutes)),
          condition(api::kFinished, at + std::chrono::minutes(minutes + 1))};
    });
  }
  // "first" has the whole quota, "second" waits for it, and a round of forecasts is over.
  void PutOneBehindAnother(const Json& spec_of_first = Json::object()) {
    PutWorkload("first", 2, spec_of_first);
    executor_.RunFor(5s);
    PutWorkload("second", 2);
    executor_.RunFor(70s);
  }
  std::optional<StartForecast> NoteOf(const std::string& name) const {
    const api::Workload workload = Get(name);
    const std::string* text = api::FindValue(workload.meta.annotations, api::kEtaAnnotation);
    if (text == nullptr) return std::nullopt;
    const auto read = api::DecodeStartForecast(*text);
    EXPECT_TRUE(read) << *text;
    return read ? std::optional(*read) : std::nullopt;
  }

  int writes_ = 0;
  std::vector<api::ForecastHit> hits_;
  std::vector<std::string> told_;  // Workloads whose deadlines came into danger
  program::EtaWrites::Endangered endangered_;
  std::optional<program::EtaWriter> writer_;
};

TEST_F(EtaWriterTest, DeadlineInDangerIsReportedOnce) {
  Forecast();
  PutWorkload("first", 2, {{"maximumExecutionTimeSeconds", 36000}});
  executor_.RunFor(2s);
  for (const auto& [name, in] :
       {std::pair("far", Duration(1000h)), std::pair("near", Duration(5min))}) {
    PutWorkload(name, 2, {{"maximumExecutionTimeSeconds", 3600}});
    Edit(name, [&, when = in](Json& object) {
      object["metadata"]["annotations"][api::kDeadlineAnnotation] = FormatTime(clock_.Now() + when);
    });
  }
  executor_.RunFor(5min);
  EXPECT_EQ(told_, std::vector<std::string>{"near"});
  EXPECT_EQ(endangered_, (program::EtaWrites::Endangered{{"cq", 1}}));
  ASSERT_TRUE(NoteOf("far") && NoteOf("near"));
  EXPECT_EQ(NoteOf("far")->in_time, 100);
  EXPECT_EQ(NoteOf("near")->in_time, 0);
  Edit("near",
       [](Json& object) { object["metadata"]["annotations"].erase(api::kDeadlineAnnotation); });
  executor_.RunFor(2min);
  EXPECT_EQ(endangered_, program::EtaWrites::Endangered());
  EXPECT_EQ(NoteOf("near")->in_time, std::nullopt);
}

TEST_F(EtaWriterTest, WaitingJobsHaveAForecastAndRunningJobsHaveNone) {
  Forecast();
  PutWorkload("first", 2);
  executor_.RunFor(2s);
  PutWorkload("second", 2, {{"maximumExecutionTimeSeconds", 600}});
  PutWorkload("big", 4);
  executor_.RunFor(50s);
  EXPECT_EQ(writes_, 0);
  executor_.RunFor(15s);
  EXPECT_EQ(writer_->rounds(), 1);
  const auto second = NoteOf("second");
  ASSERT_TRUE(second && second->p50);
  EXPECT_GT(*second->p50, second->at);
  ASSERT_TRUE(NoteOf("big"));
  EXPECT_EQ(NoteOf("big")->p10, std::nullopt);  // it is larger than the queue
  EXPECT_EQ(NoteOf("first"), std::nullopt);
}

TEST_F(EtaWriterTest, UnchangedForecastIsNotWrittenUntilItsRefresh) {
  Forecast();
  PutWorkload("first", 2);
  PutWorkload("big", 4);
  executor_.RunFor(90s);
  ASSERT_TRUE(NoteOf("big"));
  const int written = writes_;
  executor_.RunFor(10min);
  EXPECT_GE(writer_->rounds(), 10);
  EXPECT_EQ(writes_, written);  // big never starts, as before
  executor_.RunFor(program::kEtaRefresh);
  EXPECT_GT(writes_, written);
}

TEST_F(EtaWriterTest, WritesAreSpacedByTheirInterval) {
  Forecast(1h);
  for (const char* name : {"a", "b", "c", "d"}) PutWorkload(name, 4);
  executor_.RunFor(30min);
  EXPECT_EQ(writes_, 1);
}

TEST_F(EtaWriterTest, ForecastOfAStartedJobStays) {
  Forecast();
  PutOneBehindAnother();
  const auto note = NoteOf("second");
  ASSERT_TRUE(note);
  Finish("first");
  executor_.RunFor(5s);
  ASSERT_TRUE(Is("second", api::kAdmitted));
  // "first" had no note. "second" started earlier than nine of ten futures.
  EXPECT_EQ(hits_, std::vector{api::ForecastHit::kP10});
  executor_.RunFor(20min);  // its pods may take half an hour to be ready
  EXPECT_EQ(NoteOf("second"), note);
}

TEST_F(EtaWriterTest, LaterForecastKeepsTheFirstForecast) {
  Forecast();
  PutOneBehindAnother();
  const auto first = NoteOf("second");
  ASSERT_TRUE(first && first->p90);
  EXPECT_EQ(first->first, std::nullopt);
  executor_.RunFor(program::kEtaRefresh + 5min);
  const auto later = NoteOf("second");
  ASSERT_TRUE(later);
  EXPECT_GT(later->at, first->at);
  EXPECT_EQ(later->first, api::FirstOf(*first));
  ASSERT_TRUE(later->later);
  EXPECT_GE(later->later->at, first->at + simulation::kLaterAge);
  EXPECT_LE(later->later->at, later->at);
  executor_.RunFor(program::kEtaRefresh + 5min);
  const auto last = NoteOf("second");
  ASSERT_TRUE(last);
  EXPECT_GT(last->at, later->at);
  EXPECT_EQ(last->first, later->first);
  EXPECT_EQ(last->later, later->later);
  // Long after what was forecast.
  executor_.RunFor(24h);
  Finish("first");
  executor_.RunFor(5s);
  ASSERT_TRUE(Is("second", api::kAdmitted));
  EXPECT_EQ(hits_, std::vector{api::ForecastHit::kLater});
}

TEST_F(EtaWriterTest, StartsBeforeARestartCorrectForecasts) {
  for (int i = 0; i < 40; ++i) PutStarted("old-" + std::to_string(i), 30, 1 + i % 20);
  Forecast();  // does what a restart does
  PutOneBehindAnother({{"maximumExecutionTimeSeconds", 3600}});
  const auto note = NoteOf("second");
  ASSERT_TRUE(note && note->p90 && note->drawn);
  // All of them came 20 minutes late: eight times a quarter of their p50, which is their scale.
  // Twenty days are four fifths of the way.
  const Duration range = note->drawn->p90 - note->drawn->p10;
  EXPECT_GE(*note->p50 - note->drawn->p50, 6 * range);
  EXPECT_GE(*note->p50, note->drawn->p50 + 15min);
  executor_.RunFor(program::kEtaRefresh + 5min);
  const auto later = NoteOf("second");
  ASSERT_TRUE(later && later->first);
  EXPECT_EQ(later->first->drawn, note->drawn);
}

TEST_F(EtaWriterTest, DeadlinesAreJudgedByCorrectedStarts) {
  for (int i = 0; i < 40; ++i) PutStarted("old-" + std::to_string(i), 30, 1 + i % 20);
  Forecast();
  PutWorkload("first", 2, {{"maximumExecutionTimeSeconds", 3600}});
  executor_.RunFor(5s);
  PutWorkload("second", 2, {{"maximumExecutionTimeSeconds", 60}});
  executor_.RunFor(70s);
  const auto note = NoteOf("second");
  ASSERT_TRUE(note && note->drawn);
  Edit("second", [&note](Json& object) {
    object["metadata"]["annotations"][api::kDeadlineAnnotation] =
        FormatTime(note->drawn->p90 + 5min);
  });
  executor_.RunFor(5min);
  const auto told = NoteOf("second");
  ASSERT_TRUE(told && told->drawn && told->in_time);
  // Nine of ten draws end in time, but all starts before came 20 minutes late.
  EXPECT_LE(told->drawn->p90, note->drawn->p90 + 4min);
  EXPECT_LE(*told->in_time, 10);
}

TEST_F(EtaWriterTest, FewStartsCorrectNoForecast) {
  for (int i = 0; i < 29; ++i) PutStarted("old-" + std::to_string(i), 30, 1);
  Forecast();
  PutOneBehindAnother();
  const auto note = NoteOf("second");
  ASSERT_TRUE(note && note->p50);
  EXPECT_EQ(note->drawn, std::nullopt);
}

TEST(ForecastHitTest, HitIsTheFirstQuantileAtOrAfterTheStart) {
  const auto at = [](std::int64_t minutes) { return WallTime(std::chrono::minutes(minutes)); };
  const api::JudgedForecast told{.at = at(0), .p10 = at(10), .p50 = at(50), .p90 = std::nullopt};
  EXPECT_EQ(api::HitOf(told, at(10)), api::ForecastHit::kP10);
  EXPECT_EQ(api::HitOf(told, at(11)), api::ForecastHit::kP50);
  EXPECT_EQ(api::HitOf(told, at(51)), api::ForecastHit::kLater);
  const StartForecast later{.at = at(5), .p10 = at(20), .first = told};
  EXPECT_EQ(api::FirstOf(later), told);
  const auto read = api::DecodeStartForecast(api::EncodeStartForecast(later));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, later);
}

TEST(EtaNewsTest, ChangeOfAFifthOfTheWaitIsNews) {
  const auto at = [](std::int64_t minutes) { return WallTime(std::chrono::minutes(minutes)); };
  const StartForecast told{.at = at(0), .p10 = at(50), .p50 = at(100), .p90 = at(200)};
  StartForecast other = told;
  EXPECT_FALSE(program::IsNews(told, other));
  other.p50 = at(115);
  EXPECT_FALSE(program::IsNews(told, other));
  other.p50 = at(130);
  EXPECT_TRUE(program::IsNews(told, other));
  other = told;
  other.p90.reset();
  EXPECT_TRUE(program::IsNews(told, other));
  other = told;
  other.at = at(30);
  EXPECT_TRUE(program::IsNews(told, other));
  const StartForecast soon{.at = at(0), .p10 = at(0), .p50 = at(0), .p90 = at(1)};
  other = soon;
  other.p50 = at(1);
  EXPECT_FALSE(program::IsNews(soon, other));
  other.p90 = at(3);
  EXPECT_TRUE(program::IsNews(soon, other));
}

}  // namespace
}  // namespace berth::admission
