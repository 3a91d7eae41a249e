// What the answer to "may this user do this?" costs with many roles: nanoseconds a question.
//
//   access_bench [ROLES]     1000 by default; tools/bench-local access runs it
//
// spread: a binding for each role, each of another user; the user who asks has one.
// one user: every role is bound to the user who asks, in the whole cluster.
// refused: as spread, for a user who lacks the right.
// shared: every role names the resource, every role is bound to the user who asks; refused.
// named: every role names the resource and one object, all are bound to the user who asks.
// written: as spread, after a write of another kind before each question.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/auth/default_roles.h"
#include "local/apiserver/store/store.h"

namespace {

using namespace berth::local;  // NOLINT(google-build-using-namespace): a program of one file

void Put(Store& store, const char* kind, const std::string& name, Json object) {
  object["metadata"]["name"] = name;
  if (!store.Commit({{Write::Kind::kCreate, {kind, "", name}, std::move(object), 0}})) std::abort();
}

Json RoleOf(int number) {
  const std::string resource = "things" + std::to_string(number);
  return {{"rules",
           {{{"verbs", {"get", "list", "watch"}},
             {"apiGroups", {"", "example.com"}},
             {"resources", {resource, "pods", "configmaps"}}},
            {{"verbs", {"get"}},
             {"apiGroups", {"example.com"}},
             {"resources", {"secrets"}},
             {"resourceNames", {"secret-of-" + resource}}}}}};
}

Json BindingOf(const std::string& role, const std::string& user) {
  Json binding{{"roleRef", {{"kind", "ClusterRole"}, {"name", role}}}};
  binding["subjects"].push_back(Json{{"kind", "User"}, {"name", user}});
  return binding;
}

struct Cluster {
  explicit Cluster(int roles, bool one_user) : store(*Store::Open({})), index(store->cache()) {
    for (const Json& role : DefaultClusterRoles()) {
      Put(*store, kClusterRoles, role["metadata"]["name"], role);
    }
    for (const Json& binding : DefaultClusterRoleBindings()) {
      Put(*store, kClusterRoleBindings, binding["metadata"]["name"], binding);
    }
    for (int i = 0; i < roles; ++i) {
      const std::string number = std::to_string(i);
      Put(*store, kClusterRoles, "role-" + number, RoleOf(i));
      Put(*store, kClusterRoleBindings, "binding-" + number,
          BindingOf("role-" + number, one_user ? "user" : "user-" + number));
    }
  }
  std::unique_ptr<Store> store;
  RoleIndex index;
};

double Measure(Cluster& cluster, const std::string& name, const std::string& resource, bool allowed,
               bool written, const char* verb = "get", const std::string& object = "x") {
  constexpr int kQuestions = 100'000;
  const UserInfo user{
      .name = name, .uid = "", .groups = {"team", kAuthenticatedGroup}, .extra = {}};
  AccessAttributes asks;
  asks.verb = verb;
  asks.group = "example.com";
  asks.resource = resource;
  asks.namespace_name = "default";
  asks.name = object;
  std::chrono::nanoseconds spent{};
  for (int i = 0; i < kQuestions; ++i) {
    if (written) Put(*cluster.store, "configmaps", "m" + std::to_string(i), Json::object());
    const auto begun = std::chrono::steady_clock::now();
    if (Authorize(cluster.index, user, asks).allowed != allowed) std::abort();
    spent += std::chrono::steady_clock::now() - begun;
  }
  return static_cast<double>(spent.count()) / kQuestions;
}

}  // namespace

int main(int argc, char** argv) {
  const int roles = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::string last = std::to_string(roles - 1);
  Cluster spread(roles, false);
  Cluster one(roles, true);
  std::printf("roles %d\n", roles);
  std::printf("spread    %7.0f ns\n",
              Measure(spread, "user-" + last, "things" + last, true, false));
  std::printf("one user  %7.0f ns\n", Measure(one, "user", "things" + last, true, false));
  std::printf("refused   %7.0f ns\n", Measure(spread, "user-0", "things" + last, false, false));
  std::printf("shared    %7.0f ns\n", Measure(one, "user", "pods", false, false, "delete"));
  std::printf("named     %7.0f ns\n",
              Measure(one, "user", "secrets", true, false, "get", "secret-of-things" + last));
  std::printf("written   %7.0f ns\n", Measure(spread, "user-" + last, "things" + last, true, true));
  return 0;
}
