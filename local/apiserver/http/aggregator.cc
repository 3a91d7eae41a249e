#include "local/apiserver/http/aggregator.h"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

#include "api/codec/json_tree.h"
#include "base/percent.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "base/system_clock.h"
#include "local/apiserver/http/aggregated_documents.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/webhooks/service_address.h"

namespace berth::local {
namespace {

constexpr std::size_t kMostWatches = 256;
constexpr std::size_t kMostDocumentBytes = std::size_t{4} * 1024 * 1024;
constexpr std::chrono::hours kWatchSilence{1};
constexpr int kHttps = 443;
constexpr std::string_view kApis = "/apis/";
constexpr std::string_view kOpenApi = "/openapi/v3";
// What the name of a header may have beside letters and digits, without the escape's own mark.
constexpr std::string_view kMarksOfToken = "!#$&'*+-.^_`|~";
const ResourceId kApiServiceId{"apiregistration.k8s.io", "v1", "apiservices"};

void NameUser(const UserInfo& user, net::Headers& headers) {
  headers.Add("X-Remote-User", user.name);
  if (!user.uid.empty()) headers.Add("X-Remote-Uid", user.uid);
  for (const std::string& group : user.groups) headers.Add("X-Remote-Group", group);
  for (const auto& [key, values] : user.extra) {
    for (const std::string& value : values) {
      headers.Add("X-Remote-Extra-" + PercentEncode(key, kMarksOfToken), value);
    }
  }
}

// Whether the server could read the path otherwise than this one, which has checked the rights.
bool IsAmbiguous(const Exchange& exchange) {
  const std::string& target = exchange.request.target;
  const std::string_view raw = std::string_view(target).substr(0, target.find('?'));
  const std::string& path = exchange.target.path;
  const auto slashes = std::count(raw.begin(), raw.end(), '/') - (raw.ends_with('/') ? 1 : 0);
  if (std::count(path.begin(), path.end(), '/') != slashes) return true;
  const auto parts = Split(std::string_view(path).substr(1), '/');
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

// Whether the right that was asked for is not that of the path for another server: /watch/ and
// /proxy/ as the first part behind the version, and parts behind a subresource, are read otherwise
// there.
bool IsReadOtherwise(const Exchange& exchange) {
  if (!exchange.target.path.starts_with(kApis)) return false;
  return !exchange.api || exchange.api->resource == "watch" || exchange.api->resource == "proxy";
}

using Answer = Result<net::Response>;

std::future<Answer> GetFrom(net::HttpClient& client, std::string target) {
  net::Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.headers.Add("Accept", "application/json");
  NameUser({.name = "system:kube-aggregator", .uid = "", .groups = {"system:masters"}, .extra = {}},
           request.headers);
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  client.Send(std::move(request), Aggregator::kLookTimeout,
              [promise](Answer answer) { promise->set_value(std::move(answer)); });
  return future;
}

// An object; null: the answer has none.
Json ObjectOf(const Answer& answer) {
  if (!answer || answer->status != 200) return {};
  Result<Json> parsed = api::ParseJson(answer->body);
  return parsed && parsed->is_object() ? *std::move(parsed) : Json();
}

}  // namespace

struct Aggregator::Entry {
  std::int64_t revision = 0;  // the revision of the APIService
  AggregatedVersion version;  // what the documents tell of it
  std::string name;
  std::string service_namespace;
  std::string service;
  int port = kHttps;
  std::string ca_pem;
  bool takes_any_certificate = false;
  bool is_own = false;
  Json conditions;  // the stored ones

  // What looks have found.
  SteadyTime look_at{};
  std::string url;  // "https://127.96.0.7:443"; empty: the Service has no address
  std::shared_ptr<net::HttpClient> client;
  bool is_available = false;
  std::string reason;
  std::string message;

