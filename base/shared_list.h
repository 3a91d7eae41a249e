// base/shared_list.h — a copy-on-write list: copies share their elements until one copy is changed.
// For large lists that are often copied and seldom changed.
//
//     SharedList<PodSet> a = …;  SharedList<PodSet> b = a;     // b shares the elements of a
//     b[0].count = 3;                                          // b copies the elements, then
//                                                              // changes its copy
//
// Members with std::vector's names have std::vector's meaning. A member function that is not const
// (also begin() of a non-const list) copies shared elements first: read through a const list.
// References to elements are valid until the list is copied, assigned or changed.
//
// Threads: copies may be used by different threads, one list by one thread at a time. A list that
// finds itself the only owner sees all writes of the other owners' threads. Errors: std::bad_alloc
// where elements are copied.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
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
    if (!items.empty()) block_ = new Block(std::move(items));
  }
  SharedList(const SharedList& other) : block_(other.block_) {
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedList(SharedList&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedList& operator=(const SharedList& other) {
    if (this != &other) *this = SharedList(other);
    return *this;
  }
  SharedList& operator=(SharedList&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedList() { LetGo(); }
  operator const std::vector<T>&() const {  // NOLINT(google-explicit-constructor): likewise
    static const std::vector<T> none;
    return block_ == nullptr ? none : block_->items;
  }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.block_ == b.block_ || std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  const_iterator begin() const { return block_ == nullptr ? nullptr : block_->items.data(); }
  const_iterator end() const { return begin() + size(); }
  std::size_t size() const { return block_ == nullptr ? 0 : block_->items.size(); }
  bool empty() const { return size() == 0; }
  const T& operator[](std::size_t index) const { return block_->items[index]; }
  const T& at(std::size_t index) const { return block_->items.at(index); }
  const T& front() const { return block_->items.front(); }
  const T& back() const { return block_->items.back(); }

  iterator begin() { return Own().data(); }
  iterator end() { return Own().data() + size(); }
  T& operator[](std::size_t index) { return Own()[index]; }
  T& front() { return Own().front(); }
  T& back() { return Own().back(); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return Own().emplace_back(std::forward<Args>(args)...);
  }
  // Takes the value by copy: it may be an element of this list.
  void push_back(T item) { Own().push_back(std::move(item)); }
  void clear() { LetGo(); }

 private:
  struct Block {
    explicit Block(std::vector<T> list) : items(std::move(list)) {}
    std::atomic<std::size_t> owners = 1;
    std::vector<T> items;
  };

  std::vector<T>& Own() {
    if (block_ == nullptr) {
      block_ = new Block({});
    } else if (block_->owners.load(std::memory_order_acquire) > 1) {
      Block* copy = new Block(block_->items);
      LetGo();
      block_ = copy;
    }
    return block_->items;
  }
  // Release here and acquire in Own: the last owner sees all accesses of the other owners as
  // finished.
  void LetGo() {
    if (block_ == nullptr) return;
    if (block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block_;
    block_ = nullptr;
  }

  Block* block_ = nullptr;  // null: the list is empty
};

}  // namespace berth
