// base/small_vector.h — a vector that stores its first N elements inside itself: lists that nearly
// always have one or two elements need no allocation.
//
// Members with std::vector's names have std::vector's meaning, with one exception: moving a vector
// with inline elements moves the elements (their addresses change).
//
// At most 2^32 - 1 elements. Threads: as std::vector. Errors: std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace berth {

template <typename T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept = default;
  SmallVector(std::initializer_list<T> items) { Assign(items.begin(), items.end()); }
  template <std::input_iterator Iterator>
  SmallVector(Iterator first, Iterator last) {
    Assign(first, last);
  }
  SmallVector(const SmallVector& other) { Assign(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    TakeFrom(other);
  }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) Assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this == &other) return *this;
    Release();
    TakeFrom(other);
    return *this;
  }
  ~SmallVector() { Release(); }

  iterator begin() { return data_; }
  iterator end() { return data_ + size_; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(std::size_t wanted) {
    if (wanted > capacity_) Grow(wanted);
  }

  // Arguments may refer to elements of this vector.
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ < capacity_) {
      T* made = Construct(data_ + size_, std::forward<Args>(args)...);
      ++size_;
      return *made;
    }
    T made = Make(std::forward<Args>(args)...);
    Grow(std::size_t{size_} + 1);
    Construct(data_ + size_, std::move(made));
    return data_[size_++];
  }
  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() { std::destroy_at(data_ + --size_); }

  void resize(std::size_t wanted) {
    while (size_ > wanted) pop_back();
    reserve(wanted);
    while (size_ < wanted) emplace_back();
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }

  iterator insert(const_iterator place, T item) {
    const auto index = static_cast<std::size_t>(place - begin());
    emplace_back(std::move(item));
    std::rotate(begin() + index, end() - 1, end());
    return begin() + index;
  }
  template <std::input_iterator Iterator>
  iterator insert(const_iterator place, Iterator first, Iterator last) {
    const auto index = static_cast<std::size_t>(place - begin());
    const std::size_t before = size_;
    for (; first != last; ++first) emplace_back(*first);
    std::rotate(begin() + index, begin() + before, end());
    return begin() + index;
  }
  iterator erase(const_iterator place) { return erase(place, place + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    iterator hole = begin() + (first - begin());
    if (first == last) return hole;
    iterator kept = std::move(begin() + (last - begin()), end(), hole);
    std::destroy(kept, end());
    size_ = static_cast<std::uint32_t>(kept - begin());
    return hole;
  }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  template <std::input_iterator Iterator>
  void Assign(Iterator first, Iterator last) {
    clear();
    if constexpr (std::forward_iterator<Iterator>) {
      reserve(static_cast<std::size_t>(std::distance(first, last)));
    }
    for (; first != last; ++first) emplace_back(*first);
  }

  // Braces construct aggregates too, which have no constructor.
  template <typename... Args>
  static T Make(Args&&... args) {
    if constexpr (std::is_constructible_v<T, Args...>) {
      return T(std::forward<Args>(args)...);
    } else {
      return T{std::forward<Args>(args)...};
    }
  }
  template <typename... Args>
  static T* Construct(T* place, Args&&... args) {
    if constexpr (std::is_constructible_v<T, Args...>) {
      return ::new (static_cast<void*>(place)) T(std::forward<Args>(args)...);
    } else {
      return ::new (static_cast<void*>(place)) T{std::forward<Args>(args)...};
    }
  }

  T* Inline() { return std::launder(reinterpret_cast<T*>(storage_)); }
  bool IsInline() { return static_cast<void*>(data_) == static_cast<void*>(storage_); }

  void Grow(std::size_t wanted) {
    const std::size_t capacity = std::max<std::size_t>(wanted, std::size_t{capacity_} * 2);
    T* const fresh = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), fresh);
    const std::uint32_t size = size_;
    Release();
    data_ = fresh;
    size_ = size;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  // Frees the elements; afterwards the vector is empty and inline.
  void Release() {
    std::destroy(begin(), end());
    if (!IsInline()) {
      std::allocator<T>().deallocate(data_, capacity_);
      data_ = Inline();
      capacity_ = N;
    }
    size_ = 0;
  }

  // Precondition: this vector is empty and inline.
  void TakeFrom(SmallVector& other) {
    if (other.IsInline()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.Inline());
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }

  alignas(T) std::byte storage_[N * sizeof(T)];
  T* data_ = Inline();
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
};

template <typename T, std::size_t N, typename Predicate>
std::size_t erase_if(SmallVector<T, N>& list, Predicate predicate) {
  T* const kept = std::remove_if(list.begin(), list.end(), predicate);
  const auto gone = static_cast<std::size_t>(list.end() - kept);
  list.erase(kept, list.end());
  return gone;
}

}  // namespace berth
