// tests/bench/load/workload_text.h — objects as an API server lists them, generated fast enough
// that no client waits for the server: text with holes.
//
// The Workloads are those that Kueue makes of a Job: whole pod template, owner, labels, managed
// fields, and a status with the reason to wait or the nodes; about 4.5 kB each. They come in the
// order of an API server, by namespace and name; each queue has a namespace of its own.
//
// Threads: const after construction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::bench {

// A text with holes ${0} … ${9}.
class TextWithHoles {
 public:
  explicit TextWithHoles(std::string_view text);
  void AppendTo(std::string& out, const std::vector<std::string>& values) const;

 private:
  struct Piece {
    std::string text;  // before the hole
    int hole = -1;     // the number of the next value; -1: none
  };
  std::vector<Piece> pieces_;
};

enum class Templates {
  kOwn,     // each Job has arguments of its own
  kShared,  // a thousand Jobs in a row are equal
};

struct LoadSize {
  std::size_t workloads = 100'000;
  std::size_t queues = 30;
  std::size_t cohorts = 5;
  std::size_t admitted_percent = 0;
  Templates templates = Templates::kOwn;
};

class WorkloadText {
 public:
  explicit WorkloadText(const LoadSize& size);

  const LoadSize& size() const { return size_; }
  void AppendWorkload(std::string& out, std::size_t number) const;
  // A page of a list: `limit` Workloads from `from` on; the continue token is the next number.
  std::string WorkloadPage(std::size_t from, std::size_t limit) const;
  // The whole list of another kind, by plural; an empty list for kinds without objects.
  std::string OtherList(const std::string& plural) const;

 private:
  std::string Items(const std::string& plural) const;
  std::size_t QueueOf(std::size_t number) const;

  LoadSize size_;
  TextWithHoles workload_;
  TextWithHoles pending_;
  TextWithHoles admitted_;
};

}  // namespace berth::bench
