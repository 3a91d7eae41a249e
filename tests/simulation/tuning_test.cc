// Goal: a policy is proposed that shortens the mean wait and worsens nothing else, or none.
// Method: rows of figures; a small cluster.
#include "simulation/tuning.h"

#include <set>

#include <gtest/gtest.h>

#include "api/queue_policy.h"

namespace berth::simulation {
namespace {

PolicyTrial Trial(const std::string& name, double mean, double p99, double destroyed = 0,
                  double unfinished = 0) {
  PolicyTrial trial{name, {}, {}};
  trial.figures.wait_mean = mean;
  trial.figures.wait_p99 = p99;
  trial.figures.destroyed["gpu"] = destroyed;
  trial.figures.unfinished = unfinished;
  return trial;
}

TEST(TuningTest, ProposalWorsensNoOtherMeasureMuch) {
  struct Row {
    const char* name;
    std::vector<PolicyTrial> trials;
    std::string proposed;  // empty: none
  };
  for (const Row& row : {
           Row{"the shortest mean wait",
               {Trial("now", 100, 500), Trial("a", 90, 500), Trial("b", 80, 500)},
               "b"},
           Row{"not for longer waits of a few",
               {Trial("now", 100, 500), Trial("a", 90, 540), Trial("b", 10, 560)},
               "a"},
           Row{"not for lost work",
               {Trial("now", 100, 500, 10), Trial("a", 90, 500, 11), Trial("b", 10, 500, 12)},
               "a"},
           Row{"not for jobs that never run",
               {Trial("now", 100, 500, 0, 1), Trial("a", 90, 500, 0, 2)},
               ""},
           Row{"not for a few percent", {Trial("now", 100, 500), Trial("a", 96, 100)}, ""},
           Row{"nothing waits", {Trial("now", 0, 0), Trial("a", 0, 0)}, ""},
       }) {
    const auto proposed = ProposedTrial(row.trials, "gpu");
    EXPECT_EQ(proposed ? row.trials[*proposed].name : "", row.proposed) << row.name;
  }
}

TEST(TuningTest, TrialsAreDistinctValidPolicies) {
  const std::vector<PolicyTrial> trials = PolicyTrials();
  EXPECT_TRUE(trials[0].annotations.empty()) << "the first changes nothing";
  std::set<std::string> names;
  std::set<api::StringMap> policies;
  for (const PolicyTrial& trial : trials) {
    EXPECT_TRUE(api::ReadQueuePolicy(trial.annotations)) << trial.name;
    names.insert(trial.name);
    policies.insert(trial.annotations);
  }
  EXPECT_EQ(names.size(), trials.size());
  EXPECT_EQ(policies.size(), trials.size());
}

TEST(TuningTest, TrialReplacesThePolicyOfEveryQueue) {
  Cluster cluster;
  cluster.cluster_queues.resize(2);
  cluster.cluster_queues[0].meta.annotations = {{api::kOrderAnnotation, "Fifo"}, {"other", "x"}};
  const PolicyTrial trial{"t", {{api::kOrderAnnotation, "ShortestFirst"}}, {}};
  const Cluster tried = WithPolicy(cluster, trial);
  EXPECT_EQ(tried.cluster_queues[0].meta.annotations,
            (api::StringMap{{api::kOrderAnnotation, "ShortestFirst"}, {"other", "x"}}));
  EXPECT_EQ(tried.cluster_queues[1].meta.annotations, trial.annotations);
}

}  // namespace
}  // namespace berth::simulation
