// Goal: /api/v1 answers those who may list what they ask for, and says nothing to others: no name
// of another namespace in any page, field, cursor, tag, message or event.
//
// Method: real HTTPS; a gate that answers by a table of tokens; a model of two teams.
#include <condition_variable>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "readapi/openapi.h"
#include "tests/readapi/controller/read_server_fixture.h"
#include "tests/readapi/rows.h"

namespace berth::readapi {
namespace {

using namespace std::chrono_literals;
using kube::AccessAnswer;
using kube::AccessQuestion;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Outcome = AccessAnswer::Outcome;

// Collects a stream; waits for a text in it.
class Listener {
 public:
  net::StreamCallbacks Callbacks() {
    return {.on_head =
                [this](int status, const net::Headers& headers) {
                  const std::lock_guard lock(mutex_);
                  status_ = status;
                  type_ = headers.Find("Content-Type");
                },
            .on_data =
                [this](std::string_view bytes) {
                  const std::lock_guard lock(mutex_);
                  text_ += bytes;
                  changed_.notify_all();
                },
            .on_end = [](const Status&) {}};
  }
  // The whole text, when it has `part`; fails after ten seconds.
  std::string WaitFor(const std::string& part) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 10s, [&] { return text_.find(part) != std::string::npos; }))
        << part << " is not in: " << text_;
    return text_;
  }
  int status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::string type_;
  int status_ = 0;
};

TEST_F(ReadServerTest, AnswersFollowTheRightsOfTheToken) {
  struct AskedRow {
    const char* target;
    const char* token;
    int status;
    const char* body;
  };
  const AskedRow rows[] = {
      {"/api/v1", "", 200, "\"openapi\":\"/api/v1/openapi.json\""},
      {kDocumentPath, "", 200, "9.9.9"},
      {"/api/v1/workloads", "", 401, "Bearer"},
      {"/api/v1/workloads", "nobody", 401, "belongs to no user"},
      {"/api/v1/workloads", "busy", 503, "too many reviews"},
      {"/api/v1/workloads", "lost", 503, "could not be reviewed"},
      {"/api/v1/workloads", "admin", 200, "team-b-one"},
      {"/api/v1/workloads", "tenant", 403, "name namespaces"},
      {"/api/v1/workloads?namespace=team-a", "tenant", 200, "team-a-one"},
      {"/api/v1/workloads?namespace=team-b", "tenant", 403, "may not list workloads"},
      {"/api/v1/workloads?namespace=team-a,team-b", "tenant", 403, "may not list workloads"},
      {"/api/v1/workloads/team-a/team-a-one", "tenant", 200, "\"story\":{\"subject\""},
      {"/api/v1/workloads/team-b/team-b-one", "tenant", 403, "may not list"},
      {"/api/v1/workloads/team-a/team-b-one", "tenant", 404, "no such Workload"},
      {"/api/v1/queues?namespace=team-a", "tenant", 200, "shared"},
      {"/api/v1/reports", "admin", 200, "report of all"},
      {"/api/v1/reports?days=366", "admin", 400, "fewer days"},
      {"/api/v1/reports?days=1&namespace=team-a", "tenant", 200, "report of team-a"},
      {"/api/v1/reports", "tenant", 403, "name namespaces"},
      {"/api/v1/reports/history", "tenant", 403, "name namespaces"},
      {"/api/v1/reports/history?days=1&namespace=team-a", "tenant", 200, "report of team-a"},
      {"/api/v1/history/workloads?days=1", "tenant", 403, "name namespaces"},
      {"/api/v1/history/workloads?days=1&namespace=team-a", "tenant", 200, "report of team-a"},
      {"/api/v1/reports/history?format=csv", "admin", 400, "a report over time is JSON"},
      {"/api/v1/reports?namespace=team-b", "tenant", 403, "may not list"},
      {"/api/v1/reports?namespace=", "tenant", 403, "may not list"},
      {"/api/v1/events?namespace=team-b", "tenant", 403, "may not list"},
      {"/api/v1/events", "tenant", 403, "name namespaces"}};
  for (const AskedRow& row : rows) {
    const net::Response answer = Ask(row.target, row.token);
    EXPECT_EQ(answer.status, row.status) << row.target << " " << row.token << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(row.body)) << row.target << " " << row.token;
  }
}

