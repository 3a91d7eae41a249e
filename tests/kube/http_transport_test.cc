// Goal: requests, answers and watches through real HTTP. Method: the server of net/ on a free port
// gives canned answers; waiting is by condition, never by time.

#include "kube/client/http_transport.h"

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kube/client/line_splitter.h"
#include "net/io_pool.h"
#include "net/server.h"
#include "tests/kube/name_reader.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// The callbacks' reports from other threads, in order.
class Mailbox {
 public:
  void Put(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
    changed_.notify_all();
  }
  std::string Take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 20s, [&] { return !texts_.empty(); })) return "(nothing came)";
    std::string text = std::move(texts_.front());
    texts_.pop_front();
    return text;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;
};

class HttpTransportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = net::HttpServer::Start(
        pool_, {}, [this](net::Request request, std::shared_ptr<net::Responder> responder) {
          Serve(request, *responder);
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    KubeConfig config;
    config.bearer_token = "secret";
    Open(config);
  }
  void TearDown() override {
    server_->Stop();
    pool_.Stop();
  }

  void Serve(const net::Request& request, net::Responder& responder) {
    Answer(request, responder);
    seen_.Put(request.method + " " + request.target + " " +
              std::string(request.headers.Find("Authorization")) + " " +
              std::string(request.headers.Find("Content-Type")) + " " + request.body);
  }

  void Answer(const net::Request& request, net::Responder& responder) {
    const net::Headers json{{"Content-Type", "application/json"}};
    if (request.target.starts_with("/gone")) {
      return responder.Send({410, json, R"({"reason":"Expired","message":"too old"})"});
    }
    if (request.target.find("watch=true") != std::string::npos) {
      stream_ = responder.StartStream(200, json);
      return;
    }
    if (request.target == "/private") {
      const bool known = request.headers.Find("Authorization") == "Bearer " + good_token_;
      return responder.Send({known ? 200 : 401, json, "{}"});
    }
    if (request.target == "/as") {
      std::string text;
      for (const net::Header& header : request.headers) {
        if (header.name.starts_with("Impersonate-")) {
          text += header.name + "=" + header.value + "\n";
        }
      }
      return responder.Send({200, {}, text});
    }
    if (request.target.starts_with("/written")) {
      const bool is_refused = request.target == "/written/refused";
      return responder.Send({is_refused ? 409 : 200, json, request.body});
    }
    if (request.target == "/text") return responder.Send({200, {}, "a log line\n"});
    if (request.method != "GET") return responder.Send({201, json, "{}"});
    responder.Send({429,
                    {{"Content-Type", "application/json"}, {"Retry-After", "7"}},
                    R"({"reason":"TooManyRequests"})"});
  }

  std::shared_ptr<void> Watch(const std::string& path) {
    WatchCallbacks callbacks;
    callbacks.on_event = [this](const WatchEvent& event) {
      events_.Put(std::to_string(static_cast<int>(event.type)) + event.object->dump());
    };
    callbacks.on_end = [this](const Status& status) {
      events_.Put(status ? "end" : std::string(ErrorCodeName(status.error().code)));
    };
    return Watch({"GET", path + "?watch=true", "", nullptr}, callbacks);
  }

  void OnStrand(const std::function<void()>& task) {
    std::promise<void> done;
    strand_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  void Send(ApiRequest request, std::function<void(Result<ApiResponse>)> done) {
    OnStrand([&] { transport_->Send(std::move(request), 10s, std::move(done)); });
  }
  // A watch that is ended on the strand, too.
  std::shared_ptr<void> Watch(ApiRequest request, WatchCallbacks callbacks) {
    auto handle = std::make_shared<std::unique_ptr<WatchHandle>>();
    OnStrand([&] { *handle = transport_->Watch(std::move(request), 20s, std::move(callbacks)); });
    return {nullptr, [this, handle](void*) { OnStrand([&] { handle->reset(); }); }};
  }
  // The status of the answer, or the name of the error.
  std::string StatusOf(const std::string& path) {
    Send({"GET", path, "", nullptr}, [this](const Result<ApiResponse>& response) {
      events_.Put(response ? std::to_string(response->status)
                           : std::string(ErrorCodeName(response.error().code)));
    });
    return events_.Take();
  }
  void Open(KubeConfig config) {
    config.server = "http://127.0.0.1:" + std::to_string(server_->port());
    auto transport = MakeHttpTransport(pool_, *strand_, config, {});
    ASSERT_TRUE(transport) << transport.error().message;
    OnStrand([&] { transport_ = *std::move(transport); });
  }

  static std::string FolderFor(const std::string& name) {
    const auto folder = std::filesystem::path(testing::TempDir()) / ("berth_" + name);
    std::filesystem::create_directories(folder);
    return folder.string();
  }

  std::string good_token_ = "secret";
  net::IoPool pool_{2};
  std::unique_ptr<Executor> strand_ = pool_.MakeStrand();
  Mailbox seen_;
  Mailbox events_;
  std::shared_ptr<net::Stream> stream_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(HttpTransportTest, SendsTokenAndBodyAndReadsDelay) {
  Send({"POST", "/x", "application/json", std::make_shared<const Json>(Json{{"a", 1}})},
       [&](const Result<ApiResponse>& response) { events_.Put(std::to_string(response->status)); });
  EXPECT_EQ(seen_.Take(), R"(POST /x Bearer secret application/json {"a":1})");
  EXPECT_EQ(events_.Take(), "201");
  Send({"GET", "/x", "", nullptr}, [&](const Result<ApiResponse>& response) {
    events_.Put(std::to_string(response->status) + " " +
                std::to_string(response->retry_after.value_or(0s) / 1s) + " " +
                response->body->dump());
  });
  EXPECT_EQ(events_.Take(), R"(429 7 {"reason":"TooManyRequests"})");
  Send({"GET", "/text", "", nullptr},
       [&](const Result<ApiResponse>& response) { events_.Put(response->text); });
  EXPECT_EQ(events_.Take(), "a log line\n");
}

TEST_F(HttpTransportTest, WatchEventsAreReadAcrossChunks) {
  const auto watch = Watch("/pods");
  seen_.Take();
  stream_->Write(R"({"type":"ADDED","object":{"a":1}})"
                 "\n{\"type\":\"BOOK");
  EXPECT_EQ(events_.Take(), R"(0{"a":1})");
  stream_->Write("MARK\",\"object\":{}}\n\n");
  EXPECT_EQ(events_.Take(), "3{}");
  stream_->Close();
  EXPECT_EQ(events_.Take(), "end");
}

TEST_F(HttpTransportTest, ErrorEventAndRefusalEndTheWatch) {
  const auto watch = Watch("/pods");
  seen_.Take();
  stream_->Write(R"({"type":"ERROR","object":{"code":410,"reason":"Expired"}})"
                 "\n");
  EXPECT_EQ(events_.Take(), "Expired");
  const auto refused = Watch("/gone");
  EXPECT_EQ(events_.Take(), "Expired");
  const auto garbage = Watch("/pods");
  seen_.Take();
  seen_.Take();
  stream_->Write("not json\n");
  EXPECT_EQ(events_.Take(), "Unavailable");
}

TEST_F(HttpTransportTest, WatchEventsAreDecodedByTheReaderOfTheWatch) {
  WatchCallbacks callbacks;
  callbacks.on_event = [this](const WatchEvent& event) {
    const std::string type = std::to_string(static_cast<int>(event.type));
    const auto name = std::static_pointer_cast<const std::string>(event.read.object);
    EXPECT_EQ(event.object, nullptr);
    events_.Put(type + "@" + event.resource_version + " " +
                (name != nullptr ? *name : event.read.error));
  };
  callbacks.on_end = [this](const Status& status) {
    events_.Put(status ? "end" : std::string(ErrorCodeName(status.error().code)));
  };
  const auto watch =
      Watch({"GET", "/pods?watch=true", "", nullptr, std::make_shared<NameReader>()}, callbacks);
  seen_.Take();
  stream_->Write(R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"4"}}})"
                 "\n"
                 R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}})"
                 "\n"
                 R"({"type":"DELETED","object":{"metadata":{"name":7,"resourceVersion":"6"}}})"
                 "\n"
                 R"({"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":7}}})"
                 "\n");
  EXPECT_EQ(events_.Take(), "0@4 a");
  EXPECT_EQ(events_.Take(), "3@5 ");
  EXPECT_EQ(events_.Take(), "2@6 metadata.name: expected a string, got number");
  EXPECT_EQ(events_.Take(), "1@ metadata.resourceVersion: expected a string, got number");
  stream_->Write(R"({"type":"ERROR","object":{"code":410,"reason":"Expired"}})"
                 "\n");
  EXPECT_EQ(events_.Take(), "Expired");
}

