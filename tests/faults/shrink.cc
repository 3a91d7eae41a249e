#include "tests/faults/shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::sim {
namespace {

// Tries to remove pieces of `member`, halving them down to single elements.
template <typename T>
bool ShrinkPart(Story& story, std::vector<T> Story::*member,
                const std::function<bool(const Story&)>& fails, int& limit) {
  bool smaller = false;
  for (std::size_t piece = (story.*member).size(); piece > 0; piece /= 2) {
    for (std::size_t at = 0; at < (story.*member).size() && limit > 0;) {
      Story candidate = story;
      std::vector<T>& part = candidate.*member;
      const std::size_t end = std::min(part.size(), at + piece);
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(at),
                 part.begin() + static_cast<std::ptrdiff_t>(end));
      --limit;
      if (fails(candidate)) {
        story = std::move(candidate);
        smaller = true;
      } else {
        at += piece;
      }
    }
  }
  return smaller;
}

}  // namespace

Story Shrink(Story story, const std::function<bool(const Story&)>& fails, int limit) {
  bool smaller = true;
  while (smaller && limit > 0) {
    smaller = ShrinkPart(story, &Story::faults, fails, limit);
    smaller = ShrinkPart(story, &Story::blows, fails, limit) || smaller;
    smaller = ShrinkPart(story, &Story::events, fails, limit) || smaller;
  }
  return story;
}

}  // namespace berth::sim
