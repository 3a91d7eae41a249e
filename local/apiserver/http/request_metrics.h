// local/apiserver/http/request_metrics.h — counters of requests and watches, with kube-apiserver's
// names and labels.
//
//     request ─Measure─▶ its series (found once) ─▶ answer: one more, duration, size
//
// A request of a resource that the server does not have is counted without the resource's labels:
// clients cannot make series at will.
//
// Threads: any. Counters may outlive the server's other parts: the last answers are counted.
// Source: k8s.io/apiserver pkg/endpoints/metrics, restated.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/bucket_counts.h"
#include "local/apiserver/http/exposition_text.h"
#include "local/apiserver/http/target.h"
#include "net/server.h"

namespace berth::local {

inline constexpr std::array<double, 23> kDurationBounds{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8,
                                                        1,     1.25,  1.5,  2,   3,   4,   5,   6,
                                                        8,     10,    15,   20,  30,  45,  60};
inline constexpr std::array<double, 7> kSizeBounds{1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
inline constexpr std::array<double, 8> kEventSizeBounds{1024,  2048,  4096,  8192,
                                                        16384, 32768, 65536, 131072};

class RequestMetrics : public std::enable_shared_from_this<RequestMetrics> {
 public:
  // Whether the server has the resource and the subresource of a path; called in Measure.
  using IsServed = std::function<bool(const ApiPath&)>;

  explicit RequestMetrics(IsServed is_served);
  ~RequestMetrics();
  RequestMetrics(const RequestMetrics&) = delete;
  RequestMetrics& operator=(const RequestMetrics&) = delete;

  // The sizes of the events that the watches of one resource have sent.
  class WatchSeries {
   public:
    void Count(std::size_t bytes);

   private:
    friend class RequestMetrics;
    std::mutex mutex_;
    BucketCounts<kEventSizeBounds.size()> sizes_;
  };

  // Counts the request until its answer is complete. Returns the responder to use in place of
  // `responder`.
  std::shared_ptr<net::Responder> Measure(const net::Request& request, const Target& target,
                                          const std::optional<ApiPath>& path,
                                          std::shared_ptr<net::Responder> responder);
  // The reference is valid for the life of this object.
  WatchSeries& WatchesOf(const ResourceId& resource);

  void WriteTo(ExpositionText& text) const;

 private:
  struct Labels;
  struct Series;
  class Running;
  class MeasuredResponder;

  static Labels OfPath(const net::Request& request, const Target& target);
  static Labels OfResource(const net::Request& request, const Target& target, const ApiPath& path);
  Series& SeriesOf(const net::Request& request, const Target& target,
                   const std::optional<ApiPath>& path);
  Series* Find(std::string_view key) const;
  Series& Make(const std::string& key, const Labels& labels);
  // Call it under mutex_.
  void WriteRequests(ExpositionText& text) const;
  void WriteOpen(ExpositionText& text) const;
  void WriteWatches(ExpositionText& text) const;

  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>()(key);
    }
  };

  const IsServed is_served_;
  mutable std::shared_mutex mutex_;
  // The series, by their joined labels; series are never removed.
  std::unordered_map<std::string, Series*, KeyHash, std::equal_to<>> series_by_key_;
  std::vector<std::unique_ptr<Series>> series_;  // in the order of their first requests
  std::map<ResourceId, std::unique_ptr<WatchSeries>> watches_;
  std::atomic<std::int64_t> reading_{0};  // requests under way, without long-running ones
  std::atomic<std::int64_t> writing_{0};
};

}  // namespace berth::local
