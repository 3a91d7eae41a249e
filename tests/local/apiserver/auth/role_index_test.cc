// Goal: the index gives each user the rights of the stored roles and bindings at every time.
// Method: writes to a store in memory; a property that compares the index with a plain walk over
// all bindings after each of many random writes.
#include "local/apiserver/auth/role_index.h"

#include <map>

#include <gtest/gtest.h>

#include "base/random.h"
#include "local/apiserver/store/store.h"

namespace berth::local {
namespace {

Json RoleJson(const std::string& verb, const std::string& resource, const std::string& name = "") {
  Json rule{{"verbs", {verb}}, {"apiGroups", {""}}, {"resources", {resource}}};
  if (!name.empty()) rule["resourceNames"].push_back(name);
  return {{"metadata", {{"name", "r"}}}, {"rules", Json::array({rule})}};
}

Json BindingJson(const std::string& kind, const std::string& role,
                 const std::vector<Json>& subjects) {
  return {{"metadata", {{"name", "b"}}},
          {"roleRef", {{"kind", kind}, {"name", role}, {"apiGroup", kRbacGroup}}},
          {"subjects", subjects}};
}

Json User(const std::string& name) { return {{"kind", "User"}, {"name", name}}; }
Json Group(const std::string& name) { return {{"kind", "Group"}, {"name", name}}; }

UserInfo UserIn(const std::string& name, std::vector<std::string> groups = {}) {
  return {.name = name, .uid = "", .groups = std::move(groups), .extra = {}};
}

class RoleIndexTest : public ::testing::Test {
 protected:
  RoleIndexTest() {
    StoreOptions options;
    options.window.max_events = 50;
    auto store = Store::Open(std::move(options));
    EXPECT_TRUE(store);
    store_ = *std::move(store);
    index_ = std::make_unique<RoleIndex>(store_->cache());
  }

  // `object` null: deletes.
  void Put(const char* kind, const std::string& namespace_name, const std::string& name,
           Json object) {
    const ObjectKey key{kind, namespace_name, name};
    const StoredPtr known = store_->GetLatest(key);
    Write write{.kind = Write::Kind::kCreate, .key = key, .object = {}, .expected_revision = 0};
    if (known != nullptr) {
      write.kind = object.is_null() ? Write::Kind::kDelete : Write::Kind::kUpdate;
      write.expected_revision = known->revision();
    }
    write.object = object.is_null() ? *known->json() : std::move(object);
    write.object["metadata"]["name"] = name;
    ASSERT_TRUE(store_->Commit({std::move(write)}));
  }

