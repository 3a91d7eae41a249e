// Goal: paths, paging, error codes and repeats of the client. Method: the real API in memory,
// with its requests recorded, and scripted lists.

#include "kube/client/api_client.h"

#include "kube/client/status_error.h"
#include "tests/kube/kube_test_support.h"
#include "tests/kube/name_reader.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

template <typename Api>
class FlavorsTest : public ClientTest<Api> {
 protected:
  const api::ResourceKind& flavors_ = api::KindOf<api::ResourceFlavor>();
};
class ApiClientTest : public FlavorsTest<RegistryTransport> {};
class ListsTest : public FlavorsTest<ScriptedTransport> {};

TEST_F(ApiClientTest, PathsAreEscapedAndScoped) {
  EXPECT_EQ(CollectionPath(api::KindOf<api::Pod>(), ""), "/api/v1/pods");
  EXPECT_EQ(ObjectPath(api::KindOf<api::Job>(), {"a", "b/c"}, "status"),
            "/apis/batch/v1/namespaces/a/jobs/b%2Fc/status");
  EXPECT_EQ(ObjectPath(flavors_, {"ignored", "f"}),
            "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/f");
  EXPECT_EQ(EscapeQuery("a=b,!c"), "a%3Db%2C%21c");
}

TEST_F(ListsTest, ListJoinsPages) {
  for (int i = 0; i < 7; ++i) api_.Put(kFlavors, Named("f" + std::to_string(i)));
  const auto list =
      Await<ObjectList>([&](auto done) { client_.List(flavors_, "", {.page_size = 3}, done); });
  ASSERT_TRUE(list);
  EXPECT_EQ(list->items.size(), 7U);
  EXPECT_EQ(list->resource_version, "7");
  EXPECT_EQ(api_.requests().size(), 3U);
}

TEST_F(ListsTest, ListJoinsPagesOfAllNamespaces) {
  for (const char* space : {"a", "b"}) {
    for (const char* name : {"x", "y"}) {
      api_.Put("/apis/batch/v1/namespaces/" + std::string(space) + "/jobs", Named(name));
    }
  }
  const auto list = Await<ObjectList>(
      [&](auto done) { client_.List(api::KindOf<api::Job>(), "", {.page_size = 1}, done); });
  ASSERT_TRUE(list);
  std::string names;
  for (const JsonPtr& job : list->items) {
    names += (*job)["metadata"]["namespace"].get<std::string>() +
             (*job)["metadata"]["name"].get<std::string>() + " ";
  }
  EXPECT_EQ(names, "ax ay bx by ");
}

TEST_F(ListsTest, ExpiredListStartsOverAndThenIsReadWithoutPages) {
  for (int i = 0; i < 5; ++i) api_.Put(kFlavors, Named("f" + std::to_string(i)));
  const auto list = [&] {
    return Await<ObjectList>(
        [&](auto done) { client_.List(flavors_, "", {.page_size = 2}, done); });
  };
  api_.FailNext("continue=", 410);
  auto listed = list();
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->items.size(), 5U);
  EXPECT_EQ(api_.requests().back().query, "limit=2&continue=f3");
  for (int i = 0; i < 2; ++i) api_.FailNext("continue=", 410);
  listed = list();
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->items.size(), 5U);
  EXPECT_EQ(api_.requests().back().query, "");
  for (int i = 0; i < 3; ++i) api_.FailNext("resourceflavors", 410);
  EXPECT_EQ(list().error().code, ErrorCode::kExpired);
}

class PagesTest : public ListsTest {
 protected:
  // The callbacks for five objects in pages of two, and the version at the end.
  std::string Pages(const std::function<void()>& after_the_first = [] {}) {
    for (int i = 0; i < 5; ++i) api_.Put(kFlavors, Named("f" + std::to_string(i)));
    std::string log;
    bool first = true;
    const auto version = Await<std::string>([&](auto done) {
      client_.ListPages(flavors_, "", {.page_size = 2}, std::make_shared<NameReader>(),
                        {.on_start = [&] { log += "start "; },
                         .on_page =
                             [&](const std::vector<ReadObject>& items) {
                               for (const ReadObject& item : items) {
                                 log += *std::static_pointer_cast<const std::string>(item.object);
                               }
                               log += ' ';
                               if (std::exchange(first, false)) after_the_first();
                             },
                         .on_end = done});
    });
    return log + (version ? *version : version.error().message);
  }
};

TEST_F(PagesTest, ArriveOneByOneAndStartOverAfterAnExpiredPage) {
  api_.FailNext("continue=f3", 410);
  EXPECT_EQ(Pages(), "start f0f1 f2f3 start f0f1 f2f3 f4 5");
}

TEST_F(PagesTest, ContinueWithNewerPagesThatTheServerOffers) {
  api_.ExpireNextPage("f1", "f1");
  api_.ExpireNextPage("f3", "f3");
  EXPECT_EQ(Pages([&] { api_.Put(kFlavors, Named("f9")); }), "start f0f1 f2f3 f4f9 5")
      << "the version is that of the first page";
}

TEST_F(PagesTest, StartOverWhenTheOfferedPageExpires) {
  api_.ExpireNextPage("f3", "f3");
  api_.ExpireNextPage("f3", "f3");
  EXPECT_EQ(Pages(), "start f0f1 f2f3 start f0f1 f2f3 f4 5");
}

