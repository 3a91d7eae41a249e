// Goal: the number tables of LocalQueues, namespaces and ClusterQueues are bounded by the existing
// objects, and a reused number has no state of its earlier name. Method: many objects of new names
// that come and go in random order, beside a plain list.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "queue/queue_set.h"

namespace berth::queue {
namespace {

constexpr int kAlive = 20;  // the most of each kind at a time
constexpr int kSteps = 20'000;

class Dice {
 public:
  int Below(int count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state_ >> 33U) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_ = 7;
};

class NumbersTest : public testing::Test {
 protected:
  NumbersTest() {
    main_ = queues_.ClusterQueueNumber("main");
    ClusterQueueSettings settings;
    settings.active = true;
    settings.namespace_selector.emplace();
    queues_.SetClusterQueue(main_, settings);
  }
  WorkloadInfo Info(const std::string& namespace_name, const std::string& queue) {
    auto object = std::make_shared<api::Workload>();
    object->meta.namespace_name = namespace_name;
    object->meta.name = object->meta.uid = "w";
    object->spec.queue_name = queue;
    WorkloadInfo info;
    info.object = std::move(object);
    return info;
  }
  // Sizes of the number tables, which are bounded by the objects that exist.
  struct Sizes {
    std::size_t local_queues = 0;
    std::size_t namespaces = 0;
    std::int32_t cluster_queues = 0;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  Sizes SizesNow() {
    return {queues_.local_queues().size(), queues_.namespaces().size(),
            queues_.cluster_queue_names().size()};
  }

