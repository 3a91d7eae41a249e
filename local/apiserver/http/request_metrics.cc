#include "local/apiserver/http/request_metrics.h"

#include <algorithm>

#include "local/apiserver/http/kept_stream.h"

namespace berth::local {
namespace {

using InstantOfStart = std::chrono::steady_clock::time_point;

constexpr int kNoAnswer = 500;  // what net/server answers for a dropped responder
constexpr int kSwitched = 101;
constexpr const char* kComponent = "apiserver";
constexpr const char* kConnects[] = {"log", "exec", "portforward", "attach", "proxy"};

bool Connects(std::string_view subresource) {
  return std::any_of(std::begin(kConnects), std::end(kConnects),
                     [&](const char* one) { return subresource == one; });
}

std::string_view DryRunOf(const Target& target) {
  const auto found = target.query.find("dryRun");
  if (found == target.query.end() || found->second.empty()) return "";
  return found->second == "All" ? "All" : "invalid";
}

bool IsWatch(const net::Request& request, const Target& target) {
  return request.method == "GET" && target.IsTrue("watch");
}

std::string_view VerbFor(const net::Request& request, const Target& target,
                         std::string_view scope) {
  const std::string& method = request.method;
  if (method == "GET" || method == "HEAD") {
    if (scope.empty()) return "GET";
    if (IsWatch(request, target)) return "WATCH";
    return scope == "resource" ? "GET" : "LIST";
  }
  if (method == "PATCH") {
    const bool applies = request.headers.Find("Content-Type") == "application/apply-patch+yaml";
    return applies ? "APPLY" : "PATCH";
  }
  for (const std::string_view known : {"POST", "PUT", "DELETE"}) {
    if (method == known) return known;
  }
  return "other";
}

}  // namespace

struct RequestMetrics::Labels {
  std::string_view verb;
  std::string_view dry_run;
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  std::string_view subresource;
  std::string_view scope;
  std::string_view component;

  void JoinTo(std::string& key) const {
    key.clear();
    for (const std::string_view part :
         {resource, verb, group, version, subresource, scope, dry_run, component}) {
      key.append(part).push_back('\n');
    }
  }
};

// A request that names no resource of the server.
RequestMetrics::Labels RequestMetrics::OfPath(const net::Request& request, const Target& target) {
  Labels labels;
  labels.verb = VerbFor(request, target, "");
  for (const std::string_view health : {"/healthz", "/livez", "/readyz"}) {
    if (target.path == health) labels.subresource = health;
  }
  if (labels.subresource.empty()) labels.component = kComponent;
  return labels;
}

RequestMetrics::Labels RequestMetrics::OfResource(const net::Request& request, const Target& target,
                                                  const ApiPath& path) {
  Labels labels;
  const bool creates = request.method == "POST" && path.name.empty();
  labels.scope = !path.name.empty() || creates ? "resource"
                 : path.namespace_name.empty() ? "cluster"
                                               : "namespace";
  labels.verb = Connects(path.subresource) ? "CONNECT" : VerbFor(request, target, labels.scope);
  labels.dry_run = DryRunOf(target);
  labels.group = path.group;
  labels.version = path.version;
  labels.resource = path.resource;
  labels.subresource = path.subresource;
  labels.component = kComponent;
  return labels;
}

struct RequestMetrics::Series {
  // The labels of the first request.
  std::string verb, dry_run, group, version, resource, subresource, scope, component;
  bool is_long = false;

  std::mutex mutex;  // guards the counts
  std::vector<std::pair<int, std::uint64_t>> count_by_code;
  BucketCounts<kDurationBounds.size()> seconds;
  BucketCounts<kSizeBounds.size()> sizes;
  std::int64_t open = 0;

