// Goal: reasons are written at once, texts seldom, and only the latest. Method: the writes that the
// API received, in virtual time.

#include "admission/controller/notes/pending_notes.h"

#include "api/labels.h"
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FixedNote : public PendingNote {
 public:
  FixedNote(std::string reason, std::string message, std::uint64_t cause, std::string explanation)
      : PendingNote(cause),
        reason_(std::move(reason)),
        message_(std::move(message)),
        explanation_(std::move(explanation)) {}
  std::string_view reason() const override { return reason_; }
  std::string message() const override { return message_; }
  std::vector<api::PodSetRequests> resource_requests() const override { return {}; }
  std::string explanation() const override { return explanation_; }

 private:
  std::string reason_;
  std::string message_;
  std::string explanation_;
};

class PendingNotesTest : public AdmissionFixture {
 protected:
  using Verdict = PendingNotes::Verdict;
  static constexpr Verdict kItsOwn = Verdict::kItsOwn;

  void SetUp() override {
    manager_->Stop();  // only the informers keep running
    PutWorkload("w", 1);
    executor_.RunFor(1s);
    api_.ClearRequests();
  }
  std::size_t Writes() const {
    std::size_t count = 0;
    for (const auto& request : api_.requests()) count += request.method == "PATCH" ? 1 : 0;
    return count;
  }
  void Note(const std::string& reason, const std::string& message, Verdict verdict = kItsOwn) {
    notes_.Note({"team", "w"}, std::make_shared<const FixedNote>(reason, message, 1, ""), verdict);
    executor_.RunFor(100ms);
  }

  std::string Explanation() const {
    const auto workload = workloads_.Get({"team", "w"});
    const std::string* text =
        workload ? api::FindValue(workload->meta.annotations, api::kExplanationAnnotation)
                 : nullptr;
    return text == nullptr ? "" : *text;
  }

  kube::Informer<api::Workload>& workloads_ = manager_->InformerFor<api::Workload>();
  WorkloadWriter writer_{*client_, workloads_};
  PendingNotes notes_{workloads_, writer_, *events_, clock_, executor_};
};

TEST_F(PendingNotesTest, NewMessagesWaitAndOnlyTheLastIsWritten) {
  Note("WaitingForQuota", "9 more needed");
  EXPECT_EQ(Writes(), 1U);
  for (int i = 8; i > 0; --i) Note("WaitingForQuota", std::to_string(i) + " more needed");
  EXPECT_EQ(Writes(), 1U);
  executor_.RunFor(PendingNotes::kMessageInterval);
  EXPECT_EQ(Writes(), 3U) << "the text, and how often it was found";
  EXPECT_EQ(MessageOf("w", api::kQuotaReserved), "1 more needed");
}

TEST_F(PendingNotesTest, NewReasonDoesNotWait) {
  Note("WaitingForQuota", "x");
  Note("ExceedsMaxQuota", "y");
  EXPECT_EQ(Writes(), 3U) << "the reason, and what it was before";
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "ExceedsMaxQuota");
}

TEST_F(PendingNotesTest, NewReasonIsWrittenAtOnceBesideAMessageThatWaits) {
  Note("WaitingForQuota", "9 more needed");
  Note("WaitingForQuota", "8 more needed");  // has to wait
  Note("WaitingForPreemptedWorkloads", "y");
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "WaitingForPreemptedWorkloads");
}

TEST_F(PendingNotesTest, NoteThatIsForgottenAndRepeatedIsWrittenOnce) {
  const auto note = std::make_shared<const FixedNote>("WaitingForQuota", "x", 1, "");
  for (std::size_t i = 0; i < PendingNotes::kBusyBacklog; ++i) {
    writer_.Annotate(*workloads_.Get({"team", "w"}), {{"busy", std::to_string(i)}},
                     [](const Status&) {});
  }
  for (int i = 0; i < 3; ++i) {  // while the writer is busy
    notes_.Forget({"team", "w"});
    notes_.Note({"team", "w"}, note, kItsOwn);
  }
  executor_.RunFor(5s);
  std::size_t writes = 0;
  for (const auto& request : api_.requests()) {
    writes += request.method == "PATCH" && request.path.ends_with("/status") ? 1 : 0;
  }
  EXPECT_EQ(writes, 1U);
  EXPECT_TRUE(notes_.idle());
}

