// admission/reason_history.h — why one workload did not go, over time: a bounded ring of distinct
// reasons, each with its first and last time and how often it was found.
//
// Two reasons are the same if their word and their cause are: who stands in the way, not by how
// much. The text is the latest one's. Where the ring is full, the reason that has not been found
// for longest goes.
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

// Many are stated that nobody reads: the text is made when it is asked for.
class StatedReason {
 public:
  explicit StatedReason(std::uint64_t cause) : cause_(cause) {}
  StatedReason(const StatedReason&) = delete;
  StatedReason& operator=(const StatedReason&) = delete;
  virtual ~StatedReason() = default;

  virtual std::string_view reason() const = 0;  // of QuotaReserved=False
  std::uint64_t cause() const { return cause_; }
  virtual std::string message() const = 0;

 private:
  std::uint64_t cause_;
};

// One whose text is known, such as from before a restart.
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

// What stands in the way of a decision's workload, without amounts: obstacles, flavors, resources,
// outcome, remark. By name: the same on every machine and after every restart, as histories are
// stored with it.
std::uint64_t CauseOf(const Decision& decision, const Vocabulary& vocabulary);

struct PastReason {
  std::shared_ptr<const StatedReason> stated;  // as it was found last
  WallTime first{};
  WallTime last{};
  std::int64_t count = 0;
  // Of the word and the cause, so that nobody has to look at `stated`; filled in by the history.
  std::uint64_t identity = 0;
};

class ReasonHistory {
 public:
  static constexpr std::size_t kCapacity = 8;

  void Note(std::shared_ptr<const StatedReason> stated, WallTime now);
  // What was known before, such as from before a restart.
  void Restore(PastReason past);

  // By the time they were last found, the latest last.
  const SmallVector<PastReason, 1>& reasons() const { return reasons_; }
  // More than one reason, or one more than once: there is a history to tell.
  bool IsStory() const {
    return reasons_.size() > 1 || (reasons_.size() == 1 && reasons_.front().count > 1);
  }

 private:
  SmallVector<PastReason, 1> reasons_;
};

}  // namespace berth::admission