TEST_F(ReadServerTest, CookieHasTheRightsOfItsToken) {
  net::Request post{.method = "POST", .target = "/api/v1/session", .body = R"({"token":"tenant"})"};
  post.headers.Add("Content-Type", "application/json");
  const net::Response signed_in = Send(post);
  ASSERT_EQ(signed_in.status, 200) << signed_in.body;
  const std::string cookie(signed_in.headers.Find("Set-Cookie"));
  const auto ask = [&](const std::string& target, const char* site) {
    net::Request request = Get(target, "");
    request.headers.Add("Cookie", cookie.substr(0, cookie.find(';')));
    request.headers.Add("Sec-Fetch-Site", site);
    return Send(request);
  };
  EXPECT_THAT(ask("/api/v1/workloads?namespace=team-a", "same-origin").body, HasSubstr("one"));
  EXPECT_EQ(ask("/api/v1/workloads", "same-origin").status, 403);
  EXPECT_EQ(ask("/api/v1/workloads?namespace=team-a", "same-site").status, 401);
  EXPECT_EQ(ask("/api/v1/workloads?namespace=team-a", "cross-site").status, 403);
  EXPECT_EQ(ask("/api/v1/events?namespace=team-a", "same-site").status, 401);
  // Everybody may have the files, also by a link of another site; no token may be in the address.
  EXPECT_EQ(ask("/workloads?state=waiting", "cross-site").body, "the page");
  EXPECT_EQ(Ask("/workloads?token=x", "").status, 403);
  EXPECT_EQ(Ask("/other", "").status, 404);
  const std::string code = server_->MakeSignInCode("admin");
  post.body = R"({"code":")" + code + "\"}";
  EXPECT_THAT(Send(post).body, HasSubstr(R"("user":"admin")"));
}

TEST_F(ReadServerTest, CountsShowNoMoreThanRows) {
  EXPECT_THAT(Ask("/api/v1/workloads?countBy=namespace", "admin").body,
              HasSubstr(R"("counts":[{"value":"team-a","count":3},{"value":"team-b","count":3}])"));
  const std::string body =
      Ask("/api/v1/workloads?countBy=namespace&namespace=team-a", "tenant").body;
  EXPECT_THAT(body, HasSubstr(R"("counts":[{"value":"team-a","count":3}])"));
  EXPECT_EQ(Ask("/api/v1/workloads?countBy=namespace", "tenant").status, 403);
}

TEST_F(ReadServerTest, RefusesMalformedRequests) {
  struct MalformedRow {
    std::string target;
    int status;
    const char* body;
  };
  const MalformedRow rows[] = {
      {"/api/v1/secrets", 404, "no such path"},
      {"/api/v2/workloads", 404, "no such path"},
      {"/nothing", 404, "no such page"},
      {"/api/v1/workloads/a", 404, "no such path"},
      {"/api/v1/workloads/a/b/c", 404, "no such path"},
      {"/api/v1/workloads//b", 404, "no such path"},
      {"/api/v1/workloads/a%2Fb/c", 404, "no such path"},
      {"/api/v1/workloads/%ff/c", 404, "no such path"},
      {"/api/v1/workloads/" + std::string(300, 'a') + "/c", 404, "no such path"},
      {"/api/v1/queues/a/b", 404, "no such path"},
      {"/api/v1/workloads/a/b?fields=name", 400, "takes no query parameter"},
      {"/api/v1/workloads?limit=%", 400, "malformed"},
      {"/api/v1/workloads?=x", 400, "malformed"},
      {"/api/v1/history?clusterQueue=%ff", 400, "the query is not UTF-8"},
      {"/api/v1/history?%ff=a", 400, "the query is not UTF-8"},
      {"/api/v1/workloads?x", 400, "is unknown"},
      {"/api/v1/workloads?limit=0", 400, "write 1 to 1000"},
      {"/api/v1/workloads?kind=a&kind=b", 400, "given twice"},
      {"/api/v1/workloads?kind=" + std::string(kMaxQueryBytes, 'a'), 400, "more than 8192 bytes"},
      {"/api/v1/workloads?cursor=AAAA", 400, "not a cursor"},
      {"/api/v1/workloads?token=admin", 403, "a token in a URL"},
      {"/api/v1/workloads?access_token=admin", 403, "a token in a URL"},
      {"/api/v1/workloads/a/b?token=admin", 403, "a token in a URL"},
      {"/api/v1/events?cursor=1", 400, "not a position"}};
  for (const MalformedRow& row : rows) {
    const net::Response answer = Ask(row.target, "admin");
    EXPECT_EQ(answer.status, row.status) << row.target;
    EXPECT_THAT(answer.body, HasSubstr(row.body)) << row.target;
  }
  EXPECT_EQ(asked_, 0) << "no review for a request that is refused anyway";
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    net::Request request = Get("/api/v1/workloads", "admin");
    request.method = method;
    EXPECT_EQ(Send(request).status, 405) << method;
  }
}

