// Goal: no write leaves a program that writes nothing; reads, watches and reviews do. Method: a
// scripted API that records requests, in virtual time.

#include "kube/client/read_only_transport.h"

#include <gmock/gmock.h>

#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReadOnlyTest : public KubeTest {
 protected:
  void Send(const std::string& method, const std::string& path) {
    ApiRequest request;
    request.method = method;
    request.path = path;
    transport_->Send(std::move(request), 10s, [this](const Result<ApiResponse>& answer) {
      answers_.push_back(answer ? "sent" : answer.error().message);
      EXPECT_TRUE(answer || answer.error().code == ErrorCode::kForbidden);
    });
  }

  std::unique_ptr<Transport> transport_ = ReadOnly(api_, executor_);
  std::vector<std::string> answers_;
};

TEST_F(ReadOnlyTest, ReadsAndReviewsPass) {
  Send("GET", "/api/v1/nodes");
  Send("POST", "/apis/authentication.k8s.io/v1/tokenreviews");
  Send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews?x=1");
  executor_.RunFor(1s);
  EXPECT_THAT(answers_, ElementsAre("sent", "sent", "sent"));
}

TEST_F(ReadOnlyTest, WritesAreRefused) {
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) Send(method, "/api/v1/nodes/n");
  Send("DELETE", "/apis/x/v1/reviews");
  executor_.RunFor(1s);
  EXPECT_EQ(answers_.size(), 5U);
  for (const std::string& answer : answers_) EXPECT_THAT(answer, HasSubstr("was not sent"));
}

}  // namespace
}  // namespace berth::kube
