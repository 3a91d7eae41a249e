// Goal: which slice of an elastic job counts, and which ones end. Method: a table of slices in
// short form: "a:R" holds quota, "b:P>a" waits and replaces a, "c:RE" holds quota and is evicted;
// times rise with the place, but for "=", which has the time of the slice before it.
#include "integrations/job_slices.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::At;

std::vector<api::Workload> SlicesOf(const std::string& text) {
  std::vector<api::Workload> slices;
  int second = 0;
  for (const std::string_view each : Split(text, ' ')) {
    std::string word(each);
    const bool same_second = word.starts_with('=');
    if (same_second) word.erase(0, 1);
    if (!same_second) ++second;
    api::Workload& slice = slices.emplace_back();
    const std::size_t colon = word.find(':');
    slice.meta = {.namespace_name = "ns", .name = word.substr(0, colon)};
    slice.meta.uid = slice.meta.name;
    slice.meta.creation_timestamp = At(second);
    const std::size_t arrow = word.find('>');
    const std::string state = word.substr(colon + 1, arrow - colon - 1);
    if (state[0] == 'R') testing::SetTrue(slice, api::kQuotaReserved);
    if (state.ends_with('E')) testing::SetTrue(slice, api::kEvicted);
    if (arrow != std::string::npos) {
      slice.meta.annotations[api::kSliceReplacementForAnnotation] = "ns/" + word.substr(arrow + 1);
    }
  }
  return slices;
}

// "head=a pending=b; ended c WorkloadSliceReplaced"
std::string Sorted(const std::string& text) {
  const std::vector<api::Workload> slices = SlicesOf(text);
  std::vector<const api::Workload*> pointers;
  for (const api::Workload& slice : slices) pointers.push_back(&slice);
  const JobSlices sorted = SortSlices(pointers);
  std::string told;
  if (sorted.head != nullptr) told += "head=" + sorted.head->meta.name;
  if (sorted.pending != nullptr) {
    told += (told.empty() ? "" : " ") + ("pending=" + sorted.pending->meta.name);
  }
  for (const EndedSlice& ended : sorted.ended) {
    told += "; ended " + ended.slice->meta.name + " " + ended.reason;
  }
  return told;
}

TEST(JobSlicesTest, SortsSlicesIntoHeadPendingAndEnded) {
  struct SliceRow {
    const char* name;
    const char* slices;
    const char* sorted;
  };
  const SliceRow rows[] = {
      {"one that waits", "a:P", "pending=a"},
      {"one with quota", "a:R", "head=a"},
      {"growth", "a:R b:P>a", "head=a pending=b"},
      {"the next one is reserved", "a:R b:R>a", "head=b; ended a WorkloadSliceReplaced"},
      {"a second growth while the first waits", "a:R b:P>a c:P>a",
       "head=a pending=c; ended b OutOfSync"},
      {"two claims on one: the reserved one wins", "a:R b:R>a c:P>a",
       "head=b; ended a WorkloadSliceReplaced; ended c OutOfSync"},
      {"a fork, both reserved: the newest", "a:R b:R>a c:R>a",
       "head=c; ended a WorkloadSliceReplaced; ended b OutOfSync"},
      {"a chain that was not tidied", "a:R b:R>a c:P>b",
       "head=b pending=c; ended a WorkloadSliceReplaced"},
      {"of one second", "a:R =b:R>a", "head=b; ended a WorkloadSliceReplaced"},
      {"of one second, the older has the greater UID", "b:R =a:R>b",
       "head=a; ended b WorkloadSliceReplaced"},
      {"no quota at all: the newest", "a:P b:P>a", "pending=b; ended a WorkloadSliceReplaced"},
      {"the old one is evicted", "a:PE b:P>a", "pending=b; ended a WorkloadSliceReplaced"},
      {"the only one is evicted", "a:PE", "pending=a"},
      {"all are evicted: the newest", "a:PE b:PE>a", "pending=b; ended a WorkloadSliceReplaced"},
      {"an orphan beside the head", "a:R b:P", "head=a; ended b OutOfSync"},
  };
  for (const SliceRow& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Sorted(row.slices), row.sorted);
  }
}

TEST(JobSlicesTest, ComparesTheJobsCountsWithItsSlice) {
  struct ChangeRow {
    const char* name;
    bool reserved;
    std::vector<std::int32_t> slice, job;
    SliceChange change;
  };
  const ChangeRow rows[] = {
      {"equal", true, {3}, {3}, SliceChange::kNone},
      {"up, waits", false, {3}, {4}, SliceChange::kSetCounts},
      {"up, with quota", true, {3}, {4}, SliceChange::kGrow},
      {"down, with quota", true, {3}, {2}, SliceChange::kSetCounts},
      {"down, waits", false, {3}, {2}, SliceChange::kSetCounts},
      {"one up, one down, with quota", true, {3, 3}, {4, 2}, SliceChange::kGrow},
      {"one down", true, {3, 3}, {3, 2}, SliceChange::kSetCounts},
      {"more pod sets", true, {3}, {3, 1}, SliceChange::kOther},
  };
  for (const ChangeRow& row : rows) {
    SCOPED_TRACE(row.name);
    const auto pod_sets = [](const std::vector<std::int32_t>& counts) {
      std::vector<api::JobPodSet> made;
      for (const std::int32_t count : counts) {
        api::JobPodSet& pods = made.emplace_back();
        pods.name = "p" + std::to_string(made.size());
        pods.count = count;
      }
      return made;
    };
    JobView job;
    job.pod_sets = pod_sets(row.job);
    api::Workload slice;
    api::SetPodSets(pod_sets(row.slice), slice.spec);
    if (row.reserved) testing::SetTrue(slice, api::kQuotaReserved);
    EXPECT_EQ(ChangeOf(job, slice), row.change);
    if (row.change == SliceChange::kOther) continue;
    EXPECT_EQ(WithCountsOf(job, slice).front().count, row.job.front());
    job.pod_sets.front().name = "renamed";
    EXPECT_EQ(ChangeOf(job, slice), SliceChange::kOther);
  }
}

TEST(JobSlicesTest, TheChainKeepsTheNameOfItsFirstSlice) {
  api::Workload first;
  first.meta = {.namespace_name = "ns", .name = "job-a-1"};
  EXPECT_EQ(ChainOf(first), "");
  MarkSlice(nullptr, first);
  EXPECT_EQ(ChainOf(first), "job-a-1");
  api::Workload second;
  second.meta = {.namespace_name = "ns", .name = "job-a-2"};
  MarkSlice(&first, second);
  EXPECT_EQ(ChainOf(second), "job-a-1");
  EXPECT_EQ(second.meta.annotations.at(api::kSliceReplacementForAnnotation), "ns/job-a-1");
  EXPECT_EQ(second.meta.annotations.at(api::kElasticJobAnnotation), "true");
  api::Workload third;
  third.meta = {.namespace_name = "ns", .name = "job-a-3"};
  MarkSlice(&second, third);
  EXPECT_EQ(ChainOf(third), "job-a-1");
}

}  // namespace
}  // namespace berth::integrations
