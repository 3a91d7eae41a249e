#include "tests/local/apiserver/server/server_fixture.h"

#include <chrono>

namespace berth::local {
namespace {

constexpr std::chrono::seconds kTimeout{20};
constexpr std::chrono::seconds kPatience{10};

}  // namespace

std::vector<std::string> Answer::Warnings() const {
  std::vector<std::string> warnings;
  for (const net::Header& header : headers) {
    if (header.name == "Warning" || header.name == "warning") warnings.push_back(header.value);
  }
  return warnings;
}

WatchReader::~WatchReader() {
  if (handle_ != nullptr) handle_->Cancel();
}

Json WatchReader::Next() {
  const std::string line = NextLine();
  return line.empty() ? Json() : Json::parse(line, nullptr, false);
}

std::string WatchReader::NextLine() {
  std::unique_lock lock(state_->mutex);
  const auto has_line = [&] { return state_->text.find('\n') != std::string::npos; };
  state_->changed.wait_for(lock, kPatience, [&] { return has_line() || state_->ended; });
  if (!has_line()) return "";
  const std::size_t end = state_->text.find('\n');
  const std::string line = state_->text.substr(0, end);
  state_->text.erase(0, end + 1);
  return line;
}

bool WatchReader::WaitForEnd() {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, kPatience, [&] { return state_->ended; });
}

void ServerTest::StartServer(ApiServerOptions options) {
  StopServer();
  options.data_directory = folder_.path();
  auto started = ApiServer::Start(std::move(options));
  ASSERT_TRUE(started) << started.error().message;
  server_ = *std::move(started);
  io_ = std::make_unique<net::IoPool>(1);
  net::ClientOptions client;
  client.base_url = server_->url();
  client.ca_pem = server_->ca_pem();
  client.bearer_token = server_->token();
  client.user_agent = "tester/1.0";
  auto made = net::HttpClient::Create(*io_, std::move(client));
  ASSERT_TRUE(made) << made.error().message;
  client_ = *std::move(made);
}

void ServerTest::StopServer() {
  client_.reset();
  if (io_ != nullptr) io_->Stop();
  io_.reset();
  server_.reset();
}

void ServerTest::TearDown() { StopServer(); }

Answer ServerTest::Send(const std::string& method, const std::string& target,
                        const std::string& body, net::Headers headers) {
  net::Request request;
  request.method = method;
  request.target = target;
  request.body = body;
  request.headers = std::move(headers);
  if (!body.empty() && !request.headers.Has("Content-Type")) {
    request.headers.Add("Content-Type", "application/json");
  }
  auto response = client_->SendAndWait(std::move(request), kTimeout);
  Answer answer;
  if (!response) {
    ADD_FAILURE() << method << " " << target << ": " << response.error().message;
    return answer;
  }
  answer.status = response->status;
  answer.text = response->body;
  answer.headers = response->headers;
  Json parsed = Json::parse(response->body, nullptr, false);
  answer.json = parsed.is_discarded() ? Json() : std::move(parsed);
  if (!answer.json.is_object()) answer.json = Json::object();
  return answer;
}

Answer ServerTest::Patch(const std::string& target, const std::string& type, const Json& body) {
  const std::string content = type == "apply"       ? "application/apply-patch+yaml"
                              : type == "strategic" ? "application/strategic-merge-patch+json"
                                                    : "application/" + type + "-patch+json";
  return Send("PATCH", target, body.dump(), {{"Content-Type", content}});
}

std::unique_ptr<WatchReader> ServerTest::Watch(const std::string& target) {
  auto reader = std::make_unique<WatchReader>();
  const auto state = reader->state_;
  net::Request request;
  request.method = "GET";
  request.target = target;
  net::StreamCallbacks callbacks;
  callbacks.on_head = [state](int status, const net::Headers&) {
    const std::lock_guard lock(state->mutex);
    state->status = status;
    state->changed.notify_all();
  };
  callbacks.on_data = [state](std::string_view bytes) {
    const std::lock_guard lock(state->mutex);
    state->text += bytes;
    state->changed.notify_all();
  };
  callbacks.on_end = [state](const Status&) {
    const std::lock_guard lock(state->mutex);
    state->ended = true;
    state->changed.notify_all();
  };
  reader->handle_ = client_->Open(std::move(request), kTimeout, std::move(callbacks));
  // The head comes before any event: from here on the watch gets all events.
  std::unique_lock lock(state->mutex);
  state->changed.wait_for(lock, kPatience, [&] { return state->status != 0 || state->ended; });
  return reader;
}

Answer ServerTest::As(const std::string& user, const std::string& method, const std::string& target,
                      const Json& body, net::Headers headers) {
  headers.Add("Impersonate-User", user);
  return Send(method, target, body.is_null() ? "" : body.dump(), std::move(headers));
}

void ServerTest::GiveEverywhere(const std::string& user, const std::vector<Json>& rules) {
  const std::string group = "rbac.authorization.k8s.io";
  const std::string path = "/apis/" + group + "/v1/";
  const std::string role = user + "-role";
  const Json subject{{"apiGroup", group}, {"kind", "User"}, {"name", user}};
  EXPECT_EQ(Post(path + "clusterroles", {{"metadata", {{"name", role}}}, {"rules", rules}}).status,
            201);
  EXPECT_EQ(Post(path + "clusterrolebindings",
                 {{"metadata", {{"name", user + "-binding"}}},
                  {"roleRef", {{"apiGroup", group}, {"kind", "ClusterRole"}, {"name", role}}},
                  {"subjects", Json::array({subject})}})
                .status,
            201);
}

Json ConfigMapJson(const std::string& name, const Json& data) {
  return {
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}, {"data", data}};
}

Json PodSpec() {
  return {{"restartPolicy", "Never"},
          {"containers", Json::array({{{"name", "c"}, {"image", "busybox"}}})}};
}

Json JobJson(const std::string& name) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}}},
          {"spec", {{"suspend", true}, {"template", {{"spec", PodSpec()}}}}}};
}

Json PodJson(const std::string& name) {
  return {
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}, {"spec", PodSpec()}};
}

Json WidgetCrd() {
  const Json schema{
      {"type", "object"},
      {"properties",
       {{"spec",
         {{"type", "object"},
          {"properties",
           {{"size", {{"type", "integer"}, {"maximum", 10}}},
            {"color", {{"type", "string"}, {"default", "red"}}}}}}},
        {"status", {{"type", "object"}, {"properties", {{"phase", {{"type", "string"}}}}}}}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "widgets.example.com"}}},
          {"spec",
           {{"group", "example.com"},
            {"scope", "Namespaced"},
            {"names", {{"plural", "widgets"}, {"kind", "Widget"}, {"shortNames", {"wd"}}}},
            {"versions", Json::array({{{"name", "v1"},
                                       {"served", true},
                                       {"storage", true},
                                       {"schema", {{"openAPIV3Schema", schema}}},
                                       {"subresources", {{"status", Json::object()}}},
                                       {"additionalPrinterColumns",
                                        Json::array({{{"name", "Size"},
                                                      {"type", "integer"},
                                                      {"jsonPath", ".spec.size"}}})}}})}}}};
}

Json WidgetJson(const std::string& name, int size) {
  return {{"apiVersion", "example.com/v1"},
          {"kind", "Widget"},
          {"metadata", {{"name", name}}},
          {"spec", {{"size", size}}}};
}

}  // namespace berth::local
