#include "kube/client/reflector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/strings.h"

namespace berth::kube {
namespace {

// Watches of one program must not end at the same time: lifetimes are spread over [min, 2·min).
constexpr std::chrono::seconds kShortestWatch{300};
// A watch that timed out earlier was not silent: a server or proxy answered 504.
constexpr std::chrono::seconds kShortestSilence{10};
// The time in which a watch delivers what was written.
constexpr std::chrono::seconds kDelivery{1};

std::string ResourceVersionOf(const Json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return {};
  const auto version = metadata->find("resourceVersion");
  return version != metadata->end() && version->is_string() ? version->get<std::string>()
                                                            : std::string();
}

}  // namespace

Reflector::Reflector(ApiClient& client, const api::ResourceKind& kind, ReflectorOptions options,
                     std::shared_ptr<const ObjectReader> reader, ReflectorCallbacks callbacks)
    : client_(client),
      kind_(kind),
      options_(std::move(options)),
      reader_(std::move(reader)),
      callbacks_(std::move(callbacks)),
      random_(options_.seed),
      backoff_(options_.first_backoff),
      self_(std::make_shared<Reflector*>(this)) {}

Reflector::~Reflector() = default;

void Reflector::Start() { After(Duration::zero(), Step::kList); }

void Reflector::After(Duration delay, Step step) {
  client_.executor().PostAfter(delay, [weak = std::weak_ptr(self_), step, round = round_] {
    const auto self = weak.lock();
    if (self == nullptr || (*self)->round_ != round) return;
    if (step == Step::kList) {
      (*self)->List();
    } else {
      (*self)->Watch();
    }
  });
}

void Reflector::TryAgain(Step step, const Error* error) {
  if (error != nullptr) callbacks_.on_error(*error);
  const auto jitter = static_cast<std::int64_t>(
      random_.Below(static_cast<std::uint64_t>(backoff_.count() / 2 + 1)));
  After(backoff_ / 2 + Duration(jitter), step);
  backoff_ = std::min(backoff_ * 2, options_.longest_backoff);
}

void Reflector::CatchUp(std::function<void()> done) {
  caught_up_.push_back(std::move(done));
  if (caught_up_.size() == 1) AskNewest();
}

void Reflector::AskNewest() {
  client_.NewestVersion(kind_, options_.namespace_name,
                        {options_.label_selector, options_.field_selector},
                        [weak = std::weak_ptr(self_)](const Result<std::string>& newest) {
                          if (const auto self = weak.lock()) (*self)->OnNewest(newest);
                        });
}

void Reflector::OnNewest(const Result<std::string>& newest) {
  if (caught_up_.empty()) return;
  const std::weak_ptr<Reflector*> weak = self_;
  if (!newest) {
    const ErrorCode code = newest.error().code;
    const bool refused = code == ErrorCode::kNotFound || code == ErrorCode::kForbidden ||
                         code == ErrorCode::kInvalid;
    if (refused) return EndCatchUp();
    return client_.executor().PostAfter(options_.first_backoff, [weak] {
      if (const auto self = weak.lock()) (*self)->AskNewest();
    });
  }
  newest_ = *newest;
  if (HasCaughtUp()) return EndCatchUp();
  client_.executor().PostAfter(kDelivery, [weak] {
    const auto self = weak.lock();
    if (self == nullptr || (*self)->caught_up_.empty()) return;
    if ((*self)->HasCaughtUp()) return (*self)->EndCatchUp();
    (*self)->ListAnew();
  });
}

// Versions are ordered numbers (Kubernetes KEP-5504).
bool Reflector::HasCaughtUp() const {
  const std::optional<std::int64_t> have = ParseInt64(resource_version_);
  const std::optional<std::int64_t> newest = ParseInt64(newest_);
  return have && newest ? *have >= *newest : resource_version_ == newest_;
}

void Reflector::EndCatchUp() {
  newest_.clear();
  for (const auto& done : std::exchange(caught_up_, {})) done();
}

// A list under way may be older than the newest version: then OnListEnd lists once more.
void Reflector::ListAnew() {
  if (is_listing_) return;
  ++round_;
  watch_.reset();
  List();
}

void Reflector::List() {
  is_listing_ = true;
  ListOptions options{options_.label_selector, options_.field_selector};
  last_list_ = std::exchange(next_list_, Paging::kPages);
  if (last_list_ == Paging::kWhole) options.page_size = 0;
  const std::weak_ptr<Reflector*> weak = self_;
  client_.ListPages(kind_, options_.namespace_name, options, reader_,
                    {.on_start =
                         [weak] {
                           if (const auto self = weak.lock()) (*self)->callbacks_.on_list_start();
                         },
                     .on_page =
                         [weak](const std::vector<ReadObject>& items) {
                           if (const auto self = weak.lock()) (*self)->callbacks_.on_page(items);
                         },
                     .on_end =
                         [weak](const Result<std::string>& resource_version) {
                           if (const auto self = weak.lock()) (*self)->OnListEnd(resource_version);
                         }});
}

void Reflector::OnListEnd(const Result<std::string>& resource_version) {
  is_listing_ = false;
  if (!resource_version) return TryAgain(Step::kList, &resource_version.error());
  resource_version_ = *resource_version;
  // If every list expires at once, another list is no success.
  if (list_was_useful_) backoff_ = options_.first_backoff;
  list_was_useful_ = false;
  watch_was_refused_ = false;
  callbacks_.on_list_end();
  Watch();
  if (newest_.empty()) return;
  if (HasCaughtUp()) return EndCatchUp();
  ListAnew();
}

void Reflector::Watch() {
  WatchOptions options;
  options.label_selector = options_.label_selector;
  options.field_selector = options_.field_selector;
  options.resource_version = resource_version_;
  options.lifetime =
      kShortestWatch +
      std::chrono::seconds(random_.Below(static_cast<std::uint64_t>(kShortestWatch.count())));
  watch_was_useful_ = false;
  watch_has_stood_ = std::make_shared<bool>(false);
  client_.executor().PostAfter(kShortestSilence, [stood = watch_has_stood_] { *stood = true; });
  WatchCallbacks callbacks;
  callbacks.on_event = [this](const WatchEvent& event) { OnWatchEvent(event); };
  // The handle must not be destroyed inside its own callback.
  callbacks.on_end = [this, weak = std::weak_ptr(self_), round = round_](const Status& status) {
    client_.executor().Post([weak, status, round] {
      const auto self = weak.lock();
      if (self != nullptr && (*self)->round_ == round) (*self)->OnWatchEnd(status);
    });
  };
  watch_ = client_.Watch(kind_, options_.namespace_name, options, std::move(callbacks), reader_);
}

void Reflector::OnWatchEvent(const WatchEvent& event) {
  std::string version =
      event.object != nullptr ? ResourceVersionOf(*event.object) : event.resource_version;
  if (!version.empty()) resource_version_ = std::move(version);
  watch_was_useful_ = true;
  list_was_useful_ = true;
  backoff_ = options_.first_backoff;
  if (event.type == WatchEvent::Type::kBookmark) return;
  callbacks_.on_event(event.type,
                      event.object != nullptr ? reader_->Read(*event.object) : event.read);
}

void Reflector::OnWatchEnd(const Status& status) {
  watch_.reset();
  if (status) {
    list_was_useful_ = true;
    // A watch that ends at once without an event would be repeated in a tight loop.
    if (!watch_was_useful_ && !*watch_has_stood_) return TryAgain(Step::kWatch, nullptr);
    backoff_ = options_.first_backoff;
    return Watch();
  }
  const Error& error = status.error();
  if (error.code == ErrorCode::kExpired) {
    // The time of the refusals made the list old.
    if (list_was_useful_ || watch_was_refused_) return After(Duration::zero(), Step::kList);
    // One request is the fresher list, but may be too long for one answer.
    next_list_ = last_list_ == Paging::kPages ? Paging::kWhole : Paging::kPages;
    return TryAgain(Step::kList, &error);
  }
  // Silence is no failure: the collection is quiet, or the peer is dead, which a new request shows.
  if (error.code == ErrorCode::kDeadlineExceeded && *watch_has_stood_) {
    list_was_useful_ = true;
    backoff_ = options_.first_backoff;
    return Watch();
  }
  watch_was_refused_ = true;
  const bool list_again = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound;
  TryAgain(list_again ? Step::kList : Step::kWatch, &error);
}

}  // namespace berth::kube