  bool HasSizes() const { return verb == "GET" || verb == "LIST"; }
  ExpositionText::LabelList Labels() const {
    return {
        {"component", component},     {"group", group}, {"resource", resource}, {"scope", scope},
        {"subresource", subresource}, {"verb", verb},   {"version", version}};
  }
};

// One request. Counts once: at Finish, or at its end.
class RequestMetrics::Running {
 public:
  Running(std::shared_ptr<RequestMetrics> metrics, Series& series, bool reads)
      : metrics_(std::move(metrics)),
        series_(series),
        reads_(reads),
        begin_(std::chrono::steady_clock::now()) {
    if (series_.is_long) {
      const std::lock_guard lock(series_.mutex);
      ++series_.open;
    } else {
      UnderWay().fetch_add(1, std::memory_order_relaxed);
    }
  }
  ~Running() { Finish(code_, 0); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void SetCode(int code) { code_ = code; }
  void Finish(int code, std::size_t bytes) {
    if (finished_.exchange(true)) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    if (!series_.is_long) UnderWay().fetch_sub(1, std::memory_order_relaxed);
    const std::lock_guard lock(series_.mutex);
    if (series_.is_long) --series_.open;
    series_.seconds.Add(kDurationBounds, took.count());
    if (series_.HasSizes()) series_.sizes.Add(kSizeBounds, static_cast<double>(bytes));
    for (auto& [known, count] : series_.count_by_code) {
      if (known != code) continue;
      ++count;
      return;
    }
    series_.count_by_code.emplace_back(code, 1);
  }

 private:
  std::atomic<std::int64_t>& UnderWay() { return reads_ ? metrics_->reading_ : metrics_->writing_; }

  const std::shared_ptr<RequestMetrics> metrics_;
  Series& series_;
  const bool reads_;
  const InstantOfStart begin_;
  std::atomic<int> code_{kNoAnswer};
  std::atomic<bool> finished_{false};
};

// The request ends with the last reference of its stream.
class RequestMetrics::MeasuredResponder final : public net::Responder {
 public:
  MeasuredResponder(std::shared_ptr<net::Responder> responder, std::shared_ptr<Running> running)
      : responder_(std::move(responder)), running_(std::move(running)) {}
  bool HasPeerLeft() const override { return responder_->HasPeerLeft(); }
  // The client's next request finds this one counted.
  void Send(net::Response response) override {
    running_->Finish(response.status, response.body.size());
    responder_->Send(std::move(response));
  }
  std::shared_ptr<net::Stream> StartStream(int status, net::Headers headers) override {
    running_->SetCode(status);
    return std::make_shared<KeptStream>(responder_->StartStream(status, std::move(headers)),
                                        running_);
  }
  std::shared_ptr<net::Duplex> StartUpgrade(const net::Request& request, std::string protocol,
                                            net::Headers headers) override {
    running_->SetCode(kSwitched);
    return std::make_shared<KeptDuplex>(
        responder_->StartUpgrade(request, std::move(protocol), std::move(headers)), running_);
  }

