// Goal: stories edit pod templates, have prebuilt Workloads and use two topologies; a user's edit
// of a suspended job's template is the job's template from then on. Method: the lines of many seeds
// are counted; small stories and histories for the rest.
#include "tests/faults/more_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/faults/episode.h"
#include "tests/faults/history.h"
#include "tests/faults/standing.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

int StoriesWith(const std::string& words) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    count += Tell(MakeStory(seed)).find(words) == std::string::npos ? 0 : 1;
  }
  return count;
}

TEST(MoreEditsTest, ManyStoriesHaveTheFurtherEdits) {
  EXPECT_GT(StoriesWith("spec: {template: "), 40);
  EXPECT_GT(StoriesWith("prebuilt-workload-name="), 30);
  EXPECT_GT(StoriesWith("topology dz zone"), 20);
  EXPECT_GT(StoriesWith("# 2 replicas"), 20);
}

TEST(MoreEditsTest, JobRunsWithItsPrebuiltWorkload) {
  Story story;
  story.seed = 7;
  story.setup = {"node n cpu=64 label=pool=f", "flavor f label=pool=f", "cluster-queue cq f/cpu=2",
                 "local-queue q -> cq"};
  story.events = {{seconds(10), "job a queue=q cpu=2 runs=20s"}};
  story.length = seconds(60);
  Random random(3);
  AddPrebuilt(story, random);
  ASSERT_EQ(story.events.size(), 2U);
  const Outcome outcome = Play(story, {.chronicle = true});
  ASSERT_FALSE(outcome.violation) << outcome.violation->text;
  EXPECT_EQ(outcome.jobs_finished, 1);
  std::string told;
  for (const std::string& line : outcome.chronicle) told += line + "\n";
  EXPECT_THAT(told, HasSubstr("workloads/default/ready-0: Finished=True"));
}

class TemplateTest : public HistoryTest {
 protected:
  TemplateTest() : standing_(invariants_, {.patience = seconds(10)}) {}

  const JobFacts& Job() const { return invariants_.truth().jobs().at({"default", "j"}); }
  void ChangeByPeople(const char* pointer, const Json& value) {
    const JobFacts before = Job();
    Change("jobs.batch", "default", "j", pointer, value);
    standing_.OnJobEdited(before, Job());
  }
  void LookForLong() {
    standing_.Look(seconds(1), nullptr);
    standing_.Look(seconds(11), nullptr);
  }

  Standing standing_;
};

constexpr char kSelector[] = "/spec/template/spec/nodeSelector";

TEST_F(TemplateTest, UsersTemplateChangeMustBeKept) {
  PutJob("j", true);
  standing_.OnJobMade(Job());
  ChangeByPeople(kSelector, {{"pool", "other"}});
  LookForLong();
  EXPECT_EQ(Broken(), "");
  Change("jobs.batch", "default", "j", kSelector, {{"pool", "f"}});
  LookForLong();
  EXPECT_EQ(Broken(), "template-changed") << "their change is lost";
}

TEST_F(TemplateTest, UsersChangeBeforeTheTemplateIsRestoredIsNotChecked) {
  PutJob("j", true);
  standing_.OnJobMade(Job());
  Change("jobs.batch", "default", "j", kSelector, {{"pool", "flavors"}});
  ChangeByPeople(kSelector, {{"pool", "theirs"}});
  LookForLong();
  EXPECT_EQ(Broken(), "");
}

// Its owner suspended the job of an admitted Workload: the next stop restores what the Workload
// says.
TEST_F(TemplateTest, UsersChangeDuringAnAdmissionIsNotChecked) {
  PutJob("j", true);
  PutWorkload("w", "j", "4", true);
  standing_.OnJobMade(Job());
  ChangeByPeople(kSelector, {{"pool", "theirs"}});
  Change("jobs.batch", "default", "j", kSelector, nullptr);
  LookForLong();
  EXPECT_NE(Broken(), "template-changed");
}

TEST_F(TemplateTest, UsersChangeBeforeAnAdmissionMustBeKept) {
  PutJob("j", true);
  PutWorkload("w", "j", "4", false);
  standing_.OnJobMade(Job());
  ChangeByPeople(kSelector, {{"pool", "theirs"}});
  Change("jobs.batch", "default", "j", kSelector, nullptr);
  LookForLong();
  EXPECT_EQ(Broken(), "template-changed");
}

