// kube/client/reflector.h — keeps a copy of a collection current: lists, then watches, repeatedly.
//
//     Start ─▶ list, page by page ─▶ watch ─▶ on_event … ─┐
//               ▲                      ▲  ended, silent    │
//               └── expired (410) ─────┴───────────────────┘   errors: the same, after a backoff
//
// If the watch was refused for another reason and the list's version expires meanwhile, the
// reflector lists again at once. If the list's version has already expired for a watch when the
// list ends (the server's history is short, or later pages went on at newer versions), the
// reflector lists again after a backoff, alternately in one request and in pages.
//
// CatchUp serves a caller that must know everything that others have written, although the watch
// may be silent or may wait for its next attempt. The reflector requests the collection's newest
// version. If the watch does not reach that version within a second, since the collection is quiet
// or the watch delivers nothing, the reflector lists the collection again.
//
// Threads: one Executor; all callbacks run on it. Destruction ends all requests.
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
  std::string namespace_name;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  Duration first_backoff = std::chrono::milliseconds(800);
  Duration longest_backoff = std::chrono::seconds(30);
  std::uint64_t seed = 1;  // the seed of the jitter
};

struct ReflectorCallbacks {
  // A list: start, pages, end. A list may start again before its end.
  std::function<void()> on_list_start;
  std::function<void(const std::vector<ReadObject>&)> on_page;
  std::function<void()> on_list_end;
  std::function<void(WatchEvent::Type, const ReadObject&)> on_event;  // never a bookmark
  std::function<void(const Error&)> on_error;  // a list or watch failed; the reflector retries
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
  // Calls `done` when all that was written to the collection until now has been delivered, or when
  // the API refuses to list the collection; never inside this call. Precondition: a list has ended.
  void CatchUp(std::function<void()> done);

 private:
  enum class Step { kList, kWatch };
  enum class Paging { kPages, kWhole };

  void List();
  void Watch();
  void OnListEnd(const Result<std::string>& resource_version);
  void AskNewest();
  void OnNewest(const Result<std::string>& newest);
  bool HasCaughtUp() const;
  void EndCatchUp();
  void ListAnew();
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
  bool watch_was_useful_ = false;          // the watch delivered an event or bookmark
  std::shared_ptr<bool> watch_has_stood_;  // the watch was open for a while
  bool list_was_useful_ = true;            // a watch could start from the last list, if any
  bool watch_was_refused_ = false;         // since the last list, with another error than kExpired
  Paging last_list_ = Paging::kPages;
  Paging next_list_ = Paging::kPages;
  Duration backoff_;
  bool is_listing_ = false;
  int round_ = 0;       // number of the current list or watch; steps of earlier ones do nothing
  std::string newest_;  // the version that CatchUp waits for; empty: unknown
  std::vector<std::function<void()>>
      caught_up_;  // callbacks of CatchUp, called when newest_ is reached
  std::shared_ptr<Reflector*> self_;
};

}  // namespace berth::kube
