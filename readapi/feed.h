// readapi/feed.h — the latest changes, in a ring: what a client misses if it is slow.
//
//     Append ─▶ [ … change 41, change 42, change 43 ]
//                        └─ Read(after 41, sights) ─▶ texts, position 43
//
// A subscriber is a position and has no queue of its own: two hundred subscribers cost two hundred
// numbers. A position older than the ring, of another life of the process, or ahead of the ring
// gets Outcome::kResync: the client lists again and continues from the `revision` of the list.
//
// Threads: one at a time. Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "readapi/cursor.h"
#include "readapi/table.h"

namespace berth::readapi {

struct Change {
  std::size_t resource = 0;  // index in Resources()
  Audience before;           // null: a new row, or a row without audience
  Audience after;
  bool is_gone = false;
  // Server-sent events, whole.
  std::string text;
  // The text for the audience, if it differs from `text`. Empty: nothing changed that the audience
  // may read.
  std::optional<std::string> audience_text;
  std::string gone_text;  // for callers who lose sight of the row; empty: no caller does
};

// The sight of a subscriber for each resource; nullptr: it has not asked for the resource.
using Sights = std::vector<std::shared_ptr<const Sight>>;

class Feed {
 public:
  struct Options {
    std::size_t most_changes = 65'536;
    std::size_t most_bytes = 16 * 1024 * 1024;  // the limit of the texts
  };
  enum class Outcome : std::uint8_t { kOk, kResync };
  struct Batch {
    Outcome outcome = Outcome::kOk;
    std::string text;            // server-sent events
    std::uint64_t position = 0;  // the last change that was looked at
  };

  Feed(std::string epoch, Options options) : epoch_(std::move(epoch)), options_(options) {}

  const std::string& epoch() const { return epoch_; }
  std::uint64_t revision() const { return revision_; }  // the number of the latest change; 0: none
  FeedCursor cursor() const { return {epoch_, revision_}; }
  // The id of the next change, for its text.
  FeedCursor next_cursor() const { return {epoch_, revision_ + 1}; }

  void Append(Change change);
  // Whether Read may continue from `cursor`.
  bool Continues(const FeedCursor& cursor) const;
  // The changes behind `position` that the sights show, until the text has `most_bytes`.
  Batch Read(std::uint64_t position, const Sights& sights, std::size_t most_bytes) const;

 private:
  const std::string epoch_;
  const Options options_;
  std::deque<Change> changes_;  // the last one has revision_
  std::size_t bytes_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace berth::readapi
