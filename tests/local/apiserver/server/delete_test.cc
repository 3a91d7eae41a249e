// Goal: deletion: finalizers, grace, propagation, preconditions, namespaces.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeleteTest : public ServerTest {};

TEST_F(DeleteTest, DeletionReturnsTheUid) {
  const Json created = Post(kMaps, ConfigMapJson("a")).json;
  const Answer deleted = Delete(std::string(kMaps) + "/a");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.json["status"], "Success");
  EXPECT_EQ(deleted.json["details"],
            (Json{{"name", "a"}, {"kind", "configmaps"}, {"uid", created["metadata"]["uid"]}}));
  EXPECT_EQ(Delete(std::string(kMaps) + "/a").status, 404);
}

TEST_F(DeleteTest, FinalizersDelayTheDeletion) {
  Json object = ConfigMapJson("a");
  object["metadata"]["finalizers"] = {"example.com/x"};
  Post(kMaps, object);
  const std::string a = std::string(kMaps) + "/a";
  const Answer marked = Delete(a);
  EXPECT_TRUE(marked.json["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(marked.json["metadata"]["deletionGracePeriodSeconds"], 0);
  const Answer added =
      Patch(a, "json",
            Json::array(
                {{{"op", "add"}, {"path", "/metadata/finalizers/-"}, {"value", "example.com/y"}}}));
  EXPECT_EQ(added.status, 422);
  EXPECT_THAT(added.message(), HasSubstr("no new finalizers can be added if the object is being "
                                         "deleted"));
  const Answer last = Patch(a, "merge", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.json["metadata"]["name"], "a");
  EXPECT_EQ(Get(a).status, 404);
}

TEST_F(DeleteTest, PreconditionsAreChecked) {
  Post(kMaps, ConfigMapJson("a"));
  const std::string a = std::string(kMaps) + "/a";
  EXPECT_EQ(Delete(a, {{"preconditions", {{"uid", "no"}}}}).status, 409);
  EXPECT_EQ(Delete(a, {{"preconditions", {{"resourceVersion", "1"}}}}).status, 409);
  EXPECT_EQ(Delete(a, {{"propagationPolicy", "Sideways"}}).status, 422);
  EXPECT_EQ(Get(a).status, 200);
}

TEST_F(DeleteTest, PropagationPolicyBecomesAFinalizer) {
  Post(kJobs, JobJson("j"));
  const std::string j = std::string(kJobs) + "/j";
  EXPECT_EQ(Delete(j, {{"propagationPolicy", "Foreground"}}).json["metadata"]["finalizers"],
            Json::array({"foregroundDeletion"}));
  Post(kJobs, JobJson("k"));
  const Answer orphaning = Delete(std::string(kJobs) + "/k");
  EXPECT_EQ(orphaning.json["metadata"]["finalizers"], Json::array({"orphan"}));
  EXPECT_THAT(orphaning.Warnings(), ElementsAre(HasSubstr("child pods are preserved by default")));
  Post(kJobs, JobJson("l"));
  EXPECT_EQ(Delete(std::string(kJobs) + "/l", {{"propagationPolicy", "Background"}}).json["status"],
            "Success");
}

TEST_F(DeleteTest, PodsHaveAGracePeriodOnceTheyHaveANode) {
  Post(kPods, PodJson("a"));
  const std::string a = std::string(kPods) + "/a";
  EXPECT_EQ(Delete(a).json["metadata"]["deletionGracePeriodSeconds"], 0);
  EXPECT_EQ(Get(a).status, 404);  // unscheduled: at once
  Post(kPods, PodJson("b"));
  const std::string b = std::string(kPods) + "/b";
  const Json binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", "b"}}},
                     {"target", {{"kind", "Node"}, {"name", "n1"}}}};
  EXPECT_EQ(Post(b + "/binding", binding).status, 201);
  const Answer twice = Post(b + "/binding", binding);
  EXPECT_EQ(twice.status, 409);
  EXPECT_THAT(twice.message(), HasSubstr("pod b is already assigned to node \"n1\""));
  EXPECT_EQ(Delete(b).json["metadata"]["deletionGracePeriodSeconds"], 30);
  EXPECT_EQ(Delete(b, {{"gracePeriodSeconds", 60}}).json["metadata"]["deletionGracePeriodSeconds"],
            30);
  EXPECT_EQ(Delete(b, {{"gracePeriodSeconds", 5}}).json["metadata"]["deletionGracePeriodSeconds"],
            5);
  EXPECT_EQ(Delete(b, {{"gracePeriodSeconds", -7}}).json["metadata"]["deletionGracePeriodSeconds"],
            1);
  EXPECT_EQ(Delete(b, {{"gracePeriodSeconds", 0}}).status, 200);
  EXPECT_EQ(Get(b).status, 404);
}

// Added to a time, so many seconds would overflow into the past.
TEST_F(DeleteTest, EndlessGracePeriodEndsInTheFuture) {
  Post(kPods, PodJson("c"));
  const std::string c = std::string(kPods) + "/c";
  const Json binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", "c"}}},
                     {"target", {{"kind", "Node"}, {"name", "n1"}}}};
  EXPECT_EQ(Post(c + "/binding", binding).status, 201);
  const Json metadata = Delete(c, {{"gracePeriodSeconds", INT64_MAX}}).json["metadata"];
  EXPECT_EQ(metadata["deletionGracePeriodSeconds"], 3'153'600'000);
  EXPECT_GT(metadata["deletionTimestamp"].get<std::string>(), "2100");
}

TEST_F(DeleteTest, CollectionIsDeletedBySelector) {
  for (const char* name : {"a", "b"}) {
    Json object = ConfigMapJson(name);
    object["metadata"]["labels"] = {{"which", name}};
    Post(kMaps, object);
  }
  const Answer deleted = Delete(std::string(kMaps) + "?labelSelector=which%3Da");
  EXPECT_EQ(deleted.json["items"].size(), 1U);
  EXPECT_EQ(Get(std::string(kMaps) + "/a").status, 404);
  EXPECT_EQ(Get(std::string(kMaps) + "/b").status, 200);
}

TEST_F(DeleteTest, DeletedCertificateAuthorityOfANamespaceIsRestored) {
  const std::string path = std::string(kMaps) + "/kube-root-ca.crt";
  const Json before = Get(path).json;
  ASSERT_EQ(before["data"]["ca.crt"], server_->ca_pem());
  EXPECT_EQ(Delete(path).status, 200);
  const Json after = Get(path).json;
  EXPECT_EQ(after["data"], before["data"]);
  EXPECT_NE(after["metadata"]["uid"], before["metadata"]["uid"]);
  EXPECT_EQ(Patch(path, "merge", {{"data", {{"ca.crt", "other"}, {"more", "x"}}}}).status, 200);
  EXPECT_EQ(Get(path).json["data"], before["data"]);
}

TEST_F(DeleteTest, NamespaceTerminatesUntilItIsFinalized) {
  const Answer created = Post("/api/v1/namespaces", {{"metadata", {{"name", "foo"}}}});
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["metadata"]["labels"]["kubernetes.io/metadata.name"], "foo");
  EXPECT_EQ(created.json["spec"]["finalizers"], Json::array({"kubernetes"}));
  EXPECT_EQ(Get("/api/v1/namespaces/foo/serviceaccounts/default").status, 200);
  EXPECT_EQ(Get("/api/v1/namespaces/foo/configmaps/kube-root-ca.crt").status, 200);
  const Answer deleted = Delete("/api/v1/namespaces/foo");
  EXPECT_EQ(deleted.json["status"]["phase"], "Terminating");
  const Answer late = Post("/api/v1/namespaces/foo/configmaps", ConfigMapJson("late"));
  EXPECT_EQ(late.status, 403);
  EXPECT_EQ(late.json["details"]["causes"][0]["reason"], "NamespaceTerminating");
  Json final = deleted.json;
  final["spec"]["finalizers"] = Json::array();
  EXPECT_EQ(Put("/api/v1/namespaces/foo/finalize", final).status, 200);
  EXPECT_EQ(Get("/api/v1/namespaces/foo").status, 404);
  EXPECT_EQ(Delete("/api/v1/namespaces/default").status, 403);
}

}  // namespace
}  // namespace berth::local
