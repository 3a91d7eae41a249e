#include "queue/namespaces.h"

namespace berth::queue {

std::int32_t Namespaces::NumberFor(const std::string& name) {
  const std::int32_t number = names_.Intern(name);
  if (static_cast<std::size_t>(number) >= entries_.size()) {
    entries_.resize(static_cast<std::size_t>(number) + 1);
  }
  return number;
}

void Namespaces::ReleaseIfUnused(std::int32_t number) {
  const Entry& released = entry(number);
  if (released.present || released.members > 0) return;
  entry(number) = Entry{};
  names_.Release(number);
}

void Namespaces::RemoveMember(std::int32_t number) {
  --entry(number).members;
  ReleaseIfUnused(number);
}

void Namespaces::Set(const std::string& name, const api::StringMap& labels) {
  Entry& changed = entry(NumberFor(name));
  changed.labels = labels;
  changed.present = true;
}

void Namespaces::Remove(const std::string& name) {
  const std::int32_t number = names_.Find(name);
  if (number < 0 || static_cast<std::size_t>(number) >= entries_.size()) return;
  Entry& removed = entry(number);
  removed.labels.clear();
  removed.present = false;
  ReleaseIfUnused(number);
}

bool Namespaces::Matches(const std::optional<api::LabelSelector>& selector,
                         std::int32_t number) const {
  const auto slot = static_cast<std::size_t>(number);
  if (slot >= entries_.size() || !entries_[slot].present) return false;
  return selector && selector->Matches(entries_[slot].labels);
}

}  // namespace berth::queue