// Nothing restores the job of a prebuilt Workload that ended out of sync.
class PrebuiltTemplateTest : public TemplateTest {
 protected:
  std::string BrokenWithWorkload(bool over) {
    PutJob("j", true);
    Change("jobs.batch", "default", "j", "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name",
           "w");
    standing_.OnJobMade(Job());
    PutWorkload("w", "j", "4", false);
    if (over) {
      Change(kWorkloads, "default", "w", "/status/conditions/-", Condition("Finished", true));
    }
    Change("jobs.batch", "default", "j", kSelector, {{"pool", "flavors"}});
    LookForLong();
    return Broken();
  }
};

TEST_F(PrebuiltTemplateTest, TemplateOfAJobWithAFinishedWorkloadIsNotChecked) {
  EXPECT_EQ(BrokenWithWorkload(true), "");
}

TEST_F(PrebuiltTemplateTest, TemplateOfAJobWithAWaitingWorkloadIsChecked) {
  EXPECT_EQ(BrokenWithWorkload(false), "template-changed");
}

// The labels of pods are no part of the comparison of a job with its prebuilt Workload, as in
// Kueue.
TEST_F(PrebuiltTemplateTest, LabelsMissingFromThePrebuiltWorkloadAreNotChecked) {
  constexpr char kLabels[] = "/spec/template/metadata/labels";
  PutJob("j", true);
  Change("jobs.batch", "default", "j", "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name",
         "w");
  standing_.OnJobMade(Job());
  ChangeByPeople(kLabels, {{"team", "b"}});
  PutWorkload("w", "j", "4", false);
  Change("jobs.batch", "default", "j", kLabels, nullptr);
  LookForLong();
  EXPECT_NE(Broken(), "template-changed");
}

// No controller may have heard of a change that is a moment old when the Workload is admitted.
class AdmittedAfterAChangeTest : public TemplateTest {
 protected:
  std::string BrokenIfAdmittedAfter(Duration span) {
    PutJob("j", true);
    PutWorkload("w", "j", "4", false);
    standing_.OnJobMade(Job());
    ChangeByPeople(kSelector, {{"pool", "theirs"}});
    now_ += span;
    PutWorkload("w", "j", "4", true);
    standing_.OnWorkload(invariants_.truth().workloads().at({"default", "w"}));
    Change("jobs.batch", "default", "j", kSelector, {{"pool", "f"}});
    LookForLong();
    return Broken();
  }
};

TEST_F(AdmittedAfterAChangeTest, ChangeThatMayBeUnseenIsNotChecked) {
  EXPECT_NE(BrokenIfAdmittedAfter(seconds(1)), "template-changed");
}

TEST_F(AdmittedAfterAChangeTest, ChangeThatWasSeenMustBeKept) {
  EXPECT_EQ(BrokenIfAdmittedAfter(seconds(3)), "template-changed");
}

// The labels of the Workload are those of the job that its controller saw.
class MadeAfterAChangeTest : public TemplateTest {
 protected:
  std::string BrokenIfMadeAfter(Duration span) {
    constexpr char kLabels[] = "/spec/template/metadata/labels";
    PutJob("j", true);
    standing_.OnJobMade(Job());
    ChangeByPeople(kLabels, {{"team", "b"}});
    now_ += span;
    PutWorkload("w", "j", "4", false);
    standing_.OnWorkload(invariants_.truth().workloads().at({"default", "w"}));
    Change("jobs.batch", "default", "j", kLabels, nullptr);
    LookForLong();
    return Broken();
  }
};

TEST_F(MadeAfterAChangeTest, LabelsThatMayBeUnseenAreNotChecked) {
  EXPECT_NE(BrokenIfMadeAfter(seconds(1)), "template-changed");
}

TEST_F(MadeAfterAChangeTest, LabelsThatWereSeenMustBeKept) {
  EXPECT_EQ(BrokenIfMadeAfter(seconds(3)), "template-changed");
}

}  // namespace
}  // namespace berth::sim
