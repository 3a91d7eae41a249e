#include "readapi/feed.h"

namespace berth::readapi {
namespace {

std::size_t BytesOf(const Change& change) {
  return change.text.size() + change.gone_text.size() +
         (change.audience_text ? change.audience_text->size() : 0);
}

const std::string& TextFor(const Change& change, const Sight& sight) {
  static const std::string kNothing;
  if (sight.everywhere) return change.text;
  if (!change.is_gone && sight.Sees(change.after)) {
    return change.audience_text ? *change.audience_text : change.text;
  }
  return sight.Sees(change.before) ? change.gone_text : kNothing;
}

}  // namespace

void Feed::Append(Change change) {
  ++revision_;
  bytes_ += BytesOf(change);
  changes_.push_back(std::move(change));
  while (changes_.size() > options_.most_changes ||
         (bytes_ > options_.most_bytes && changes_.size() > 1)) {
    bytes_ -= BytesOf(changes_.front());
    changes_.pop_front();
  }
}

bool Feed::Continues(const FeedCursor& cursor) const {
  return cursor.epoch == epoch_ && cursor.revision <= revision_ &&
         revision_ - cursor.revision <= changes_.size();
}

Feed::Batch Feed::Read(std::uint64_t position, const Sights& sights, std::size_t most_bytes) const {
  if (!Continues({epoch_, position})) return {Outcome::kResync, "", revision_};
  Batch batch{.position = position};
  std::size_t next = changes_.size() - static_cast<std::size_t>(revision_ - position);
  for (; next < changes_.size() && batch.text.size() < most_bytes; ++next, ++batch.position) {
    const Change& change = changes_[next];
    const auto& sight = sights[change.resource];
    if (sight != nullptr) batch.text += TextFor(change, *sight);
  }
  return batch;
}

}  // namespace berth::readapi
