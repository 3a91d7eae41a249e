// tests/jobs/haversine/object_store.h — one object, served in ranges as stores do it, with faults.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jobs/haversine/http_reader.h"
#include "net/io_pool.h"
#include "net/server.h"

namespace berth::haversine {

class ObjectStore {
 public:
  explicit ObjectStore(std::string object);
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // Replaces the right answer; `nth` counts requests from 1. It may change that answer and return
  // it. Set before the first request.
  using Fault = std::function<net::Response(int nth, const net::Request&, net::Response right)>;
  void set_fault(Fault fault) { fault_ = std::move(fault); }

  std::string Url(const std::string& path = "/bucket/trips.csv?versionId=1") const;
  int request_count() const;
  std::vector<net::Request> requests() const;

 private:
  net::Response Answer(const net::Request& request) const;

  const std::string object_;
  Fault fault_;
  mutable std::mutex mutex_;
  std::vector<net::Request> requests_;  // guarded by mutex_
  net::IoPool pool_{1};
  std::unique_ptr<net::HttpServer> server_;
};

// Options that retry at once, so that tests do not wait.
HttpOptions FastOptions();

// "0123456789…" of `size` bytes that differ from place to place.
std::string ObjectOf(std::size_t size);

}  // namespace berth::haversine
