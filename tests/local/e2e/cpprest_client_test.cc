// Goal: an HTTP client without shared code can use a whole `berth up`: trust, token, every verb,
// lists in pages, watches, persistent connections. Method: cpprestsdk's client and its own JSON
// over real HTTPS, contained as in tests/net (two threads, no redirects;
// docs/develop/decisions/0003-http.md says why the product does not use it). Environment: BERTH,
// the program.
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <cpprest/containerstream.h>
#include <cpprest/http_client.h>
#include <cpprest/json.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pplx/threadpool.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kube/client/kubeconfig.h"

namespace berth {
namespace {

namespace http = web::http;
using http::client::http_client;
using http::client::http_client_config;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Value = web::json::value;

// The limit of silence; requests here take milliseconds.
constexpr std::chrono::seconds kTimeout{30};
constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kJsonType = "application/json";

// One `berth up` for all tests; it ends with this process.
class Up {
 public:
  Up() {
    folder_ = (std::filesystem::temp_directory_path() / "berth-cpprest-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    int output[2];
    if (pipe2(output, O_CLOEXEC) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) Become(output[1]);
    close(output[1]);
    WaitUntilReady(output[0]);
    const auto config = kube::FindKubeConfig({folder_ + "/kubeconfig", ""});
    if (!config) std::abort();
    config_ = *config;
  }
  ~Up() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Up(const Up&) = delete;
  Up& operator=(const Up&) = delete;

  const kube::KubeConfig& config() const { return config_; }

 private:
  [[noreturn]] void Become(int output) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, STDOUT_FILENO);
    const char* berth = std::getenv("BERTH");  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string data = folder_ + "/data";
    const std::string kubeconfig = folder_ + "/kubeconfig";
    execl(berth == nullptr ? "berth" : berth, "berth", "up", "--data-dir", data.c_str(),
          "--kubeconfig", kubeconfig.c_str(), "--listen", "127.0.0.1:0", nullptr);
    _exit(127);
  }

  // `berth up` prints a line when the kubeconfig exists. Its later output fits the pipe.
  static void WaitUntilReady(int output) {
    std::string text;
    std::array<char, 512> piece{};
    while (text.find("berth is up at") == std::string::npos) {
      const ssize_t count = read(output, piece.data(), piece.size());
      if (count <= 0) std::abort();  // it has ended
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
  }

  std::string folder_;
  pid_t process_ = -1;
  kube::KubeConfig config_;
};

struct Answer {
  int status = 0;
  Value body;
  http::http_headers headers;

  std::string Text(const char* key) const {
    return body.has_field(key) && body.at(key).is_string() ? body.at(key).as_string() : "";
  }
};

std::string Name(const Value& object) { return object.at("metadata").at("name").as_string(); }
std::string Version(const Value& object) {
  return object.at("metadata").at("resourceVersion").as_string();
}

Value Parse(const std::string& text) { return Value::parse(text); }

Value Map(const std::string& name, const std::string& value) {
  Value map = Parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{}})");
  map["metadata"]["name"] = Value::string(name);
  map["data"]["key"] = Value::string(value);
  return map;
}

class CpprestClient : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    crossplat::threadpool::initialize_with_threads(2);
    up = std::make_unique<Up>();
  }
  static void TearDownTestSuite() { up.reset(); }

  enum class Trust { kOurAuthority, kSystem };
  static http_client MakeClient(Trust trust = Trust::kOurAuthority) {
    http_client_config config;
    config.set_max_redirects(0);
    config.set_timeout(kTimeout);
    if (trust == Trust::kOurAuthority) {
      config.set_ssl_context_callback([](boost::asio::ssl::context& context) {
        const std::string& pem = up->config().ca_pem;
        context.add_certificate_authority(boost::asio::buffer(pem.data(), pem.size()));
      });
    }
    return http_client(up->config().server, config);
  }

  static http::http_request MakeRequest(const http::method& method, const std::string& target,
                                        const std::string& body = "",
                                        const std::string& type = kJsonType) {
    http::http_request request(method);
    request.set_request_uri(target);
    request.headers().add("Authorization", "Bearer " + up->config().bearer_token);
    if (!body.empty()) request.set_body(body, type);
    return request;
  }

  static Answer Ask(http_client& client, const http::http_request& request) {
    http::http_response response = client.request(request).get();
    Answer answer{response.status_code(), {}, response.headers()};
    const std::string text = response.extract_utf8string(true).get();
    std::error_code no_json;
    answer.body = Value::parse(text, no_json);
    if (no_json) answer.body = Value::string(text);
    return answer;
  }
  static Answer Get(http_client& client, const std::string& target) {
    return Ask(client, MakeRequest(http::methods::GET, target));
  }
  static Answer Post(http_client& client, const std::string& target, const Value& object) {
    return Ask(client, MakeRequest(http::methods::POST, target, object.serialize()));
  }
  static Answer Patch(http_client& client, const std::string& target, const std::string& type,
                      const std::string& body) {
    return Ask(client, MakeRequest(http::methods::PATCH, target, body, type));
  }

  static std::unique_ptr<Up> up;
};