TEST_F(HttpTransportTest, AnswerToAWriteIsDecodedByTheReaderOfTheWrite) {
  const auto write = [&](const std::string& path, const Json& answer) {
    ApiRequest request{"PATCH", path, "application/merge-patch+json",
                       std::make_shared<const Json>(answer), std::make_shared<NameReader>()};
    Send(std::move(request), [this](const Result<ApiResponse>& response) {
      std::string told = std::to_string(response->status);
      if (response->body != nullptr) told += " body " + response->body->dump();
      if (response->read) {
        const auto name = std::static_pointer_cast<const std::string>(response->read->object);
        told += " read " + (name != nullptr ? *name : response->read->error);
      }
      events_.Put(std::move(told));
    });
    return events_.Take();
  };
  const Json object = {{"metadata", {{"name", "a"}}}};
  EXPECT_EQ(write("/written", object), "200 read a");
  Json large = object;
  large["text"] = std::string(300'000, 'x');
  EXPECT_EQ(write("/written", large), "200 read a") << "above the size of the kept parser";
  EXPECT_EQ(write("/written", {{"metadata", {{"name", 7}}}}),
            "200 read metadata.name: expected a string, got number");
  EXPECT_EQ(write("/written", Json::array()), "200 body []");
  EXPECT_EQ(write("/written/refused", {{"reason", "Conflict"}}),
            R"(409 body {"reason":"Conflict"})");
}

TEST_F(HttpTransportTest, LostServerIsUnavailable) {
  server_->Stop();
  Send({"GET", "/x", "", nullptr}, [&](const Result<ApiResponse>& response) {
    events_.Put(std::string(ErrorCodeName(response.error().code)));
  });
  EXPECT_EQ(events_.Take(), "Unavailable");
}

TEST_F(HttpTransportTest, SendsImpersonationHeaders) {
  KubeConfig config;
  config.as = {.user = "jane", .uid = "7", .groups = {"a", "b"}, .extra = {{"Ex/ample", {"x"}}}};
  Open(config);
  Send({"GET", "/as", "", nullptr},
       [&](const Result<ApiResponse>& response) { events_.Put(response->text); });
  EXPECT_EQ(events_.Take(),
            "Impersonate-User=jane\nImpersonate-Uid=7\nImpersonate-Group=a\nImpersonate-Group=b\n"
            "Impersonate-Extra-ex%2Fample=x\n");
}

TEST_F(HttpTransportTest, ATokenThatRotatesIsReadAgainAfterARefusal) {
  const std::string file = FolderFor("rotation") + "/token";
  std::ofstream(file) << "old";
  KubeConfig config;
  config.token_file = file;
  config.bearer_token = "old";
  Open(config);
  good_token_ = "new";
  EXPECT_EQ(StatusOf("/private"), "401") << "no other token is to be had";
  std::ofstream(file) << "new\n";
  EXPECT_EQ(StatusOf("/private"), "200");
}

TEST_F(HttpTransportTest, PluginRunsOnceForAllRequests) {
  const std::string log = FolderFor("plugin") + "/runs";
  std::filesystem::remove(log);
  KubeConfig config;
  config.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                           .command = "sh",
                           .args = {"-c", "echo x >> " + log +
                                              R"(; echo '{"kind":"ExecCredential",)"
                                              R"("apiVersion":"client.authentication.k8s.io/v1",)"
                                              R"("status":{"token":"secret"}}')"},
                           .interactive = ExecPlugin::Interactive::kNever};
  Open(config);
  const auto watch = Watch("/pods");
  EXPECT_EQ(StatusOf("/private"), "200");
  EXPECT_EQ(StatusOf("/private"), "200");
  EXPECT_EQ(std::filesystem::file_size(log), 2U);
  EXPECT_THAT(seen_.Take(), testing::HasSubstr("Bearer secret"));
}

TEST_F(HttpTransportTest, FailedPluginFailsTheRequest) {
  KubeConfig config;
  config.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1", .command = "false"};
  Open(config);
  EXPECT_EQ(StatusOf("/private"), "Unavailable");
  const auto watch = Watch("/pods");
  EXPECT_EQ(events_.Take(), "Unavailable");
}

TEST(LineSplitter, JoinsPiecesAndBoundsLines) {
  LineSplitter splitter(8);
  std::vector<std::string> lines;
  const auto feed = [&](std::string_view bytes) {
    return splitter.Feed(bytes, [&](const std::string& line) { lines.push_back(line); });
  };
  EXPECT_TRUE(feed("ab"));
  EXPECT_TRUE(feed("c\n\r\n12345678\nx"));
  EXPECT_THAT(lines, ElementsAre("abc", "12345678"));
  EXPECT_EQ(feed("12345678").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace berth::kube