TEST_F(PendingNotesTest, OwnVerdictsAreWrittenBeforeVerdictsOfEqualsIfTheApiIsSlow) {
  for (int i = 0; i < 200; ++i) PutWorkload("equal-" + std::to_string(i), 1);
  executor_.RunFor(1s);
  const auto annotate = [&](int times) {
    for (int i = 0; i < times; ++i) {
      writer_.Annotate(*workloads_.Get({"team", "w"}), {{"n", std::to_string(i)}},
                       [](const Status&) {});
      executor_.RunFor(1s);
    }
  };
  annotate(20);  // fast answers
  api_.set_latency(400ms);
  annotate(60);
  const auto note = std::make_shared<const FixedNote>("WaitingForQuota", "x", 1, "");
  for (int i = 0; i < 200; ++i) {
    notes_.Note({"team", "equal-" + std::to_string(i)}, note, Verdict::kOfAnEqual);
  }
  executor_.RunFor(1s);
  notes_.Note({"team", "w"}, note, kItsOwn);
  executor_.RunFor(2s);
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "WaitingForQuota");
  const auto told = [&] {
    int count = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string name = "equal-" + std::to_string(i);
      count += ReasonOf(name, api::kQuotaReserved) == "WaitingForQuota" ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(told(), 100) << "slow answers leave room for decisions";
  executor_.RunFor(60s);
  EXPECT_EQ(told(), 200) << "late, and not never";
}

TEST_F(PendingNotesTest, EqualReasonAndMessageAreNotWrittenAgain) {
  Note("WaitingForQuota", "x");
  executor_.RunFor(5min);
  Note("WaitingForQuota", "x");
  EXPECT_EQ(Writes(), 1U);
}

TEST_F(PendingNotesTest, BypassedWorkloadGetsNoEventUntilItIsTried) {
  Note("WaitingForQuota", "x", Verdict::kOfAnEqual);
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "WaitingForQuota");
  EXPECT_EQ(MessageOf("w", api::kQuotaReserved),
            "Bypassed scheduling evaluation because an equivalent workload recently failed");
  executor_.RunFor(5min);
  EXPECT_THAT(EventReasons("w"), IsEmpty());
  Note("WaitingForQuota", "x", Verdict::kOfAnEqual);
  EXPECT_THAT(EventReasons("w"), IsEmpty());
  Note("WaitingForQuota", "x");
  executor_.RunFor(1s);
  EXPECT_THAT(EventReasons("w"), ElementsAre("WaitingForQuota"));
  EXPECT_EQ(MessageOf("w", api::kQuotaReserved), "x");
  EXPECT_EQ(Writes(), 2U) << "its condition said that it had not been tried";
  Note("WaitingForQuota", "x");
  executor_.RunFor(1s);
  EXPECT_THAT(EventReasons("w"), ElementsAre("WaitingForQuota")) << "one is enough";
  Note("ExceedsMaxQuota", "y");
  executor_.RunFor(1s);
  EXPECT_THAT(EventReasons("w"), ElementsAre("WaitingForQuota", "ExceedsMaxQuota"));
}

TEST_F(PendingNotesTest, BypassKeepsTheReasonOfTheWorkloadsOwnTrial) {
  Note("ExceedsMaxQuota", "x");
  Note("WaitingForQuota", "y", Verdict::kOfAnEqual);
  executor_.RunFor(5min);
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "WaitingForQuota") << "it has been tried";
  notes_.Forget({"team", "w"});
  Note("ExceedsMaxQuota", "z", Verdict::kOfAnEqual);
  executor_.RunFor(5min);
  EXPECT_EQ(MessageOf("w", api::kQuotaReserved), "y");
}

