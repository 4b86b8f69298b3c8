#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace coffer {

/// A coroutine that yields one value. It starts when awaited (or spawned), runs on the thread of the event loop and
/// resumes its awaiter when it is done. Destroying one that is suspended destroys its frame: every handle in it has an
/// owner that closes it.
template <typename T>
class [[nodiscard]] Async {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle handle) const noexcept {
      auto next = handle.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  struct promise_type {
    std::coroutine_handle<> continuation;
    std::variant<std::monostate, T, std::exception_ptr> result;

    Async get_return_object() { return Async(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    void return_value(T value) { result.template emplace<1>(std::move(value)); }
    void unhandled_exception() { result.template emplace<2>(std::current_exception()); }
  };

  explicit Async(Handle handle) : handle_(handle) {}
  Async(Async&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Async& operator=(Async&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  Async(const Async&) = delete;
  Async& operator=(const Async&) = delete;
  ~Async() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    handle_.promise().continuation = awaiter;
    return handle_;
  }
  T await_resume() {
    auto& result = handle_.promise().result;
    if (result.index() == 2) std::rethrow_exception(std::get<2>(result));
    return std::move(std::get<1>(result));
  }

 private:
  Handle handle_;
};

/// "No value": Async<Done> is a coroutine awaited for its effects.
struct Done {};

/// A coroutine nobody awaits: it starts at once and frees itself. An exception that reaches its edge ends the process:
/// a step that ended in an unknown place must not be followed by another, and the next start finds it by its name.
struct Detached {
  struct promise_type {
    Detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

/// The other half of a callback: one side awaits, the other sets the value once. A copy is another reference to the
/// same promise; setting it twice keeps the first value, and setting it before or without anybody's awaiting it is
/// harmless. Who awaits must not be destroyed before it is set: it would be resumed all the same.
template <typename T>
class Completion {
 public:
  Completion() : state_(std::make_shared<State>()) {}

  void set(T value) const {
    if (state_->value) return;
    state_->value = std::move(value);
    if (auto waiter = std::exchange(state_->waiter, {})) waiter.resume();
  }
  [[nodiscard]] bool ready() const { return state_->value.has_value(); }

  bool await_ready() const noexcept { return state_->value.has_value(); }
  void await_suspend(std::coroutine_handle<> waiter) const noexcept { state_->waiter = waiter; }
  T await_resume() const { return std::move(*state_->value); }

 private:
  struct State {
    std::optional<T> value;
    std::coroutine_handle<> waiter;
  };
  std::shared_ptr<State> state_;
};

template <typename T>
Detached settle(Async<T> work, Completion<T> completion) {
  completion.set(co_await work);
}

/// Begins the work and lets the caller go on beside it; what it comes to is awaited later, or never. Everything that
/// the work refers to must outlive it.
template <typename T>
[[nodiscard]] Completion<T> begin(Async<T> work) {
  Completion<T> completion;
  settle(std::move(work), completion);
  return completion;
}

}  // namespace coffer