  QueueSet queues_{true};
  ClusterQueueId main_ = -1;
};

TEST_F(NumbersTest, AreBoundedByTheObjectsThatExist) {
  struct Workload {
    WorkloadInfo info;
    std::string space;
  };
  Dice dice;
  std::map<std::string, std::string> spaces;  // and the ClusterQueue of the LocalQueue in each
  std::map<WorkloadId, Workload> workloads;
  const auto any_space = [&] {
    auto found = spaces.begin();
    std::advance(found, dice.Below(static_cast<int>(spaces.size())));
    return found;
  };
  for (int step = 0; step < kSteps; ++step) {
    const auto id = static_cast<WorkloadId>(dice.Below(kAlive));
    if (spaces.size() < kAlive && dice.Below(2) == 0) {
      const std::string name = "ns-" + std::to_string(step);
      const std::string to = dice.Below(2) == 0 ? "main" : "unknown-" + std::to_string(step);
      queues_.namespaces().Set(name, {});
      queues_.SetLocalQueue({name, "q"}, to, api::StopPolicy::kNone);
      spaces[name] = to;
    } else if (!spaces.empty() && dice.Below(3) == 0) {  // its workloads may stay
      const auto gone = any_space();
      queues_.RemoveLocalQueue({gone->first, "q"});
      queues_.namespaces().Remove(gone->first);
      spaces.erase(gone);
    } else if (!spaces.empty() && !workloads.contains(id)) {
      const std::string space = any_space()->first;
      Workload& added = workloads[id] = {Info(space, "q"), space};
      queues_.Upsert(id, nullptr, added.info, {});
    } else if (workloads.contains(id)) {
      queues_.Remove(id);
      workloads.erase(id);
    }
    const Sizes sizes = SizesNow();
    ASSERT_LE(sizes.local_queues, 2U * kAlive);
    ASSERT_LE(sizes.namespaces, 2U * kAlive);
    ASSERT_LE(sizes.cluster_queues, 1 + 2 * kAlive);
    for (const auto& [waiting, workload] : workloads) {
      const auto space = spaces.find(workload.space);
      const bool queued = space != spaces.end() && space->second == "main";
      ASSERT_EQ(queues_.PlaceOf(waiting) != Destination::kNone, queued) << "step " << step;
      ASSERT_EQ(queues_.NamespacePasses(main_, workload.space), space != spaces.end());
    }
    for (const auto& [name, to] : spaces) {
      ASSERT_EQ(queues_.cluster_queue_names()[*queues_.local_queues().RouteOf({name, "q"})], to);
    }
  }
}

TEST_F(NumbersTest, QueryOfAnUnknownNameMakesNoNumber) {
  const Sizes before = SizesNow();
  for (int i = 0; i < 100; ++i) {
    const api::ObjectKey key{"ns", std::to_string(i)};
    EXPECT_TRUE(queues_.local_queues().MembersOf(key).empty());
    queues_.SetUsage(key, 1.0);
    queues_.RemoveLocalQueue(key);
    queues_.namespaces().Remove(key.name);
  }
  EXPECT_EQ(SizesNow(), before);
}

TEST_F(NumbersTest, LocalQueueThatMovesReleasesItsOldClusterQueuesName) {
  for (int i = 0; i < 100; ++i) {
    queues_.SetLocalQueue({"ns", "q"}, "cq-" + std::to_string(i), api::StopPolicy::kNone);
  }
  EXPECT_LE(SizesNow().cluster_queues, 3);
  EXPECT_EQ(queues_.cluster_queue_names()[*queues_.local_queues().ClusterQueueOf({"ns", "q"})],
            "cq-99");
}

TEST(Names, ReleasedNumberIsReused) {
  Names names;
  EXPECT_EQ(names.Intern("a"), 0);
  EXPECT_EQ(names.Intern("b"), 1);
  names.Release(0);
  EXPECT_EQ(names.Find("a"), Names::kNone);
  EXPECT_EQ(names.Intern("c"), 0);
  EXPECT_EQ(names[0], "c");
  EXPECT_EQ(names.Find("c"), 0);
  EXPECT_EQ(names.Intern("a"), 2);
  EXPECT_EQ(names.size(), 3);
}

TEST(Names, NeverHeldNamesAreReleasedBeyondTheIdleBound) {
  Names names;
  const std::int32_t held = names.Lend("held");
  names.Hold(held);
  for (int i = 0; i < 20'000; ++i) {
    names.Lend("lent-" + std::to_string(i));
    names.Hold(held);
    names.Drop(held);
  }
  EXPECT_LE(names.size(), static_cast<std::int32_t>(Names::kMostIdle) + 3);
  EXPECT_EQ(names[held], "held");
}

TEST(Names, IdleNumberIsReleasedOnce) {
  Names names;
  names.Release(names.Lend("a"));
  EXPECT_EQ(names.Lend("b"), 0);
  names.Release(0);
  const std::int32_t held = names.Intern("held");
  for (int i = 0; i < 2'000; ++i) {
    const std::int32_t lent = names.Lend("lent-" + std::to_string(i));
    names.Hold(lent);
    names.Drop(lent);
    ASSERT_NE(lent, held);
  }
  EXPECT_EQ(names[held], "held");
}

TEST(Names, NamesWithoutHoldersAreReleasedBeyondTheIdleBound) {
  Names names;
  const std::int32_t kept = names.Intern("kept");
  const std::int32_t held = names.Lend("held");
  names.Hold(held);
  for (int i = 0; i < 20'000; ++i) {
    const std::int32_t lent = names.Lend("lent-" + std::to_string(i));
    names.Hold(lent);
    names.Hold(lent);
    names.Drop(lent);
    EXPECT_EQ(names[lent], "lent-" + std::to_string(i));
    names.Drop(lent);
    EXPECT_EQ(names[lent], "lent-" + std::to_string(i)) << "a message may still name it";
    if (i % 3 == 0) {
      names.Hold(kept);
      names.Drop(kept);
    }
  }
  EXPECT_LE(names.size(), static_cast<std::int32_t>(Names::kMostIdle) + 3);
  EXPECT_EQ(names.Find("lent-0"), Names::kNone);
  EXPECT_EQ(names.Find("held"), held);
  EXPECT_EQ(names.Find("kept"), kept);
  names.Drop(held);
  const std::int32_t again = names.Lend("held");
  EXPECT_EQ(again, held);
  names.Hold(again);
  for (int i = 0; i < 5'000; ++i) {
    const std::int32_t lent = names.Lend("more-" + std::to_string(i));
    names.Hold(lent);
    names.Drop(lent);
  }
  EXPECT_EQ(names[held], "held") << "it was held again while it was idle";
}

}  // namespace
}  // namespace berth::queue
