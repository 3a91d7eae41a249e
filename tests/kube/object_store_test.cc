// Goal: the store and its indexes agree with a plain map of the same objects. Method: random puts
// and removes beside a model, all answers compared after each; once more with values whose hashes
// collide.

#include "kube/client/object_store.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/pod.h"
#include "base/random.h"

namespace berth::kube {
namespace {

using Ptr = std::shared_ptr<const api::Namespace>;

Ptr Make(const std::string& space, const std::string& name, const std::string& team,
         const std::string& version) {
  auto made = std::make_shared<api::Namespace>();
  made->meta.namespace_name = space;
  made->meta.name = name;
  made->meta.resource_version = version;
  if (!team.empty()) made->meta.labels["team"] = team;
  return made;
}

std::vector<std::string> TeamOf(const api::Namespace& object) {
  const std::string* team = api::FindValue(object.meta.labels, "team");
  return team == nullptr ? std::vector<std::string>{} : std::vector<std::string>{*team, "any"};
}

struct MeetingHash {  // collisions: "red" and "any", "blue" and "nobody"
  std::size_t operator()(const std::string& value) const { return value.size() % 2; }
};

template <typename Hash>
class ObjectStoreTest : public ::testing::Test {
 protected:
  ObjectStoreTest() { store_.AddIndex("team", TeamOf); }

  std::vector<Ptr> Expected(const std::string& team) const {
    std::vector<Ptr> found;
    for (const auto& [key, object] : model_) {
      const std::vector<std::string> teams = TeamOf(*object);
      if (std::find(teams.begin(), teams.end(), team) != teams.end()) found.push_back(object);
    }
    return found;
  }
  void Compare() const {
    std::vector<Ptr> all;
    for (const auto& [key, object] : model_) all.push_back(object);
    ASSERT_EQ(std::vector<Ptr>(store_.objects().begin(), store_.objects().end()), all);
    for (const char* team : {"red", "blue", "any", "nobody"}) {
      ASSERT_EQ(store_.ByIndex("team", team), Expected(team)) << team;
      ASSERT_EQ(store_.HasIn("team", team), !Expected(team).empty()) << team;
    }
    for (Ptr at = store_.After({}); at != nullptr; at = store_.After(at->meta.key())) {
      ASSERT_FALSE(all.empty());
      ASSERT_EQ(at, all.front());
      all.erase(all.begin());
    }
    ASSERT_TRUE(all.empty());
  }

  ObjectStore<api::Namespace, Hash> store_;
  std::map<api::ObjectKey, Ptr> model_;
};

using Hashes = ::testing::Types<std::hash<std::string>, MeetingHash>;
TYPED_TEST_SUITE(ObjectStoreTest, Hashes);

TYPED_TEST(ObjectStoreTest, AgreesWithAMap) {
  auto& store = this->store_;
  auto& model = this->model_;
  Random random(11);
  const std::vector<std::string> teams{"", "red", "blue"};
  for (int round = 0; round < 3000; ++round) {
    const std::string space(1, static_cast<char>('a' + random.Below(3)));
    const std::string name = "n" + std::to_string(random.Below(6));
    const api::ObjectKey key{space, name};
    if (random.Below(3) == 0) {
      EXPECT_EQ(store.Remove(key), model.contains(key) ? model[key] : nullptr);
      model.erase(key);
    } else {
      const Ptr object = Make(space, name, teams[random.Below(3)], std::to_string(round));
      const Ptr old = model.contains(key) ? model[key] : nullptr;
      EXPECT_EQ(store.GetLike(object), old);
      EXPECT_EQ(store.Put(object), old);
      model[key] = object;
      EXPECT_EQ(store.Get(key), object);
    }
    ASSERT_NO_FATAL_FAILURE(this->Compare());
  }
}

TYPED_TEST(ObjectStoreTest, LateIndexHasTheStoredObjects) {
  auto& store = this->store_;
  for (const char* name : {"a", "b", "c", "d"}) {
    store.Put(Make("space", name, name < std::string("c") ? "red" : "blue", "1"));
  }
  store.AddIndex("late", TeamOf);
  store.Put(Make("space", "b", "blue", "2"));
  store.Remove({"space", "c"});
  for (const char* team : {"red", "blue", "any", "nobody"}) {
    EXPECT_EQ(store.ByIndex("late", team), store.ByIndex("team", team)) << team;
  }
  EXPECT_EQ(store.ByIndex("late", "blue").size(), 2U);
}

TYPED_TEST(ObjectStoreTest, UnknownIndexesAndKeysAreEmpty) {
  EXPECT_EQ(this->store_.Get({"a", "b"}), nullptr);
  EXPECT_EQ(this->store_.Remove({"a", "b"}), nullptr);
  EXPECT_EQ(this->store_.After({"a", "b"}), nullptr);
  EXPECT_FALSE(this->store_.HasIn("no such index", "x"));
  EXPECT_TRUE(this->store_.ByIndex("no such index", "x").empty());
}

}  // namespace
}  // namespace berth::kube
