// Goal: a note has the text of its decision, without workloads that are gone. Method: one queue,
// one refused preemptor, notes read after the decisions are destroyed.
#include "admission/controller/notes/decision_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;
using testing::HasSubstr;
using testing::Not;

// Queue a: gpu 4, of which "holder" has 3.
class DecisionNoteTest : public testing::Test {
 protected:
  DecisionNoteTest() : world_({"f"}, {Queue()}) {
    world_.Apply(MakeJob("holder", "a", 3, {{"gpu", 1}}, 5));
    world_.Cycle();
  }
  static api::ClusterQueue Queue() {
    api::ClusterQueue queue = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    return queue;
  }
  std::shared_ptr<const DecisionNote> NoteOfRefused() {
    world_.Apply(MakeJob("refused", "a", 2, {{"gpu", 1}}, 1));
    world_.Cycle();
    return DecisionNote::Of(world_.Of("refused"), world_.scheduler());
  }
  TableWorld world_;
};

TEST_F(DecisionNoteTest, KeepsTheDecisionsReasonMessageAndCause) {
  const auto note = NoteOfRefused();
  const std::string message = world_.MessageOf("refused");
  const std::uint64_t cause =
      CauseOf(world_.Of("refused"), world_.scheduler().state().vocabulary());
  world_.DeleteWorkload(KeyOf("refused"));
  world_.Cycle();
  EXPECT_EQ(note->reason(), "WaitingForQuota");
  EXPECT_EQ(note->message(), message);
  EXPECT_EQ(note->cause(), cause);
  EXPECT_EQ(note->resource_requests(),
            (std::map<std::string, api::ResourceAmounts>{{"main", {{"gpu", 2}}}}));
  EXPECT_THAT(note->explanation(), HasSubstr(R"("asked":2)"));
}

TEST_F(DecisionNoteTest, NamesSparedCandidatesUntilTheyAreDeleted) {
  const auto note = NoteOfRefused();
  EXPECT_THAT(note->explanation(), HasSubstr("default/holder"));
  world_.DeleteWorkload(KeyOf("holder"));
  world_.Apply(MakeJob("stranger", "a", 1, {{"gpu", 1}}));  // reuses the free number
  EXPECT_THAT(note->explanation(), Not(HasSubstr("holder")));
  EXPECT_THAT(note->explanation(), Not(HasSubstr("stranger")));
}

TEST_F(DecisionNoteTest, KeepsItsMessageAfterItsQueueIsDeleted) {
  const auto note = NoteOfRefused();
  world_.scheduler().Forget<api::ClusterQueue>("a");
  EXPECT_THAT(note->message(), HasSubstr("insufficient unused quota for gpu"));
  EXPECT_THAT(note->explanation(), Not(HasSubstr("nominal")));
}

TEST_F(DecisionNoteTest, AdmissionHasNoNote) {
  EXPECT_EQ(DecisionNote::Of(world_.Of("holder"), world_.scheduler()), nullptr);
}

}  // namespace
}  // namespace berth::admission