 private:
  const std::shared_ptr<net::Responder> responder_;
  const std::shared_ptr<Running> running_;
};

RequestMetrics::RequestMetrics(IsServed is_served) : is_served_(std::move(is_served)) {}
RequestMetrics::~RequestMetrics() = default;

RequestMetrics::Series* RequestMetrics::Find(std::string_view key) const {
  const std::shared_lock lock(mutex_);
  const auto found = series_by_key_.find(key);
  return found == series_by_key_.end() ? nullptr : found->second;
}

RequestMetrics::Series& RequestMetrics::Make(const std::string& key, const Labels& labels) {
  const std::unique_lock lock(mutex_);
  Series*& series = series_by_key_[key];
  if (series != nullptr) return *series;
  auto made = std::make_unique<Series>();
  made->verb = labels.verb;
  made->dry_run = labels.dry_run;
  made->group = labels.group;
  made->version = labels.version;
  made->resource = labels.resource;
  made->subresource = labels.subresource;
  made->scope = labels.scope;
  made->component = labels.component;
  made->is_long = labels.verb == "WATCH" || labels.verb == "CONNECT";
  series = made.get();
  series_.push_back(std::move(made));
  return *series;
}

// Known series are found without a look at the served kinds: one of a kind that is gone stays.
RequestMetrics::Series& RequestMetrics::SeriesOf(const net::Request& request, const Target& target,
                                                 const std::optional<ApiPath>& path) {
  thread_local std::string key;
  Labels labels = path && !path->resource.empty() ? OfResource(request, target, *path)
                                                  : OfPath(request, target);
  labels.JoinTo(key);
  if (Series* known = Find(key)) return *known;
  if (!labels.resource.empty() && !is_served_(*path)) {
    labels = OfPath(request, target);
    labels.JoinTo(key);
  }
  return Make(key, labels);
}

std::shared_ptr<net::Responder> RequestMetrics::Measure(const net::Request& request,
                                                        const Target& target,
                                                        const std::optional<ApiPath>& path,
                                                        std::shared_ptr<net::Responder> responder) {
  Series& series = SeriesOf(request, target, path);
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return std::make_shared<MeasuredResponder>(
      std::move(responder), std::make_shared<Running>(shared_from_this(), series, reads));
}

void RequestMetrics::WatchSeries::Count(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  sizes_.Add(kEventSizeBounds, static_cast<double>(bytes));
}

RequestMetrics::WatchSeries& RequestMetrics::WatchesOf(const ResourceId& resource) {
  const std::unique_lock lock(mutex_);
  std::unique_ptr<WatchSeries>& watches = watches_[resource];
  if (watches == nullptr) watches = std::make_unique<WatchSeries>();
  return *watches;
}

void RequestMetrics::WriteTo(ExpositionText& text) const {
  const std::shared_lock lock(mutex_);
  WriteRequests(text);
  WriteOpen(text);
  WriteWatches(text);
}

void RequestMetrics::WriteRequests(ExpositionText& text) const {
  text.Family("apiserver_request_total", "counter",
              "Counter of apiserver requests broken out for each verb, dry run value, group, "
              "version, resource, scope, component, and HTTP response code.");
  for (const auto& series : series_) {
    const std::lock_guard counts(series->mutex);
    for (const auto& [code, count] : series->count_by_code) {
      ExpositionText::LabelList labels = series->Labels();
      const std::string code_text = std::to_string(code);
      labels.insert(labels.begin(), {"code", code_text});
      labels.insert(labels.begin() + 2, {"dry_run", series->dry_run});
      text.Sample("apiserver_request_total", labels, count);
    }
  }
  text.Family("apiserver_request_duration_seconds", "histogram",
              "Response latency distribution in seconds for each verb, dry run value, group, "
              "version, resource, subresource, scope and component.");
  for (const auto& series : series_) {
    const std::lock_guard counts(series->mutex);
    if (series->count_by_code.empty()) continue;
    ExpositionText::LabelList labels = series->Labels();
    labels.insert(labels.begin() + 1, {"dry_run", series->dry_run});
    text.Histogram("apiserver_request_duration_seconds", labels, kDurationBounds,
                   series->seconds.counts, series->seconds.sum);
  }
  text.Family("apiserver_response_sizes", "histogram",
              "Response size distribution in bytes for each group, version, verb, resource, "
              "subresource, scope and component.");
  for (const auto& series : series_) {
    const std::lock_guard counts(series->mutex);
    if (!series->HasSizes() || !series->dry_run.empty() || series->count_by_code.empty()) continue;
    text.Histogram("apiserver_response_sizes", series->Labels(), kSizeBounds, series->sizes.counts,
                   series->sizes.sum);
  }
}

void RequestMetrics::WriteOpen(ExpositionText& text) const {
  text.Family("apiserver_longrunning_requests", "gauge",
              "Gauge of all active long-running apiserver requests broken out by verb, group, "
              "version, resource, scope and component. Not all requests are tracked this way.");
  for (const auto& series : series_) {
    const std::lock_guard counts(series->mutex);
    if (!series->is_long || !series->dry_run.empty()) continue;
    text.Sample("apiserver_longrunning_requests", series->Labels(),
                static_cast<double>(series->open));
  }
  text.Family("apiserver_current_inflight_requests", "gauge",
              "Number of requests under way per request kind, without long-running ones.");
  text.Sample("apiserver_current_inflight_requests", {{"request_kind", "mutating"}},
              static_cast<double>(writing_.load()));
  text.Sample("apiserver_current_inflight_requests", {{"request_kind", "readOnly"}},
              static_cast<double>(reading_.load()));
}

void RequestMetrics::WriteWatches(ExpositionText& text) const {
  text.Family("apiserver_watch_events_total", "counter", "Number of events sent in watch clients");
  for (const auto& [resource, watches] : watches_) {
    const std::lock_guard counts(watches->mutex_);
    std::uint64_t total = 0;
    for (const std::uint64_t count : watches->sizes_.counts) total += count;
    text.Sample(
        "apiserver_watch_events_total",
        {{"group", resource.group}, {"resource", resource.resource}, {"version", resource.version}},
        total);
  }
  text.Family("apiserver_watch_events_sizes", "histogram",
              "Watch event size distribution in bytes");
  for (const auto& [resource, watches] : watches_) {
    const std::lock_guard counts(watches->mutex_);
    text.Histogram(
        "apiserver_watch_events_sizes",
        {{"group", resource.group}, {"resource", resource.resource}, {"version", resource.version}},
        kEventSizeBounds, watches->sizes_.counts, watches->sizes_.sum);
  }
}

}  // namespace berth::local