TEST_F(PendingNotesTest, ReasonCountIsWrittenAtIntervalsAndSurvivesARestart) {
  Note("WaitingForQuota", "x");
  EXPECT_EQ(Explanation(), "") << "once is no story";
  for (int i = 0; i < 9; ++i) Note("WaitingForQuota", "x");
  EXPECT_EQ(Writes(), 1U);
  executor_.RunFor(PendingNotes::kHistoryInterval);
  Note("WaitingForQuota", "x");
  EXPECT_EQ(Writes(), 2U);
  EXPECT_NE(Explanation().find("\"count\":11"), std::string::npos) << Explanation();
  PendingNotes restarted(workloads_, writer_, *events_, clock_, executor_);
  restarted.Note({"team", "w"}, std::make_shared<const FixedNote>("ExceedsMaxQuota", "y", 2, "{}"),
                 kItsOwn);
  executor_.RunFor(1s);
  EXPECT_NE(Explanation().find("\"count\":11"), std::string::npos) << Explanation();
  EXPECT_NE(Explanation().find("ExceedsMaxQuota"), std::string::npos) << Explanation();
}

TEST_F(PendingNotesTest, FailedWritesAreTriedAgainAFewTimes) {
  api_.FailNext("workloads/w", 500);
  api_.FailNext("workloads/w", 409);
  Note("WaitingForQuota", "x");
  executor_.RunFor(10s);
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "WaitingForQuota");
}

TEST_F(PendingNotesTest, AnOutageLosesNoNote) {
  for (int i = 0; i < 20; ++i) api_.FailNext("workloads/w/status", 503);
  Note("WaitingForQuota", "x");
  executor_.RunFor(15min);
  EXPECT_EQ(ReasonOf("w", api::kQuotaReserved), "WaitingForQuota");
}

TEST_F(PendingNotesTest, ANewPlanIsWrittenThoughTheReasonIsTheSame) {
  std::optional<std::string> plan;
  std::uint64_t version = 0;
  int texts = 0;
  notes_.WritePlans({.stamp = [&](const api::Workload&) -> std::optional<PlanStamp> {
                       if (!plan) return std::nullopt;
                       return PlanStamp{.version = version};
                     },
                     .text =
                         [&](const api::Workload&) {
                           ++texts;
                           return *plan;
                         }});
  const auto replan = [&](const char* text) {
    plan = text;
    ++version;
    texts = 0;
  };
  const auto stored = [this] {
    const auto workload = workloads_.Get({"team", "w"});
    const std::string* text =
        api::FindValue(workload->meta.annotations, api::kPreemptionPlanAnnotation);
    return text == nullptr ? "" : *text;
  };
  Note("WaitingForQuota", "x");
  replan("first");
  Note("WaitingForQuota", "x");
  EXPECT_EQ(stored(), "first");
  replan("second");
  Note("WaitingForQuota", "y");  // the text alone would wait
  EXPECT_EQ(stored(), "second");
  replan("third");
  api_.FailNext("workloads/w", 500);
  Note("WaitingForQuota", "y");
  executor_.RunFor(5s);
  EXPECT_EQ(stored(), "third") << "a failed write is repeated";
  api_.ClearRequests();
  api_.set_latency(200ms);
  replan("fourth");
  const auto note = std::make_shared<const FixedNote>("WaitingForQuota", "y", 1, "");
  for (int i = 0; i < 20; ++i) {
    notes_.Note({"team", "w"}, note, kItsOwn);
    executor_.RunFor(10ms);
  }
  executor_.RunFor(2s);
  EXPECT_EQ(stored(), "fourth");
  EXPECT_EQ(Writes(), 1U) << "once, while the answer is under way";
  EXPECT_EQ(texts, 1) << "a plan is encoded once, not with each note";
}

TEST_F(PendingNotesTest, WritesNothingOnReservedOrDeletedWorkloads) {
  SetConditionOf("w", api::kQuotaReserved, true, "QuotaReserved");
  executor_.RunFor(1s);
  Note("WaitingForQuota", "x");
  api_.Remove(PathOf("w"));
  executor_.RunFor(1s);
  Note("WaitingForQuota", "x");
  EXPECT_EQ(Writes(), 0U);
  EXPECT_EQ(notes_.size(), 0U);
}

}  // namespace
}  // namespace berth::admission
