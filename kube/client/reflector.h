// kube/client/reflector.h — keeps a copy of a collection current: lists, then watches, forever.
//
//     Start ─▶ list, page by page ─▶ watch ─▶ on_event … ─┐
//               ▲                      ▲  ended, silent    │
//               └── expired (410) ─────┴───────────────────┘   errors: the same, after a backoff
//
// A list that is too old for a watch as soon as it ends (history is short, or its pages went on
// with newer ones) is repeated after a backoff, in one request and in pages by turns.
//
// Threads: one Executor; all callbacks come on it. Destroying it ends everything.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/codec/kinds.h"
#include "base/clock.h"
#include "base/random.h"
#include "kube/client/api_client.h"

namespace berth::kube {

struct ReflectorOptions {
  std::string namespace_name;  // empty: all
  std::string label_selector;
  std::string field_selector;
  Duration first_backoff = std::chrono::milliseconds(800);
  Duration longest_backoff = std::chrono::seconds(30);
  std::uint64_t seed = 1;  // of the jitter
};

struct ReflectorCallbacks {
  // The whole state: start, pages, end. It may start again before it has ended.
  std::function<void()> on_list_start;
  std::function<void(const std::vector<ReadObject>&)> on_page;
  std::function<void()> on_list_end;
  std::function<void(WatchEvent::Type, const ReadObject&)> on_event;  // never a bookmark
  std::function<void(const Error&)> on_error;  // a list or watch failed; it goes on by itself
};

class Reflector {
 public:
  Reflector(ApiClient& client, const api::ResourceKind& kind, ReflectorOptions options,
            std::shared_ptr<const ObjectReader> reader, ReflectorCallbacks callbacks);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void Start();
  const std::string& resource_version() const { return resource_version_; }

 private:
  enum class Step { kList, kWatch };
  enum class Paging { kPages, kWhole };

  void List();
  void Watch();
  void OnListEnd(const Result<std::string>& resource_version);
  void OnWatchEvent(const WatchEvent& event);
  void OnWatchEnd(const Status& status);
  void TryAgain(Step step, const Error* error);
  void After(Duration delay, Step step);

  ApiClient& client_;
  const api::ResourceKind& kind_;
  ReflectorOptions options_;
  std::shared_ptr<const ObjectReader> reader_;
  ReflectorCallbacks callbacks_;
  Random random_;
  std::string resource_version_;
  std::unique_ptr<WatchHandle> watch_;
  bool watch_was_useful_ = false;          // an event or a bookmark came
  std::shared_ptr<bool> watch_has_stood_;  // it was open for a while
  bool list_was_useful_ = true;  // a watch could begin where the last list was taken, if any
  Paging last_list_ = Paging::kPages;
  Paging next_list_ = Paging::kPages;
  Duration backoff_;
  std::shared_ptr<Reflector*> self_;
};

}  // namespace berth::kube