TEST_F(ReadServerTest, CrossSiteRequestsAndInjectedHeadersHaveNoEffect) {
  net::Request cross = Get("/api/v1/workloads", "admin");
  cross.headers.Add("Sec-Fetch-Site", "cross-site");
  cross.headers.Add("Origin", "https://evil.example");
  EXPECT_EQ(Send(cross).status, 403);
  // A line feed in a value is no line of the answer's head.
  net::Request match = Get("/api/v1/workloads?kind=a%0d%0aSet-Cookie:%20x=y", "admin");
  match.headers.Add("Origin", "https://evil.example");
  match.headers.Add("If-None-Match", "\"x\"");
  const net::Response answer = Send(match);
  EXPECT_EQ(answer.status, 200);
  for (const net::Header& header : answer.headers) {
    EXPECT_THAT(header.name, Not(HasSubstr("Access-Control"))) << "no CORS";
    EXPECT_NE(header.name, "Set-Cookie");
    EXPECT_THAT(header.value, Not(HasSubstr("evil")));
  }
  EXPECT_EQ(answer.headers.Find("X-Content-Type-Options"), "nosniff");
  EXPECT_THAT(std::string(answer.headers.Find("Content-Security-Policy")),
              HasSubstr("default-src 'none'"));
  net::Request event = Get("/api/v1/events", "admin");
  event.headers.Add("Last-Event-ID", "e1.1 x");
  EXPECT_EQ(Send(event).status, 400);
}

TEST_F(ReadServerTest, PagesHaveACursorAndAnETag) {
  const net::Response first = Ask("/api/v1/workloads?limit=4&fields=state", "admin");
  const Json page = Json::parse(first.body);
  EXPECT_EQ(page["items"].size(), 4U);
  EXPECT_EQ(page["revision"], "e1.8");
  const net::Response last =
      Ask("/api/v1/workloads?limit=4&cursor=" + page["next"].get<std::string>(), "admin");
  EXPECT_EQ(Json::parse(last.body)["items"].size(), 2U);
  net::Request again = Get("/api/v1/workloads?limit=4&fields=state", "admin");
  again.headers.Add("If-None-Match", std::string(first.headers.Find("ETag")));
  const net::Response unchanged = Send(again);
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.body, "");
  Change(MakeRow({.name = "team-a-one", .state = "running"}));
  EXPECT_EQ(Send(again).status, 200);
}