TEST_F(ApiClientTest, WritesReturnTheErrorsOfTheServer) {
  Json flavor = Named("f");
  flavor["apiVersion"] = flavors_.api_version();
  flavor["kind"] = flavors_.kind;
  const auto create = [&] {
    return Await<JsonPtr>([&](auto done) { client_.Create(flavors_, "", flavor, {}, done); });
  };
  const auto created = create();
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(create().error().code, ErrorCode::kAlreadyExists);
  Json patch = flavor;
  patch["spec"] = {{"nodeLabels", {{"pool", "a"}}}};
  const auto patched = Await<JsonPtr>([&](auto done) {
    client_.Patch(flavors_, {"", "f"}, PatchType::kApply, patch,
                  {.field_manager = "me", .force = Force::kYes}, done);
  });
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ((**patched)["spec"]["nodeLabels"]["pool"], "a");
  EXPECT_EQ(api_.requests().back().query, "fieldManager=me&force=true");
  EXPECT_EQ(Await<JsonPtr>([&](auto done) {
              client_.Update(flavors_, {"", "f"}, **created, {}, done);
            })
                .error()
                .code,
            ErrorCode::kConflict)
      << "it has been patched since";
  const auto remove = [&](const std::string& uid) {
    return Await<Unit>([&](auto done) {
      client_.Delete(flavors_, {"", "f"}, {.precondition_uid = uid}, done);
    });
  };
  EXPECT_EQ(remove("another").error().code, ErrorCode::kConflict);
  const std::string uid = (**created)["metadata"]["uid"];
  EXPECT_TRUE(remove(uid));
  EXPECT_EQ(remove(uid).error().code, ErrorCode::kNotFound);
}

// This transport answers with trees, and ignores the reader of a write.
TEST_F(ApiClientTest, AnAnswerToAPatchIsReadByTheReader) {
  api_.Put(kFlavors, Named("f"));
  const auto patch = [&](const std::string& name) {
    return Await<ReadObject>([&](auto done) {
      client_.PatchAndRead(
          flavors_, {"", name}, PatchType::kMerge,
          std::make_shared<const Json>(Json{{"spec", {{"nodeLabels", {{"pool", "a"}}}}}}),
          {.field_manager = "me"}, std::make_shared<NameReader>(), done);
    });
  };
  const auto read = patch("f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*std::static_pointer_cast<const std::string>(read->object), "f");
  EXPECT_EQ(api_.requests().back().query, "fieldManager=me");
  EXPECT_EQ((*api_.Find(std::string(kFlavors) + "/f"))["spec"]["nodeLabels"]["pool"], "a");
  EXPECT_EQ(patch("unknown").error().code, ErrorCode::kNotFound);
}

TEST_F(ApiClientTest, TooManyRequestsWaitsAsLongAsTheServerSays) {
  api_.Put(kFlavors, Named("f"));
  api_.set_retry_after(3s);
  api_.FailNext("GET", 429);
  const SteadyTime start = clock_.SteadyNow();
  EXPECT_TRUE(Await<JsonPtr>([&](auto done) { client_.Get(flavors_, {"", "f"}, done); }));
  EXPECT_EQ(clock_.SteadyNow() - start, 3s + 2ms);
}

TEST_F(ApiClientTest, RetryAfterAboveTheLimitIsAnError) {
  api_.set_retry_after(31s);
  api_.FailNext("GET", 429);
  EXPECT_EQ(Await<JsonPtr>([&](auto done) {
              client_.Get(flavors_, {"", "f"}, done);
            })
                .error()
                .code,
            ErrorCode::kTooManyRequests);
}

TEST_F(ApiClientTest, DestroyedClientCallsNoCallback) {
  bool called = false;
  {
    ApiClient gone(api_, executor_);
    gone.Get(flavors_, {"", "f"}, [&](const Result<JsonPtr>&) { called = true; });
  }
  executor_.RunFor(1s);
  EXPECT_FALSE(called);
}

Json AppliedFlavor() {
  Json flavor = Named("f");
  flavor["apiVersion"] = "kueue.x-k8s.io/v1beta2";
  flavor["kind"] = "ResourceFlavor";
  return flavor;
}

// The object was deleted, and another one has its name: no refusal of what was written.
TEST_F(ApiClientTest, APatchOfAnotherObjectIsAConflict) {
  api_.Put(kFlavors, Named("f"));
  for (const PatchType type : {PatchType::kMerge, PatchType::kApply}) {
    Json patch = AppliedFlavor();
    patch["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
    const auto answer = Await<JsonPtr>([&](auto done) {
      client_.Patch(flavors_, {"", "f"}, type, patch, {.field_manager = "m"}, done);
    });
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kConflict) << answer.error().message;
  }
}

// CRDs of an older version: the write fails for ever, so it is no error of the server.
TEST_F(ApiClientTest, AnApplyWithAFieldThatTheSchemaLacksIsRefused) {
  Json patch = AppliedFlavor();
  patch["spec"] = {{"fieldOfTomorrow", 1}};
  const auto answer = Await<JsonPtr>([&](auto done) {
    client_.Patch(flavors_, {"", "f"}, PatchType::kApply, patch, {.field_manager = "m"}, done);
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(answer.error().message,
              ::testing::HasSubstr(".spec.fieldOfTomorrow: field not declared in schema"));
}

TEST(StatusError, ReasonOutranksTheStatusCode) {
  const Json exists = {{"reason", "AlreadyExists"}, {"message", "there"}};
  EXPECT_EQ(ErrorFromStatus(409, &exists), (Error{ErrorCode::kAlreadyExists, "there"}));
  EXPECT_EQ(ErrorFromStatus(409, nullptr).code, ErrorCode::kConflict);
  const Json odd = {{"reason", 5}};
  EXPECT_EQ(ErrorFromStatus(422, &odd).code, ErrorCode::kInvalid);
  EXPECT_EQ(ErrorFromStatus(502, nullptr).code, ErrorCode::kUnavailable);
  EXPECT_EQ(ErrorFromStatus(500, nullptr).code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace berth::kube