std::unique_ptr<Up> CpprestClient::up;

// The lines of a response that goes on.
class Watch {
 public:
  Watch(http_client& client, const http::http_request& request)
      : response_(client.request(request).get()) {}

  int status() const { return response_.status_code(); }
  const http::http_headers& headers() const { return response_.headers(); }
  // The next event; null where the response has ended.
  Value Next() {
    concurrency::streams::container_buffer<std::string> line;
    if (response_.body().read_line(line).get() == 0 && response_.body().is_eof()) return {};
    return Parse(line.collection());
  }
  // "ADDED name" of the next one.
  std::string NextText() {
    const Value event = Next();
    if (event.is_null()) return "end";
    return event.at("type").as_string() + " " + Name(event.at("object"));
  }

 private:
  http::http_response response_;
};

TEST_F(CpprestClient, CertificateOfAnotherAuthorityIsRefused) {
  http_client client = MakeClient(Trust::kSystem);
  EXPECT_THROW(client.request(http::methods::GET, "/version").get(), http::http_exception);
}

TEST_F(CpprestClient, OnlyVersionAndHealthNeedNoToken) {
  http_client client = MakeClient();
  for (const char* open : {"/version", "/readyz", "/livez", "/healthz"}) {
    EXPECT_EQ(client.request(http::methods::GET, open).get().status_code(), 200) << open;
  }
  for (const char* closed : {"/api", "/apis", kMaps, "/openapi/v3", "/nothing"}) {
    const Answer nobody = Ask(client, [&] {
      http::http_request request(http::methods::GET);
      request.set_request_uri(closed);
      return request;
    }());
    // kube-apiserver gives the user system:anonymous the same answer.
    EXPECT_EQ(nobody.status, 403) << closed;
    EXPECT_EQ(nobody.Text("kind"), "Status");
    EXPECT_EQ(nobody.Text("reason"), "Forbidden");
  }
  http::http_request stranger = MakeRequest(http::methods::GET, kMaps);
  stranger.headers()["Authorization"] = "Bearer " + std::string(64, '0');
  EXPECT_EQ(Ask(client, stranger).status, 401);
}

TEST_F(CpprestClient, ReadsWritesPatchesAndDeletes) {
  http_client client = MakeClient();
  const std::string target = std::string(kMaps) + "/verbs";
  const Answer created = Post(client, kMaps, Map("verbs", "1"));
  ASSERT_EQ(created.status, 201) << created.body.serialize();
  EXPECT_EQ(Post(client, kMaps, Map("verbs", "1")).Text("reason"), "AlreadyExists");
  EXPECT_EQ(Get(client, target).body, created.body);

  const Answer merged =
      Patch(client, target, "application/merge-patch+json", R"({"data":{"key":null,"b":"2"}})");
  EXPECT_EQ(merged.status, 200);
  EXPECT_EQ(merged.body.at("data").serialize(), R"({"b":"2"})");
  const Answer listed = Patch(client, target, "application/json-patch+json",
                              R"([{"op":"test","path":"/data/b","value":"2"},
                {"op":"add","path":"/data/c","value":"3"}])");
  EXPECT_EQ(listed.body.at("data").at("c").as_string(), "3");
  const Answer applied =
      Patch(client, target + "?fieldManager=cpprest", "application/apply-patch+yaml",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  d: \"4\"\n");
  EXPECT_EQ(applied.body.at("data").at("d").as_string(), "4");

  // A state read before another client's write is stale.
  const Answer stale =
      Ask(client, MakeRequest(http::methods::PUT, target, created.body.serialize()));
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.Text("reason"), "Conflict");
  Value fresh = applied.body;
  fresh["data"] = Parse(R"({"only":"this"})");
  const Answer put = Ask(client, MakeRequest(http::methods::PUT, target, fresh.serialize()));
  EXPECT_EQ(put.status, 200);
  EXPECT_NE(Version(put.body), Version(applied.body));

  EXPECT_EQ(Ask(client, MakeRequest(http::methods::DEL, target)).Text("status"), "Success");
  const Answer gone = Get(client, target);
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.Text("reason"), "NotFound");
  EXPECT_EQ(gone.Text("message"), "configmaps \"verbs\" not found");
  EXPECT_EQ(gone.body.at("details").at("kind").as_string(), "configmaps");
}

