// Goal: each request is counted once, with kube-apiserver's labels, whichever way its answer goes;
// what a client invents makes no series. Method: a responder that answers nobody, and the text.
#include "local/apiserver/http/request_metrics.h"

#include <gtest/gtest.h>

namespace berth::local {
namespace {

class NoStream final : public net::Stream {
 public:
  bool Write(std::string /*bytes*/) override { return true; }
  std::size_t Backlog() const override { return 0; }
  void WhenBelow(std::size_t /*bytes*/, std::function<void()> /*below*/) override {}
  void Close() override {}
  void OnGone(std::function<void()> /*gone*/) override {}
};

class NoResponder final : public net::Responder {
 public:
  bool HasPeerLeft() const override { return false; }
  void Send(net::Response /*response*/) override {}
  std::shared_ptr<net::Stream> StartStream(int /*status*/, net::Headers /*headers*/) override {
    return std::make_shared<NoStream>();
  }
  std::shared_ptr<net::Duplex> StartUpgrade(const net::Request& /*request*/,
                                            std::string /*protocol*/,
                                            net::Headers /*headers*/) override {
    return nullptr;
  }
};

bool IsOfPods(const ApiPath& path) {
  return path.group.empty() && path.resource == "pods" && path.subresource != "no";
}

class RequestMetricsTest : public ::testing::Test {
 protected:
  std::shared_ptr<net::Responder> Begin(const std::string& method, const std::string& target,
                                        const std::string& content_type = "") {
    net::Request request;
    request.method = method;
    request.target = target;
    if (!content_type.empty()) request.headers.Add("Content-Type", content_type);
    const auto parsed = ParseTarget(target);
    return metrics_->Measure(request, *parsed, ParseApiPath(parsed->path),
                             std::make_shared<NoResponder>());
  }
  // The labels and the count of the only series of apiserver_request_total.
  std::string Only() const {
    ExpositionText text;
    metrics_->WriteTo(text);
    std::string found;
    std::size_t at = 0;
    while ((at = text.text().find("\napiserver_request_total{", at)) != std::string::npos) {
      const std::size_t begin = at + 25;
      at = text.text().find('\n', begin);
      found += (found.empty() ? "" : " | ") + text.text().substr(begin, at - begin);
    }
    return found;
  }
  std::string Sample(const std::string& begin) const {
    ExpositionText text;
    metrics_->WriteTo(text);
    const std::size_t at = text.text().find("\n" + begin);
    if (at == std::string::npos) return "";
    const std::size_t value = text.text().find("} ", at) + 2;
    return text.text().substr(value, text.text().find('\n', value) - value);
  }
  std::shared_ptr<RequestMetrics> metrics_ = std::make_shared<RequestMetrics>(IsOfPods);
};

TEST_F(RequestMetricsTest, LabelsAreThoseOfKubeApiserver) {
  struct Row {
    const char* method;
    const char* target;
    const char* verb;
    const char* scope;
    const char* subresource = "";
    const char* dry_run = "";
    const char* content_type = "";
  };
  for (const Row& row : {
           Row{"GET", "/api/v1/pods", "LIST", "cluster"},
           Row{"GET", "/api/v1/namespaces/a/pods", "LIST", "namespace"},
           Row{"GET", "/api/v1/namespaces/a/pods/p", "GET", "resource"},
           Row{"GET", "/api/v1/namespaces/a/pods?watch=true", "WATCH", "namespace"},
           Row{"POST", "/api/v1/namespaces/a/pods?dryRun=All", "POST", "resource", "", "All"},
           Row{"PUT", "/api/v1/namespaces/a/pods/p/status", "PUT", "resource", "status"},
           Row{"PATCH", "/api/v1/namespaces/a/pods/p", "PATCH", "resource", "", "",
               "application/merge-patch+json"},
           Row{"PATCH", "/api/v1/namespaces/a/pods/p", "APPLY", "resource", "", "",
               "application/apply-patch+yaml"},
           Row{"DELETE", "/api/v1/namespaces/a/pods", "DELETE", "namespace"},
           Row{"GET", "/api/v1/namespaces/a/pods/p/log", "CONNECT", "resource", "log"},
       }) {
    metrics_ = std::make_shared<RequestMetrics>(IsOfPods);
    Begin(row.method, row.target, row.content_type)->Send({201, {}, ""});
    EXPECT_EQ(Only(), std::string(R"(code="201",component="apiserver",dry_run=")") + row.dry_run +
                          R"(",group="",resource="pods",scope=")" + row.scope +
                          R"(",subresource=")" + row.subresource + R"(",verb=")" + row.verb +
                          R"(",version="v1"} 1)")
        << row.method << " " << row.target;
  }
}

TEST_F(RequestMetricsTest, UnknownResourcesShareASeries) {
  for (const char* target : {"/api/v1/nonsense", "/apis/a/b/c", "/api/v1/namespaces/a/pods/p/no"}) {
    Begin("GET", target)->Send({404, {}, ""});
  }
  EXPECT_EQ(Only(), R"(code="404",component="apiserver",dry_run="",group="",resource="",scope="",)"
                    R"(subresource="",verb="GET",version=""} 3)");
}

TEST_F(RequestMetricsTest, AStreamIsCountedAtItsEnd) {
  const std::string kOpen = "apiserver_longrunning_requests{";
  auto stream = Begin("GET", "/api/v1/pods?watch=1")->StartStream(200, {});
  EXPECT_EQ(Only(), "");
  EXPECT_EQ(Sample(kOpen), "1");
  EXPECT_EQ(Sample("apiserver_current_inflight_requests{request_kind=\"readOnly\""), "0");
  stream.reset();
  EXPECT_NE(Only().find("code=\"200\""), std::string::npos) << Only();
  EXPECT_EQ(Sample(kOpen), "0");
}

TEST_F(RequestMetricsTest, RequestWithoutAnAnswerIsCountedAs500) {
  auto responder = Begin("PUT", "/api/v1/namespaces/a/pods/p");
  EXPECT_EQ(Sample("apiserver_current_inflight_requests{request_kind=\"mutating\""), "1");
  responder.reset();
  EXPECT_EQ(Sample("apiserver_current_inflight_requests{request_kind=\"mutating\""), "0");
  EXPECT_NE(Only().find("code=\"500\""), std::string::npos) << Only();
}

TEST(ExpositionText, EscapesValuesAndAddsBuckets) {
  ExpositionText text;
  text.Family("h", "histogram", "Help.");
  text.Histogram("h", {{"a", "x\"\\\n"}}, std::array<double, 2>{0.005, 1e9},
                 std::array<std::uint64_t, 3>{1, 0, 2}, 2.5);
  EXPECT_EQ(text.text(),
            "# HELP h Help.\n# TYPE h histogram\n"
            "h_bucket{a=\"x\\\"\\\\\\n\",le=\"0.005\"} 1\n"
            "h_bucket{a=\"x\\\"\\\\\\n\",le=\"1000000000\"} 1\n"
            "h_bucket{a=\"x\\\"\\\\\\n\",le=\"+Inf\"} 3\n"
            "h_sum{a=\"x\\\"\\\\\\n\"} 2.5\n"
            "h_count{a=\"x\\\"\\\\\\n\"} 3\n");
}

}  // namespace
}  // namespace berth::local
