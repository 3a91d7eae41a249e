// Goal: --controllers names what runs; a word that no controller has is refused with the known
// ones.
#include "program/controller_selection.h"

#include <gtest/gtest.h>

namespace berth::program {
namespace {

ControllerSelection None() {
  return {.core = false,
          .scheduler = false,
          .tas = false,
          .elasticjobs = false,
          .checks = {},
          .jobs = {}};
}

TEST(ControllerSelection, ListNamesTheControllersThatRun) {
  struct Row {
    const char* list;
    ControllerSelection selection;
  };
  ControllerSelection core_and_jobs = None();
  core_and_jobs.core = true;
  core_and_jobs.jobs = {"batch/job"};
  ControllerSelection without = {};
  without.checks.erase("provisioning");
  without.jobs.erase("batch/job");
  ControllerSelection batch_jobs = {};
  batch_jobs.jobs = {"batch/job"};
  for (const Row& row :
       {Row{"*", {}}, Row{"", None()}, Row{" ", None()}, Row{"core, jobs/batch/job", core_and_jobs},
        Row{"core,scheduler,tas,provisioning,elasticjobs,jobs/batch/job", batch_jobs},
        Row{"*,-provisioning,-jobs/batch/job", without}}) {
    const auto selection = ParseControllers(row.list);
    ASSERT_TRUE(selection) << row.list << ": " << selection.error().message;
    EXPECT_EQ(*selection, row.selection) << row.list;
  }
  EXPECT_FALSE(ParseControllers("")->any());
  EXPECT_TRUE(ParseControllers("tas")->any());
}

TEST(ControllerSelection, UnknownWordsAreRefused) {
  for (const char* list : {"cores", "core,,tas", "jobs/none", "-", "-cores"}) {
    const auto selection = ParseControllers(list);
    ASSERT_FALSE(selection) << list;
    EXPECT_NE(selection.error().message.find("is not one of core, scheduler"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::program