  std::string ApiPath() const { return "/apis/" + version.group + "/" + version.version; }
  void Set(bool available, std::string why, std::string words) {
    is_available = available;
    reason = std::move(why);
    message = std::move(words);
  }
};

struct Aggregator::Asked {
  std::future<Answer> resources;
  std::future<Answer> openapi;
};

Aggregator::Aggregator(const WatchCache& cache, Api& api, net::IoPool& pool, Options options)
    : cache_(cache),
      api_(api),
      pool_(pool),
      options_(std::move(options)),
      calls_(std::make_shared<PassedCalls>()),
      watches_(std::make_shared<PassedCalls>(kMostWatches)) {}

void Aggregator::Stop() {
  is_stopped_ = true;
  calls_->Stop();
  watches_->Stop();
}

Aggregator::Entries Aggregator::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

// nullopt: the APIService names no Service.
std::optional<Aggregator::Entry> Aggregator::Read(const StoredPtr& stored) const {
  const Object object = stored->json();
  if (object == nullptr || At(*object, {"spec", "service"}) == nullptr) return std::nullopt;
  Entry entry;
  entry.revision = stored->revision();
  entry.name = NameOf(*object);
  entry.version.group = TextAt(*object, {"spec", "group"});
  entry.version.version = TextAt(*object, {"spec", "version"});
  entry.version.priority = IntAt(*object, {"spec", "versionPriority"}, 0);
  entry.service_namespace = TextAt(*object, {"spec", "service", "namespace"});
  entry.service = TextAt(*object, {"spec", "service", "name"});
  entry.port = static_cast<int>(IntAt(*object, {"spec", "service", "port"}, kHttps));
  entry.ca_pem = Base64Decode(TextAt(*object, {"spec", "caBundle"})).value_or("");
  entry.takes_any_certificate = BoolAt(*object, {"spec", "insecureSkipTLSVerify"}, false);
  entry.conditions = ArrayAt(*object, {"status", "conditions"});
  entry.is_own = options_.is_own(entry.version.group, entry.version.version);
  return entry;
}

// Gives the entry an address and a client, or the reason why it has none.
void Aggregator::Resolve(Entry& entry) const {
  const StoredPtr stored = cache_.Get({"services", entry.service_namespace, entry.service});
  const Object service = stored == nullptr ? nullptr : stored->json();
  const auto address = AddressOfService(service.get(), entry.service, entry.port);
  if (!address) {
    entry.client = nullptr;
    entry.url.clear();
    if (service == nullptr) {
      return entry.Set(
          false, "ServiceNotFound",
          "service/" + entry.service + " in \"" + entry.service_namespace + "\" is not present");
    }
    return entry.Set(false, "ServicePortError",
                     "service/" + entry.service + " in \"" + entry.service_namespace +
                         "\" has no address for port " + std::to_string(entry.port) + ": " +
                         address.error().message);
  }
  std::string url = "https://" + *address;
  if (entry.client != nullptr && url == entry.url) return;
  entry.url = std::move(url);
  net::ClientOptions options;
  options.base_url = entry.url;
  options.ca_pem = entry.ca_pem;
  options.takes_any_certificate = entry.takes_any_certificate;
  options.server_name = entry.service + "." + entry.service_namespace + ".svc";
  options.certificate = options_.front_proxy;
  options.user_agent = "kube-aggregator";
  options.max_body_bytes = kMostDocumentBytes;
  auto client = net::HttpClient::Create(pool_, std::move(options));
  if (client) {
    entry.client = *std::move(client);
  } else {
    entry.client = nullptr;
    entry.Set(false, "FailedDiscoveryCheck", client.error().message);
  }
}

Aggregator::Asked Aggregator::Ask(Entry& entry) const {
  if (entry.is_own) {
    entry.Set(true, "Local", "This server answers the group version itself");
    return {};
  }
  Resolve(entry);
  if (entry.client == nullptr) return {};
  return {GetFrom(*entry.client, entry.ApiPath()), GetFrom(*entry.client, std::string(kOpenApi))};
}

// The end of this server does not wait for a server that is silent.
Result<net::Response> Aggregator::AnswerOf(std::future<Result<net::Response>>& answer) const {
  while (answer.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    if (is_stopped_) return Error{ErrorCode::kUnavailable, "the API server is shutting down"};
  }
  return answer.get();
}

void Aggregator::Finish(Entry& entry, Asked asked) const {
  if (!asked.resources.valid()) return;
  const Answer answer = AnswerOf(asked.resources);
  Json openapi = ObjectOf(AnswerOf(asked.openapi));
  const std::string from = "failing or missing response from " + entry.url + entry.ApiPath() + ": ";
  if (!answer) {
    return entry.Set(false, "FailedDiscoveryCheck", from + answer.error().message);
  }
  Json resources = ObjectOf(answer);
  if (const Json* list = At(resources, {"resources"}); list == nullptr || !list->is_array()) {
    return entry.Set(false, "FailedDiscoveryCheck",
                     from + "no list of resources, status " + std::to_string(answer->status));
  }
  entry.version.resources = std::make_shared<const Json>(std::move(resources));
  const Json* document = At(openapi, {"paths", entry.ApiPath().substr(1)});
  entry.version.openapi = document == nullptr ? Json() : *document;
  entry.Set(true, "Passed", "all checks passed");
}

void Aggregator::Look(SteadyTime now) {
  const Entries known = entries();
  Entries next;
  std::map<std::string, std::int64_t> next_plain;
  std::vector<std::pair<std::shared_ptr<Entry>, Asked>> looks;
  for (const StoredPtr& stored : cache_.List("apiservices.apiregistration.k8s.io", "").objects) {
    if (next.size() == kMostEntries) break;
    const auto before = known.find(stored->key().name);
    if (before != known.end() && before->second->revision == stored->revision() &&
        now < before->second->look_at) {
      next.insert(*before);
      continue;
    }
    const auto plain = plain_.find(stored->key().name);
    const bool is_plain = plain != plain_.end() && plain->second == stored->revision();
    auto read = is_plain ? std::nullopt : Read(stored);
    if (!read) {
      next_plain[stored->key().name] = stored->revision();
      continue;
    }
    auto entry = std::make_shared<Entry>(*std::move(read));
    if (before != known.end() && before->second->ca_pem == entry->ca_pem &&
        before->second->takes_any_certificate == entry->takes_any_certificate &&
        before->second->service == entry->service &&
        before->second->service_namespace == entry->service_namespace) {
      entry->url = before->second->url;
      entry->client = before->second->client;
    }
    Asked asked = Ask(*entry);
    looks.emplace_back(entry, std::move(asked));
    next[entry->name] = entry;
  }
  plain_ = std::move(next_plain);
  for (auto& [entry, asked] : looks) {
    Finish(*entry, std::move(asked));
    entry->look_at = now + (entry->is_available ? kLookAgain : kLookAgainFailed);
  }
  if (is_stopped_) return;
  {
    const std::lock_guard lock(mutex_);
    entries_ = next;
  }
  if (!looks.empty() || next.size() != known.size()) ++generation_;
  for (const auto& [entry, asked] : looks) WriteCondition(*entry);
}

// A write that fails is made again after the next look.
void Aggregator::WriteCondition(const Entry& entry) {
  const std::string now = FormatTime(SystemClock().Now());
  const char* status = entry.is_available ? "True" : "False";
  Json conditions = Json::array();
  Json mine{{"type", "Available"},
            {"status", status},
            {"reason", entry.reason},
            {"message", entry.message},
            {"lastTransitionTime", now}};
  for (const Json& condition : entry.conditions) {
    if (TextAt(condition, {"type"}) != "Available") {
      conditions.push_back(condition);
      continue;
    }
    const bool is_same = TextAt(condition, {"status"}) == status;
    if (is_same && TextAt(condition, {"reason"}) == entry.reason &&
        TextAt(condition, {"message"}) == entry.message) {
      return;
    }
    if (is_same) CopyOrErase(mine, condition, "lastTransitionTime");
  }
  conditions.push_back(std::move(mine));
  const Json patch{{"metadata", {{"resourceVersion", std::to_string(entry.revision)}}},
                   {"status", {{"conditions", std::move(conditions)}}}};
  const auto written = api_.Patch(kApiServiceId, "", entry.name, PatchType::kMerge, patch,
                                  {.field_manager = "kube-aggregator", .subresource = "status"});
  if (!written) return;
}

Aggregator::EntryPtr Aggregator::Find(const std::string& path) const {
  std::string_view rest = path;
  if (rest.starts_with(kOpenApi)) rest.remove_prefix(kOpenApi.size());
  if (!rest.starts_with(kApis)) return nullptr;
  const auto parts = Split(rest.substr(kApis.size()), '/');
  if (parts.size() < 2) return nullptr;
  const std::string name = std::string(parts[1]) + "." + std::string(parts[0]);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() || found->second->is_own ? nullptr : found->second;
}

bool Aggregator::Handle(Exchange& exchange) {
  const EntryPtr entry = Find(exchange.target.path);
  if (entry == nullptr) return false;
  // A CRD of the group version may have come since the last look.
  if (options_.is_own(entry->version.group, entry->version.version)) return false;
  if (!entry->is_available || entry->client == nullptr) {
    exchange.SendError(
        UnavailableStatus("APIService " + entry->name + " is not available: " + entry->message));
    return true;
  }
  if (!exchange.request.headers.Find("Upgrade").empty()) {
    exchange.SendError(BadRequest("an upgraded connection is not passed on to an APIService"));
    return true;
  }
  if (IsReadOtherwise(exchange)) {
    exchange.SendError(
        BadRequest("the path has parts behind a subresource, or the prefix watch or proxy (write "
                   "?watch=true)"));
    return true;
  }
  if (IsAmbiguous(exchange)) {
    exchange.SendError(BadRequest("the path has an empty part, \".\", \"..\" or an escaped slash"));
    return true;
  }
  net::Request request = PassedRequest(exchange, exchange.request.target);
  NameUser(exchange.user, request.headers);
  if (exchange.target.IsTrue("watch")) {
    watches_->Watch(exchange.shared_from_this(), entry->client, std::move(request), kWatchSilence);
  } else {
    calls_->Send(exchange.shared_from_this(), entry->client, std::move(request), "");
  }
  return true;
}

namespace {

// The versions of servers that answer.
template <typename Entries>
std::vector<AggregatedVersion> AvailableOf(const Entries& entries) {
  std::vector<AggregatedVersion> versions;
  for (const auto& [name, entry] : entries) {
    if (entry->is_available && !entry->is_own) versions.push_back(entry->version);
  }
  return versions;
}

}  // namespace

void Aggregator::AddGroups(Json& list) const { AddAggregatedGroups(AvailableOf(entries()), list); }

void Aggregator::AddDiscovery(Json& list) const {
  AddAggregatedDiscovery(AvailableOf(entries()), list);
}

std::optional<Json> Aggregator::GroupOf(const std::string& group) const {
  Json list{{"groups", Json::array()}};
  AddGroups(list);
  for (Json& entry : list["groups"]) {
    if (TextAt(entry, {"name"}) != group) continue;
    entry["kind"] = "APIGroup";
    entry["apiVersion"] = "v1";
    return std::move(entry);
  }
  return std::nullopt;
}

void Aggregator::AddOpenApi(Json& index) const {
  for (const AggregatedVersion& version : AvailableOf(entries())) {
    if (version.openapi.is_null()) continue;
    index["paths"]["apis/" + version.group + "/" + version.version] = version.openapi;
  }
}

}  // namespace berth::local
