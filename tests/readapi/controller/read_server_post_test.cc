// Goal: writes and forecasts need the rights that they tell of, and a request of this site; a
// Workload has the story that its reader may have, and its place among all.
//
// Method: as read_server_test.cc.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/readapi/controller/read_server_fixture.h"
#include "tests/readapi/rows.h"

namespace berth::readapi {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// The number of Workloads before one counts all namespaces, also for those who see one of them.
TEST_F(ReadServerTest, WorkloadPositionCountsWorkloadsOfAllNamespaces) {
  const auto read = [this](const std::string& name, const std::string& token) {
    const net::Response answer = Ask("/api/v1/workloads/team-a/" + name, token);
    return answer.status == 200 ? nlohmann::json::parse(answer.body) : nlohmann::json();
  };
  Change(MakeRow({.space = "team-b", .name = "first", .turn = "1"}));
  Change(MakeRow({.space = "team-b", .name = "reserved", .state = "reserved", .turn = "null"}));
  Change(MakeRow({.space = "team-a", .name = "second", .turn = "2"}));
  const nlohmann::json mine = read("second", "tenant");
  EXPECT_EQ(mine.at("before"), 1);
  EXPECT_EQ(mine.at("story").at("subject"), "asked by tenant for team-a");
  EXPECT_EQ(mine.at("pods").at(0).at("name"), "p");
  EXPECT_EQ(read("second", "admin").at("story").at("subject"), "asked by admin for all");
  // Without an answer of the API server, and where it refuses, the mirror tells.
  const nlohmann::json told = read("team-a-two", "admin");
  EXPECT_EQ(told.at("story").at("subject"), "team-a-two");
  EXPECT_EQ(told.at("pods"), nlohmann::json::array());
  EXPECT_EQ(read("team-a-three", "admin").at("story").at("subject"), "team-a-three");
  // A Workload of no queue has no place in one.
  Change(MakeRow({.space = "team-b", .name = "lost", .queue = "", .turn = "1"}));
  Change(MakeRow({.space = "team-a", .name = "lost", .queue = "", .turn = "2"}));
  EXPECT_EQ(read("lost", "tenant").at("before"), nullptr);
}

class ReadServerPostTest : public ReadServerTest {
 protected:
  ReadServerPostTest() { actions_ = true; }
  net::Request Post(const std::string& target, const std::string& token, const std::string& body) {
    net::Request request = Get(target, token);
    request.method = "POST";
    request.headers.Add("Content-Type", "application/json");
    request.body = body;
    return request;
  }
};

TEST_F(ReadServerPostTest, ActionsNeedARightAndTheFlag) {
  EXPECT_EQ(Send(Post("/api/v1/actions", "tenant", "{}")).body, "tenant 4 all {}");
  EXPECT_EQ(Send(Post("/api/v1/actions", "nobody", "{}")).status, 401);
  EXPECT_EQ(Send(Post("/api/v1/actions", "", "{}")).status, 401);
  EXPECT_EQ(Send(Post("/api/v1/actions", "tenant", "forbidden")).status, 403);
  EXPECT_EQ(Send(Post("/api/v1/actions", "tenant", std::string(64 * 1024, 'x'))).status, 413);
  server_->Stop();
  actions_ = false;
  SetUp();
  const net::Response refused = Send(Post("/api/v1/actions", "admin", "{}"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("--read-api-actions"));
}

TEST_F(ReadServerPostTest, ForecastsNeedTheRightToAllNamespaces) {
  EXPECT_EQ(Send(Post("/api/v1/whatif", "admin", "{}")).body, "admin 3 all {}");
  const net::Response refused = Send(Post("/api/v1/whatif", "tenant", "{}"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, Not(HasSubstr("team-b")));
}

TEST_F(ReadServerPostTest, WritesFromOtherSitesAreRefused) {
  net::Request sign_in = Post("/api/v1/session", "", R"({"token": "admin"})");
  const net::Response signed_in = Send(sign_in);
  ASSERT_EQ(signed_in.status, 200) << signed_in.body;
  const std::string csrf = Json::parse(signed_in.body).at("csrf");
  EXPECT_EQ(Json::parse(signed_in.body).at("actions"), true);
  const std::string set(signed_in.headers.Find("Set-Cookie"));
  const std::string cookie = set.substr(0, set.find(';'));
  for (const char* path : {"/api/v1/actions", "/api/v1/whatif"}) {
    net::Request request = Post(path, "", "{}");
    request.headers.Add("Cookie", cookie);
    EXPECT_EQ(Send(request).status, 403) << path << " without the secret";
    net::Request wrong = request;
    wrong.headers.Add("X-Berth-CSRF", "guess");
    EXPECT_EQ(Send(wrong).status, 403) << path;
    request.headers.Add("X-Berth-CSRF", csrf);
    EXPECT_EQ(Send(request).status, 200) << path;
    for (const auto& [name, value] : {std::pair("Sec-Fetch-Site", "cross-site"),
                                      {"Sec-Fetch-Site", "same-site"},
                                      {"Origin", "https://localhost:1"}}) {
      net::Request foreign = request;
      foreign.headers.Add(name, value);
      EXPECT_EQ(Send(foreign).status, 403) << path << " " << name;
    }
    net::Request form = request;
    form.headers.Set("Content-Type", "text/plain");
    EXPECT_EQ(Send(form).status, 415) << path;
    // The token of a proxy comes by itself, too.
    net::Request proxied = Post(path, "admin", "{}");
    proxied.headers.Add("Origin", "https://elsewhere");
    EXPECT_EQ(Send(proxied).status, 403) << path;
  }
}

}  // namespace
}  // namespace berth::readapi
