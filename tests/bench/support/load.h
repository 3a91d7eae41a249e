// tests/bench/support/load.h — many clients at once, without a thread for each: a writer is a chain
// of requests, the next one sent when the last has been answered.
//
// Threads: the callbacks run on the pool's threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/client.h"

namespace berth::bench {

// The value below which `share` of `values` lie; sorts `values`.
double Percentile(std::vector<double>& values, double share);

struct LoadOptions {
  int writers = 1;
  double seconds = 0;  // stop to send after this time
  int requests = 0;    // or after this many; 0: no such limit
};

struct LoadResult {
  int done = 0;
  int failed = 0;  // every status but 200 and 201
  double seconds = 0;
  std::vector<double> milliseconds;  // the time of each request
  std::string first_failure;
};

// `make(writer, number)` gives the request that `writer` sends as its `number`th.
LoadResult RunLoad(net::HttpClient& client, const LoadOptions& options,
                   std::function<net::Request(int writer, int number)> make);

net::Request JsonRequest(std::string method, std::string target, std::string body = "");

}  // namespace berth::bench
