// Goal: nobody but the holder of a token, or of a code that nobody has used, gets a session; a
// session ends; another site gets nothing with the cookie; the files of the page come with their
// types, tags and policy.
//
// Method: virtual time; a gate that answers by the token; recorded answers.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "readapi/controller/page_files.h"
#include "readapi/controller/sign_in.h"
#include "scenarios/world/sim_executor.h"
#include "tests/readapi/controller/sign_in_answer.h"

namespace berth::readapi {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class SignInTest : public ::testing::Test {
 protected:
  static net::Request Request(const std::string& method, const std::string& body = "") {
    net::Request request{.method = method, .target = kSessionPath, .body = body};
    request.headers.Add("Host", "localhost:8090");
    if (method == "POST") request.headers.Add("Content-Type", "application/json");
    return request;
  }
  net::Response Send(const net::Request& request) { return AnswerOf(*sign_in_, request); }
  // The cookie of a new session, "NAME=VALUE".
  std::string SignIn(const std::string& token = "admin") {
    const net::Response answer = Send(Request("POST", Json{{"token", token}}.dump()));
    EXPECT_EQ(answer.status, 200) << answer.body;
    csrf_ = Json::parse(answer.body).value("csrf", "");
    const std::string cookie(answer.headers.Find("Set-Cookie"));
    return cookie.substr(0, cookie.find(';'));
  }
  net::Request With(const std::string& cookie, const std::string& method = "GET") {
    net::Request request = Request(method);
    request.headers.Add("Cookie", "other=1; " + cookie);
    return request;
  }