TEST_F(CpprestClient, WrongRequestsAreRefusedWithAStatus) {
  http_client client = MakeClient();
  const auto code = [&](const http::http_request& request) { return Ask(client, request).status; };
  EXPECT_EQ(code(MakeRequest(http::methods::POST, kMaps, "{\"kind\":")), 400);
  EXPECT_EQ(code(MakeRequest(http::methods::POST, kMaps, "{}", "text/html")), 415);
  EXPECT_EQ(code(MakeRequest(http::methods::POST, kMaps, std::string(4'000'000, ' '))), 413);
  EXPECT_EQ(code(MakeRequest("BREW", kMaps)), 405);
  EXPECT_EQ(code(MakeRequest(http::methods::GET, "/api/v1/teapots")), 404);
  http::http_request nothing_else = MakeRequest(http::methods::GET, kMaps);
  nothing_else.headers().add("Accept", "application/xml");
  EXPECT_EQ(code(nothing_else), 406);
  Value bad = Map("Not A Name", "1");
  const Answer refused = Post(client, kMaps, bad);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.Text("message"), HasSubstr("metadata.name"));
}

TEST_F(CpprestClient, LargeBodiesArriveWhole) {
  http_client client = MakeClient();
  const std::string large(900'000, 'x');
  ASSERT_EQ(Post(client, kMaps, Map("large", large)).status, 201);
  const Answer got = Get(client, std::string(kMaps) + "/large");
  EXPECT_EQ(got.body.at("data").at("key").as_string(), large);
  EXPECT_EQ(Ask(client, MakeRequest(http::methods::DEL, std::string(kMaps) + "/large")).status,
            200);
}

TEST_F(CpprestClient, LongListIsReadInPages) {
  constexpr int kCount = 1100;
  constexpr std::size_t kPage = 250;
  http_client client = MakeClient();
  ASSERT_EQ(Post(client, "/api/v1/namespaces",
                 Parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"pages"}})"))
                .status,
            201);
  const std::string maps = "/api/v1/namespaces/pages/configmaps";
  for (int begin = 0; begin < kCount; begin += 50) {
    std::vector<pplx::task<http::http_response>> writes;
    for (int i = begin; i < begin + 50; ++i) {
      writes.push_back(client.request(
          MakeRequest(http::methods::POST, maps, Map("m" + std::to_string(i), "v").serialize())));
    }
    for (auto& write : writes) ASSERT_EQ(write.get().status_code(), 201);
  }
  std::set<std::string> names;
  std::string next;
  std::string version;
  int pages = 0;
  do {
    const Answer page = Get(client, maps + "?limit=" + std::to_string(kPage) +
                                        (next.empty() ? "" : "&continue=" + next));
    ASSERT_EQ(page.status, 200);
    if (version.empty()) version = Version(page.body);
    EXPECT_EQ(Version(page.body), version);
    for (const Value& item : page.body.at("items").as_array()) {
      EXPECT_TRUE(names.insert(Name(item)).second) << Name(item);
    }
    const Value& metadata = page.body.at("metadata");
    next = metadata.has_field("continue") ? metadata.at("continue").as_string() : "";
    next = web::uri::encode_data_string(next);
    if (++pages == 1) {
      EXPECT_EQ(metadata.at("remainingItemCount").as_integer(), kCount + 1 - 250);
    }
  } while (!next.empty());
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCount) + 1);  // kube-root-ca.crt
  EXPECT_EQ(pages, 5);
  EXPECT_EQ(Get(client, maps + "?limit=5&continue=nonsense").status, 400);
}

TEST_F(CpprestClient, WatchReportsChangesAsTheyHappen) {
  http_client client = MakeClient();
  const std::string from = Version(Get(client, std::string(kMaps) + "?limit=1").body);
  Watch watch(client, MakeRequest(http::methods::GET, std::string(kMaps) +
                                                          "?watch=true&resourceVersion=" + from +
                                                          "&fieldSelector=metadata.name%3Dseen"));
  ASSERT_EQ(watch.status(), 200);
  EXPECT_THAT(watch.headers().content_type(), StartsWith("application/json"));
  const std::string target = std::string(kMaps) + "/seen";
  ASSERT_EQ(Post(client, kMaps, Map("unseen", "1")).status, 201);
  ASSERT_EQ(Post(client, kMaps, Map("seen", "0")).status, 201);
  EXPECT_EQ(watch.NextText(), "ADDED seen");
  for (int i = 1; i <= 20; ++i) {
    Patch(client, target, "application/merge-patch+json",
          R"({"data":{"key":")" + std::to_string(i) + R"("}})");
    const Value event = watch.Next();
    EXPECT_EQ(event.at("type").as_string(), "MODIFIED");
    EXPECT_EQ(event.at("object").at("data").at("key").as_string(), std::to_string(i));
  }
  Ask(client, MakeRequest(http::methods::DEL, target));
  EXPECT_EQ(watch.NextText(), "DELETED seen");
}

