// admission/workloads/reason_history.h — the reasons for which one workload waited, over time: a
// bounded ring of distinct reasons, each with first time, last time and count.
//
// Two reasons are the same if reason word and cause are equal; amounts do not count. The text is
// that of the latest occurrence. A full ring drops the reason whose last occurrence is the
// oldest.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "admission/decision.h"
#include "base/clock.h"
#include "base/small_vector.h"

namespace berth::admission {

// A reason with its text made on demand: most texts are never read.
class StatedReason {
 public:
  explicit StatedReason(std::uint64_t cause) : cause_(cause) {}
  StatedReason(const StatedReason&) = delete;
  StatedReason& operator=(const StatedReason&) = delete;
  virtual ~StatedReason() = default;

  virtual std::string_view reason() const = 0;  // reason of QuotaReserved=False
  std::uint64_t cause() const { return cause_; }
  virtual std::string message() const = 0;

 private:
  std::uint64_t cause_;
};

// A reason whose text is given, such as one read from the annotation.
class KnownReason final : public StatedReason {
 public:
  KnownReason(std::string reason, std::string message, std::uint64_t cause)
      : StatedReason(cause), reason_(std::move(reason)), message_(std::move(message)) {}
  std::string_view reason() const override { return reason_; }
  std::string message() const override { return message_; }

 private:
  std::string reason_;
  std::string message_;
};

// A hash of the decision's obstacles, flavors, resources, outcome and remark, without amounts.
// Hashes names, so that the value is the same on every machine and after a restart: histories are
// stored with it.
std::uint64_t CauseOf(const Decision& decision, const Vocabulary& vocabulary);

struct PastReason {
  std::shared_ptr<const StatedReason> stated;  // the latest occurrence
  WallTime first{};
  WallTime last{};
  std::int64_t count = 0;
  // A hash of reason word and cause, so that comparing does not read `stated`; set by the history.
  std::uint64_t identity = 0;
};

class ReasonHistory {
 public:
  static constexpr std::size_t kCapacity = 8;

  void Note(std::shared_ptr<const StatedReason> stated, WallTime now);
  // Adds a reason read from the annotation.
  void Restore(PastReason past);

  // The reasons in the order of their last times.
  const SmallVector<PastReason, 1>& reasons() const { return reasons_; }
  // Whether the history tells more than the condition: two reasons, or a count above one.
  bool IsStory() const {
    return reasons_.size() > 1 || (reasons_.size() == 1 && reasons_.front().count > 1);
  }

 private:
  SmallVector<PastReason, 1> reasons_;
};

}  // namespace berth::admission
