// Goal: the store and its indexes say what a plain map of the same objects says.
// Method: random puts and removes beside a model, all answers compared after each.

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
    }
  }

  ObjectStore<api::Namespace> store_;
  std::map<api::ObjectKey, Ptr> model_;
};

TEST_F(ObjectStoreTest, SaysWhatAMapSays) {
  Random random(11);
  const std::vector<std::string> teams{"", "red", "blue"};
  for (int round = 0; round < 3000; ++round) {
    const std::string space(1, static_cast<char>('a' + random.Below(3)));
    const std::string name = "n" + std::to_string(random.Below(6));
    const api::ObjectKey key{space, name};
    if (random.Below(3) == 0) {
      EXPECT_EQ(store_.Remove(key), model_.contains(key) ? model_[key] : nullptr);
      model_.erase(key);
    } else {
      const Ptr object = Make(space, name, teams[random.Below(3)], std::to_string(round));
      const Ptr old = model_.contains(key) ? model_[key] : nullptr;
      EXPECT_EQ(store_.GetLike(object), old);
      EXPECT_EQ(store_.Put(object), old);
      model_[key] = object;
      EXPECT_EQ(store_.Get(key), object);
    }
    ASSERT_NO_FATAL_FAILURE(Compare());
  }
}

TEST_F(ObjectStoreTest, UnknownIndexesAndKeysAreEmpty) {
  EXPECT_EQ(store_.Get({"a", "b"}), nullptr);
  EXPECT_EQ(store_.Remove({"a", "b"}), nullptr);
  EXPECT_TRUE(store_.ByIndex("no such index", "x").empty());
}

}  // namespace
}  // namespace berth::kube