TEST_F(CpprestClient, WatchBeginsWithTheStateAndEndsAtItsTimeout) {
  http_client client = MakeClient();
  ASSERT_EQ(Post(client, kMaps, Map("state-a", "1")).status, 201);
  ASSERT_EQ(Post(client, kMaps, Map("state-b", "1")).status, 201);
  Watch watch(client, MakeRequest(http::methods::GET,
                                  "/api/v1/namespaces?watch=true&sendInitialEvents=true&"
                                  "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&"
                                  "fieldSelector=metadata.name%3Ddefault&timeoutSeconds=1"));
  EXPECT_EQ(watch.NextText(), "ADDED default");
  const Value bookmark = watch.Next();
  EXPECT_EQ(bookmark.at("type").as_string(), "BOOKMARK");
  EXPECT_EQ(bookmark.at("object")
                .at("metadata")
                .at("annotations")
                .at("k8s.io/initial-events-end")
                .as_string(),
            "true");
  Value last = watch.Next();  // another bookmark perhaps, then the end
  while (!last.is_null()) last = watch.Next();

  Watch nowhere(client, MakeRequest(http::methods::GET,
                                    std::string(kMaps) + "?watch=true&resourceVersion=abc"));
  EXPECT_EQ(nowhere.status(), 400);
}

std::size_t OpenSockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && what.starts_with("socket:")) ++count;
  }
  return count;
}

TEST_F(CpprestClient, OneConnectionServesManyRequests) {
  http_client client = MakeClient();
  ASSERT_EQ(Get(client, kMaps).status, 200);
  const std::size_t before = OpenSockets();
  for (int i = 0; i < 400; ++i) {
    // Answers of every kind leave the connection usable.
    ASSERT_EQ(Get(client, "/api/v1/namespaces/default").status, 200);
    ASSERT_EQ(Get(client, "/api/v1/namespaces/nowhere").status, 404);
    if (i % 50 == 0) {
      ASSERT_EQ(Post(client, kMaps, Map("kept-" + std::to_string(i), "1")).status, 201);
    }
  }
  EXPECT_LE(OpenSockets(), before + 1);
}

TEST_F(CpprestClient, JobIsQueuedAndAdmitted) {
  http_client client = MakeClient();
  const std::string root = "/apis/kueue.x-k8s.io/v1beta2";
  const auto make = [&](const std::string& target, const std::string& json) {
    const Answer made = Post(client, target, Parse(json));
    ASSERT_EQ(made.status, 201) << made.body.serialize();
  };
  make(root + "/resourceflavors", R"({"apiVersion":"kueue.x-k8s.io/v1beta2",
      "kind":"ResourceFlavor","metadata":{"name":"any"}})");
  make(root + "/clusterqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
      "metadata":{"name":"all"},"spec":{"namespaceSelector":{},"resourceGroups":[
      {"coveredResources":["cpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"4"}]}]}]}})");
  make(root + "/namespaces/default/localqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2",
      "kind":"LocalQueue","metadata":{"name":"q"},"spec":{"clusterQueue":"all"}})");
  Watch watch(client,
              MakeRequest(http::methods::GET, root + "/namespaces/default/workloads?watch=true"));
  make("/apis/batch/v1/namespaces/default/jobs", R"({"apiVersion":"batch/v1","kind":"Job",
      "metadata":{"name":"train","labels":{"kueue.x-k8s.io/queue-name":"q"}},
      "spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c",
      "image":"none","resources":{"requests":{"cpu":"1"}}}]}}}})");
  bool admitted = false;
  while (!admitted) {
    const Value event = watch.Next();
    ASSERT_FALSE(event.is_null());
    const Value& object = event.at("object");
    if (!object.has_field("status") || !object.at("status").has_field("conditions")) continue;
    for (const Value& condition : object.at("status").at("conditions").as_array()) {
      admitted = admitted || (condition.at("type").as_string() == "Admitted" &&
                              condition.at("status").as_string() == "True");
    }
  }
}

}  // namespace
}  // namespace berth