TEST_F(ReadServerTest, LargeAnswersAreCompressedForClientsThatAcceptGzip) {
  const net::Response plain = Ask(kDocumentPath, "admin");
  net::Request asked = Get(kDocumentPath, "admin");
  asked.headers.Add("Accept-Encoding", "gzip");
  const net::Response packed = Send(asked);
  EXPECT_EQ(packed.headers.Find("Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size() / 4);
  asked.target = "/api/v1/workloads";
  EXPECT_EQ(Send(asked).headers.Find("Content-Encoding"), "");
}

// Everything that a tenant can ask: no answer has a name of the other team.
TEST_F(ReadServerTest, ATenantReadsNoNameOfAnotherNamespace) {
  std::vector<std::string> targets = {"/api/v1", kDocumentPath,
                                      "/api/v1/workloads/team-a/team-a-one",
                                      "/api/v1/queues?namespace=team-a"};
  for (const char* filter : {"", "&kind=Job", "&state=waiting", "&clusterQueue=cq",
                             "&sort=priority", "&sort=-createdAt", "&fields=notPreempted,remark"}) {
    targets.push_back(std::string("/api/v1/workloads?namespace=team-a&limit=2") + filter);
  }
  for (const std::string& target : targets) {
    std::string next = target;
    for (int pages = 0; !next.empty() && pages < 5; ++pages) {
      const net::Response answer = Ask(next, "tenant");
      EXPECT_EQ(answer.status, 200) << next;
      EXPECT_THAT(answer.body, Not(HasSubstr("team-b"))) << next;
      const Json body = Json::parse(answer.body);
      next.clear();
      if (!body.contains("next")) break;
      const std::string cursor = body["next"];
      EXPECT_THAT(*Base64UrlDecode(cursor), Not(HasSubstr("team-b"))) << target;
      next = target + "&cursor=" + cursor;
    }
  }
  // A cursor at a row of the other team shows nothing of it.
  const std::string forged = EncodePageCursor({"", 0, "team-b/team-b-one"});
  const net::Response answer = Ask("/api/v1/workloads?namespace=team-a&cursor=" + forged, "tenant");
  EXPECT_THAT(answer.body, Not(HasSubstr("team-b")));
}

TEST_F(ReadServerTest, EventsReachOnlyReadersWithTheRight) {
  Listener tenant;
  Listener admin;
  const auto of_tenant = client_->Open(
      Get("/api/v1/events?resources=workloads&namespace=team-a&cursor=e1.8", "tenant"), 60s,
      tenant.Callbacks());
  const auto of_admin = client_->Open(Get("/api/v1/events", "admin"), 60s, admin.Callbacks());
  tenant.WaitFor("id: e1.8\n\n");
  admin.WaitFor("event: start\nid: e1.8\n");
  Change(MakeRow({.space = "team-b", .name = "team-b-four"}));
  Change(MakeRow({.space = "team-a", .name = "team-a-four"}));
  admin.WaitFor("team-b-four");
  const std::string text = tenant.WaitFor("team-a-four");
  EXPECT_THAT(text, Not(HasSubstr("team-b")));
  EXPECT_THAT(text, HasSubstr("id: e1.10\n"));
  EXPECT_EQ(tenant.status(), 200);
}

TEST_F(ReadServerTest, StreamResumesAtAKnownPositionOrResyncs) {
  Listener resumed;
  net::Request request = Get("/api/v1/events?resources=workloads", "admin");
  request.headers.Add("Last-Event-ID", "e1.5");
  const auto first = client_->Open(request, 60s, resumed.Callbacks());
  EXPECT_THAT(resumed.WaitFor("team-b-three"), Not(HasSubstr("resync")));
  Listener lost;
  request.headers.Set("Last-Event-ID", "e0.5");  // an earlier life of the process
  const auto second = client_->Open(request, 60s, lost.Callbacks());
  EXPECT_THAT(lost.WaitFor("event: resync\nid: e1.8\n"), Not(HasSubstr("team")));
}

TEST_F(ReadServerTest, ScreensAreReadWithTheTokenOfTheCaller) {
  EXPECT_EQ(Ask("/api/v1/capacity", "admin").body, "admin 0 all ");
  EXPECT_EQ(Ask("/api/v1/topology?namespace=team-a", "tenant").body, "tenant 1 team-a ");
  EXPECT_EQ(Ask("/api/v1/workloads/team-a/team-a-one/cost", "tenant").body, "tenant 2 team-a ");
  struct CallerRow {
    const char* path;
    const char* token;
    int status;
  };
  const CallerRow rows[] = {{"/api/v1/capacity", "tenant", 403},
                            {"/api/v1/topology", "tenant", 403},
                            {"/api/v1/topology?namespace=team-a,team-b", "tenant", 403},
                            {"/api/v1/workloads/team-b/team-b-one/cost", "tenant", 403},
                            {"/api/v1/workloads/team-a/nothing/cost", "tenant", 404},
                            {"/api/v1/workloads/team-b/team-b-one/objects", "tenant", 403},
                            {"/api/v1/workloads/team-b/team-b-one/log?pod=p", "tenant", 403},
                            {"/api/v1/workloads/team-a/nothing/log?pod=p", "tenant", 404},
                            {"/api/v1/workloads/team-a/team-a-one/log", "tenant", 400},
                            {"/api/v1/workloads/team-a/team-a-one/objects?pod=p", "tenant", 400},
                            {"/api/v1/workloads/team-a/team-a-one/price", "admin", 404},
                            {"/api/v1/capacity?limit=5", "admin", 400},
                            {"/api/v1/capacity?token=x", "admin", 403},
                            {"/api/v1/capacity", "", 401},
                            {"/api/v1/history?clusterQueue=q", "tenant", 403},
                            {"/api/v1/history?clusterQueue=q&namespace=team-b", "tenant", 403},
                            {"/api/v1/history?clusterQueue=q&namespace=team-a", "tenant", 200},
                            {"/api/v1/history", "admin", 400},
                            {"/api/v1/workloads/team-b/team-b-one/history", "tenant", 403},
                            {"/api/v1/workloads/team-a/team-a-one/history", "tenant", 200},
                            {"/api/v1/whatif", "admin", 404},
                            {"/api/v1/topology", "nobody", 401}};
  for (const CallerRow& row : rows) {
    EXPECT_EQ(Ask(row.path, row.token).status, row.status) << row.path << " of " << row.token;
  }
}
TEST_F(ReadServerTest, AnswersUnavailableUntilItIsReady) {
  ready_ = false;
  const net::Response answer = Ask("/api/v1/workloads", "admin");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.Find("Retry-After"), "1");
}

}  // namespace
}  // namespace berth::readapi
