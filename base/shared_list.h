// base/shared_list.h — a list whose copies share their elements until one of them is changed: for
// what is large, copied often and seldom altered.
//
//     SharedList<PodSet> a = …;  SharedList<PodSet> b = a;     // nothing is copied
//     b[0].count = 3;                                          // b has elements of its own from
//     now
//
// What std::vector gives of the same name, it gives with the same meaning. Whatever is not const
// (also begin() of a list that is not) makes the elements its own first, so read through a const
// list; references to elements are good until the list is copied, assigned or changed.
//
// Threads: copies may be used by different threads, one list by one at a time. Errors:
// std::bad_alloc.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace berth {

template <typename T>
class SharedList {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = T*;
  using const_iterator = const T*;

  SharedList() = default;
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}
  SharedList(std::vector<T> items) {  // NOLINT(google-explicit-constructor): a vector is a list
    if (!items.empty()) items_ = std::make_shared<std::vector<T>>(std::move(items));
  }
  operator const std::vector<T>&() const {  // NOLINT(google-explicit-constructor): likewise
    static const std::vector<T> none;
    return items_ == nullptr ? none : *items_;
  }

  const_iterator begin() const { return items_ == nullptr ? nullptr : items_->data(); }
  const_iterator end() const { return begin() + size(); }
  std::size_t size() const { return items_ == nullptr ? 0 : items_->size(); }
  bool empty() const { return size() == 0; }
  const T& operator[](std::size_t index) const { return (*items_)[index]; }
  const T& at(std::size_t index) const { return items_->at(index); }
  const T& front() const { return items_->front(); }
  const T& back() const { return items_->back(); }

  iterator begin() { return Own().data(); }
  iterator end() { return Own().data() + size(); }
  T& operator[](std::size_t index) { return Own()[index]; }
  T& front() { return Own().front(); }
  T& back() { return Own().back(); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return Own().emplace_back(std::forward<Args>(args)...);
  }
  // By value: it may be an element of this list.
  void push_back(T item) { Own().push_back(std::move(item)); }
  void clear() { items_.reset(); }

 private:
  std::vector<T>& Own() {
    if (items_ == nullptr) {
      items_ = std::make_shared<std::vector<T>>();
    } else if (items_.use_count() > 1) {
      items_ = std::make_shared<std::vector<T>>(*items_);
    }
    return *items_;
  }

  std::shared_ptr<std::vector<T>> items_;  // null: empty
};

}  // namespace berth