  FakeClock clock_;
  std::string csrf_;
  std::shared_ptr<readapi::SignIn> sign_in_ = std::make_shared<readapi::SignIn>(
      clock_, Counter(),
      [](const kube::AccessQuestion& question, const kube::AccessReviews::Done& done) {
        using Outcome = kube::AccessAnswer::Outcome;
        if (question.token == "lost") return done({.error = "no answer"});
        const bool is_known = question.token == "admin" || question.token == "tenant";
        done({.outcome = is_known ? Outcome::kDenied : Outcome::kNoUser, .user = question.token});
      },
      readapi::SignIn::Options{});
};

TEST_F(SignInTest, SignInWithATokenBeginsASession) {
  const net::Response answer = Send(Request("POST", R"({"token": " admin\n"})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(std::string(answer.headers.Find("Set-Cookie")),
              ::testing::MatchesRegex("__Host-berth-8090=[A-Za-z0-9_-]{43}; Path=/; Secure; "
                                      "HttpOnly; SameSite=Strict; Max-Age=43200"));
  EXPECT_THAT(answer.body, Not(HasSubstr("token")));
  EXPECT_EQ(answer.headers.Find("Cache-Control"), "private, no-cache");
  const std::string cookie = SignIn("tenant");
  const auto session = sign_in_->SessionOf(With(cookie));
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->token, "tenant");
  EXPECT_THAT(Send(With(cookie)).body, HasSubstr("\"user\":\"tenant\""));
  EXPECT_THAT(Send(Request("GET")).body, HasSubstr("\"signedIn\":false"));
}

// A proxy that signs people in sends their tokens with every request.
TEST_F(SignInTest, TheTokenOfAProxyNeedsNoSession) {
  net::Request request = Request("GET");
  request.headers.Add("Authorization", "Bearer tenant");
  const net::Response answer = Send(request);
  EXPECT_EQ(Json::parse(answer.body),
            Json({{"signedIn", true}, {"user", "tenant"}, {"csrf", ""}, {"actions", false}}));
  EXPECT_FALSE(answer.headers.Has("Set-Cookie"));
  request.headers.Set("Authorization", "Bearer forged");
  EXPECT_EQ(Send(request).status, 401);
}

TEST_F(SignInTest, ABadSignInIsRefusedWithoutASession) {
  struct RefusedRow {
    const char* body;
    int status;
    const char* message;
  };
  const RefusedRow rows[] = {{R"({"token": "forged"})", 401, "belongs to no user"},
                             {R"({"token": "lost"})", 503, "could not be reviewed"},
                             {R"({"code": "guessed"})", 401, "has been used"},
                             {R"({"token": ""})", 400, "send"},
                             {R"({"token": 7})", 400, "send"},
                             {R"({"token": "admin", "code": "x"})", 400, "send"},
                             {R"([])", 400, "send"},
                             {"", 400, "send"},
                             {"{{{{{{{{{{", 400, "send"}};
  for (const RefusedRow& row : rows) {
    const net::Response answer = Send(Request("POST", row.body));
    EXPECT_EQ(answer.status, row.status) << row.body;
    EXPECT_THAT(answer.body, HasSubstr(row.message)) << row.body;
    EXPECT_FALSE(answer.headers.Has("Set-Cookie")) << row.body;
  }
  EXPECT_EQ(Send(Request("PUT")).status, 405);
}

TEST_F(SignInTest, SessionIsRefusedToOtherSites) {
  const std::string cookie = SignIn();
  const std::pair<const char*, const char*> foreign[] = {{"Sec-Fetch-Site", "cross-site"},
                                                         {"Sec-Fetch-Site", "same-site"},
                                                         {"Origin", "https://localhost:9999"},
                                                         {"Origin", "null"}};
  for (const auto& [name, value] : foreign) {
    net::Request request = With(cookie);
    request.headers.Add(name, value);
    EXPECT_FALSE(sign_in_->SessionOf(request).has_value()) << name << value;
    EXPECT_EQ(Send(request).status, 403) << name << value;
    net::Request post = Request("POST", R"({"token": "admin"})");
    post.headers.Add(name, value);
    EXPECT_EQ(Send(post).status, 403) << name << value;
  }
  net::Request own = With(cookie);
  own.headers.Add("Sec-Fetch-Site", "same-origin");
  own.headers.Add("Origin", "https://localhost:8090");
  EXPECT_TRUE(sign_in_->SessionOf(own).has_value());
  net::Request form = Request("POST", R"({"token": "admin"})");
  form.headers.Set("Content-Type", "text/plain");
  EXPECT_EQ(Send(form).status, 415);
}

TEST_F(SignInTest, SigningOutNeedsTheSecretOfThePage) {
  const std::string cookie = SignIn();
  EXPECT_EQ(Send(With(cookie, "DELETE")).status, 403);
  net::Request wrong = With(cookie, "DELETE");
  wrong.headers.Add(kCsrfHeader, csrf_ + "x");
  EXPECT_EQ(Send(wrong).status, 403);
  net::Request request = With(cookie, "DELETE");
  request.headers.Add(kCsrfHeader, csrf_);
  const net::Response answer = Send(request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(std::string(answer.headers.Find("Set-Cookie")), HasSubstr("Max-Age=0"));
  EXPECT_FALSE(sign_in_->SessionOf(With(cookie)).has_value());
  EXPECT_EQ(Send(request).status, 401);
}

TEST_F(SignInTest, SessionsEndWhenIdleAndAfterTwelveHours) {
  const std::string idle = SignIn();
  clock_.Advance(61min);
  EXPECT_FALSE(sign_in_->SessionOf(With(idle)).has_value());
  const std::string used = SignIn();
  for (int i = 0; i < 23; ++i) {
    clock_.Advance(30min);
    EXPECT_TRUE(sign_in_->SessionOf(With(used)).has_value());
  }
  clock_.Advance(31min);
  EXPECT_FALSE(sign_in_->SessionOf(With(used)).has_value()) << "after twelve hours";
}

TEST_F(SignInTest, ASignInEndsTheSessionOfTheBrowser) {
  const std::string first = SignIn();
  net::Request again = Request("POST", R"({"token": "tenant"})");
  again.headers.Add("Cookie", first);
  EXPECT_EQ(Send(again).status, 200);
  EXPECT_FALSE(sign_in_->SessionOf(With(first)).has_value());
}

TEST_F(SignInTest, CodeIsValidOnceAndForFiveMinutes) {
  const std::string code = sign_in_->sessions().MakeCode("admin");
  const net::Request request = Request("POST", Json{{"code", code}}.dump());
  EXPECT_THAT(Send(request).body, HasSubstr("\"user\":\"admin\""));
  EXPECT_EQ(Send(request).status, 401);
  const std::string old = sign_in_->sessions().MakeCode("admin");
  clock_.Advance(5min);
  EXPECT_EQ(Send(Request("POST", Json{{"code", old}}.dump())).status, 401);
}

TEST(PageSessionsTest, SessionsAndCodesAreBounded) {
  FakeClock clock;
  PageSessions sessions(clock, Counter(), {.most_of_user = 2, .most_sessions = 3, .most_codes = 2});
  const auto first = sessions.Begin("t", "a");
  const auto second = sessions.Begin("t", "a");
  ASSERT_TRUE(sessions.Begin("t", "a").has_value());
  EXPECT_FALSE(sessions.Find(first->name).has_value()) << "the first of the user gives way";
  EXPECT_TRUE(sessions.Find(second->name).has_value());
  EXPECT_TRUE(sessions.Begin("t", "b").has_value());
  EXPECT_FALSE(sessions.Begin("t", "c").has_value());
  EXPECT_EQ(sessions.size(), 3U);
  clock.Advance(61min);
  EXPECT_TRUE(sessions.Begin("t", "c").has_value());
  EXPECT_EQ(sessions.size(), 1U);
  const std::string oldest = sessions.MakeCode("t");
  const std::string next = sessions.MakeCode("t");
  sessions.MakeCode("t");
  EXPECT_FALSE(sessions.TakeCode(oldest).has_value());
  EXPECT_TRUE(sessions.TakeCode(next).has_value());
}

class PageFilesTest : public ::testing::Test {
 protected:
  net::Response Get(const std::string& path, const std::string& encoding = "",
                    const std::string& tag = "") {
    net::Request request{.method = "GET", .target = path};
    if (!encoding.empty()) request.headers.Add("Accept-Encoding", encoding);
    if (!tag.empty()) request.headers.Add("If-None-Match", tag);
    return files_.Read(path, request);
  }
  const PageFiles files_{{{"/",
                           "text/html; charset=utf-8",
                           "document",
                           "packed",
                           {"/sign-in", "/workloads", "/queues"}},
                          {"/assets/page.js", "text/javascript; charset=utf-8", "script", "", {}}}};
};

TEST_F(PageFilesTest, EachViewIsServedTheDocument) {
  for (const char* path : {"/", "/sign-in", "/workloads", "/workloads/a/b%20c", "/queues/q"}) {
    const net::Response answer = Get(path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, "document") << path;
    EXPECT_EQ(answer.headers.Find("Content-Type"), "text/html; charset=utf-8");
  }
  EXPECT_EQ(Get("/assets/page.js", "gzip").body, "script");
  for (const char* path : {"/workloadsx", "/assets/", "/assets/../page.js", "/favicon.ico", ""}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(PageFilesTest, ContentSecurityPolicyAllowsThisServerAlone) {
  const net::Response answer = Get("/");
  const std::string policy(answer.headers.Find("Content-Security-Policy"));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(answer.headers.Find("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(answer.headers.Find("Referrer-Policy"), "no-referrer");
  EXPECT_FALSE(answer.headers.Has("Access-Control-Allow-Origin"));
}

TEST_F(PageFilesTest, FilesAreCompressedForClientsThatAcceptGzip) {
  for (const char* encoding : {"gzip", "br, GZIP", "deflate, gzip;q=0.8"}) {
    const net::Response answer = Get("/", encoding);
    EXPECT_EQ(answer.body, "packed") << encoding;
    EXPECT_EQ(answer.headers.Find("Content-Encoding"), "gzip");
  }
  for (const char* encoding : {"br", "gzip;q=0", "x-gzip-not"}) {
    EXPECT_EQ(Get("/", encoding).body, "document") << encoding;
  }
  const std::string tag(Get("/", "gzip").headers.Find("ETag"));
  EXPECT_NE(tag, Get("/").headers.Find("ETag"));
  EXPECT_EQ(Get("/", "gzip", "\"x\", " + tag).status, 304);
  EXPECT_EQ(Get("/", "", tag).status, 200);
}

}  // namespace
}  // namespace berth::readapi