  bool May(const UserInfo& user, const std::string& verb, const std::string& resource,
           const std::string& namespace_name) {
    AccessAttributes asks;
    asks.verb = verb;
    asks.resource = resource;
    asks.namespace_name = namespace_name;
    return index_->Allows(user, asks).has_value();
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<RoleIndex> index_;
};

// The buckets of such a role would be two hundred millions: it is compared word by word.
TEST_F(RoleIndexTest, RoleOfLongListsIsIndexedWithoutTheirProduct) {
  Json words = Json::array();
  for (int i = 0; i < 600; ++i) words.push_back("w" + std::to_string(i));
  const Json rule{
      {"verbs", words}, {"apiGroups", {""}}, {"resources", words}, {"resourceNames", words}};
  Put(kRoles, "a", "cube", {{"rules", Json::array({rule})}});
  Put(kRoleBindings, "a", "b", BindingJson("Role", "cube", {User("jane")}));
  AccessAttributes asks;
  asks.verb = "w7";
  asks.resource = "w599";
  asks.namespace_name = "a";
  asks.name = "w0";
  EXPECT_TRUE(index_->Allows(UserIn("jane"), asks));
  asks.name = "w600";
  EXPECT_FALSE(index_->Allows(UserIn("jane"), asks));
}

TEST_F(RoleIndexTest, BindingsGrantRolesInTheirNamespaceOrEverywhere) {
  Put(kRoles, "a", "reader", RoleJson("get", "pods"));
  Put(kClusterRoles, "", "lister", RoleJson("list", "pods"));
  Put(kRoleBindings, "a", "b1", BindingJson("Role", "reader", {User("jane")}));
  Put(kRoleBindings, "b", "b2", BindingJson("ClusterRole", "lister", {Group("team")}));
  Put(kClusterRoleBindings, "", "b3", BindingJson("ClusterRole", "lister", {User("joe")}));
  const UserInfo jane = UserIn("jane", {"team"});
  EXPECT_TRUE(May(jane, "get", "pods", "a"));
  EXPECT_FALSE(May(jane, "get", "pods", "b"));
  EXPECT_FALSE(May(jane, "get", "pods", ""));
  EXPECT_TRUE(May(jane, "list", "pods", "b"));
  EXPECT_FALSE(May(jane, "list", "pods", "a"));
  EXPECT_TRUE(May(UserIn("joe"), "list", "pods", ""));
  EXPECT_TRUE(May(UserIn("joe"), "list", "pods", "a"));
  EXPECT_FALSE(May(UserIn("team"), "list", "pods", "b")) << "a user is no group";
  EXPECT_FALSE(May(UserIn("x", {"joe"}), "list", "pods", "a"));
}

TEST_F(RoleIndexTest, BindingBeforeItsRoleGrantsItWhileTheRoleExists) {
  Put(kRoleBindings, "a", "b1", BindingJson("Role", "reader", {User("jane")}));
  EXPECT_FALSE(May(UserIn("jane"), "get", "pods", "a"));
  EXPECT_FALSE(index_->RulesOfRole("a", "reader"));
  Put(kRoles, "a", "reader", RoleJson("get", "pods"));
  EXPECT_TRUE(May(UserIn("jane"), "get", "pods", "a"));
  Put(kRoles, "a", "reader", RoleJson("list", "pods"));
  EXPECT_FALSE(May(UserIn("jane"), "get", "pods", "a"));
  EXPECT_TRUE(May(UserIn("jane"), "list", "pods", "a"));
  Put(kRoles, "a", "reader", nullptr);
  EXPECT_FALSE(May(UserIn("jane"), "list", "pods", "a"));
}

TEST_F(RoleIndexTest, AServiceAccountOfARoleBindingIsOfItsNamespaceByDefault) {
  Put(kClusterRoles, "", "reader", RoleJson("get", "pods"));
  const Json here{{"kind", "ServiceAccount"}, {"name", "sa"}};
  const Json there{{"kind", "ServiceAccount"}, {"name", "sa"}, {"namespace", "other"}};
  Put(kRoleBindings, "a", "b", BindingJson("ClusterRole", "reader", {here, there}));
  EXPECT_TRUE(May(UserIn("system:serviceaccount:a:sa"), "get", "pods", "a"));
  EXPECT_TRUE(May(UserIn("system:serviceaccount:other:sa"), "get", "pods", "a"));
  EXPECT_FALSE(May(UserIn("system:serviceaccount:other:sa"), "get", "pods", "other"));
  Put(kClusterRoleBindings, "", "b", BindingJson("ClusterRole", "reader", {here}));
  EXPECT_FALSE(May(UserIn("system:serviceaccount:a:sa"), "get", "pods", "b"));
}

TEST_F(RoleIndexTest, ManyWritesBetweenTwoChecksAreIndexed) {
  Put(kClusterRoles, "", "reader", RoleJson("get", "pods"));
  EXPECT_FALSE(May(UserIn("u7"), "get", "pods", ""));
  for (int i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    Put(kClusterRoleBindings, "", "b" + number,
        BindingJson("ClusterRole", "reader", {User("u" + number)}));
  }
  EXPECT_TRUE(May(UserIn("u7"), "get", "pods", ""));
  EXPECT_TRUE(May(UserIn("u999"), "get", "pods", ""));
}

// The plain walk: all bindings, all rules.
bool WalkAllows(const WatchCache& cache, const UserInfo& user, const AccessAttributes& asks) {
  for (const char* kind : {kRoleBindings, kClusterRoleBindings}) {
    for (const StoredPtr& stored : cache.List(kind, "").objects) {
      const std::string& home = stored->key().namespace_name;
      if (!home.empty() && home != asks.namespace_name) continue;
      const Object binding = stored->json();
      bool is_subject = false;
      for (const Json& subject : (*binding)["subjects"]) {
        const std::string name = subject["name"];
        is_subject = is_subject || (subject["kind"] == "User"
                                        ? name == user.name
                                        : std::find(user.groups.begin(), user.groups.end(), name) !=
                                              user.groups.end());
      }
      const bool is_cluster_role = (*binding)["roleRef"]["kind"] == "ClusterRole";
      const StoredPtr role =
          cache.Get({is_cluster_role ? kClusterRoles : kRoles, is_cluster_role ? "" : home,
                     (*binding)["roleRef"]["name"].get<std::string>()});
      if (!is_subject || role == nullptr) continue;
      for (const PolicyRule& rule : RulesOf(*role->json())) {
        if (Allows(rule, asks, asks.FullResource())) return true;
      }
    }
  }
  return false;
}

TEST_F(RoleIndexTest, AgreesWithAWalkOverAllBindings) {
  Random random(7);
  const auto pick = [&](std::vector<std::string> words) {
    return words[random.Below(words.size())];
  };
  const std::vector<std::string> spaces{"a", "b"};
  const std::vector<std::string> resources{"pods", "pods/log", "*", "*/log", "jobs"};
  int allowed = 0;
  for (int step = 0; step < 1500; ++step) {
    const std::string name = "n" + std::to_string(random.Below(4));
    const bool is_deletion = random.Below(3) == 0;
    const bool is_cluster = random.Below(2) == 0;
    const std::string home = is_cluster ? "" : pick(spaces);
    if (random.Below(2) == 0) {
      const char* kind = is_cluster ? kClusterRoles : kRoles;
      if (is_deletion && store_->GetLatest({kind, home, name}) == nullptr) continue;
      Put(kind, home, name,
          is_deletion
              ? Json()
              : RoleJson(pick({"get", "list", "*"}), pick(resources), pick({"", "x", "y"})));
    } else {
      const char* kind = is_cluster ? kClusterRoleBindings : kRoleBindings;
      if (is_deletion && store_->GetLatest({kind, home, name}) == nullptr) continue;
      Json subjects = Json::array({User(pick({"u", "v"}))});
      if (random.Below(2) == 0) subjects.push_back(Group(pick({"u", "g"})));
      if (random.Below(4) == 0) subjects.push_back(subjects.front());
      Put(kind, home, name,
          is_deletion ? Json()
                      : BindingJson(is_cluster || random.Below(2) == 0 ? "ClusterRole" : "Role",
                                    "n" + std::to_string(random.Below(4)), subjects));
    }
    for (int question = 0; question < 4; ++question) {
      const UserInfo user = UserIn(pick({"u", "v"}), {pick({"g", "h"})});
      AccessAttributes asks;
      asks.verb = pick({"get", "list"});
      asks.resource = pick({"pods", "jobs"});
      if (random.Below(2) == 0) asks.subresource = "log";
      asks.namespace_name = pick({"", "a", "b"});
      asks.name = pick({"", "x", "y"});
      const bool expected = WalkAllows(store_->cache(), user, asks);
      ASSERT_EQ(index_->Allows(user, asks).has_value(), expected) << "step " << step;
      allowed += expected ? 1 : 0;
    }
  }
  EXPECT_GT(allowed, 400) << "the questions must not all have one answer";
}

}  // namespace
}  // namespace berth::local
