// net/internal/asio.h — the Asio types that io_pool.h and strand.h hide. For sources of net/ that
// call Asio; never include it in another header.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "net/internal/strand.h"
#include "net/io_pool.h"

namespace berth::net {

struct IoPool::Impl {
  using Work = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

  explicit Impl(int thread_count) : context(thread_count), work(context.get_executor()) {}

  boost::asio::io_context context;
  Work work;
  std::atomic<bool> stopped = false;
  std::vector<std::thread> threads;
};

struct Strand::Impl {
  explicit Impl(IoPool::Impl& pool) : executor(boost::asio::make_strand(pool.context)) {}

  boost::asio::strand<boost::asio::io_context::executor_type> executor;
};

}  // namespace berth::net
