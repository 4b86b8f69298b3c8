#pragma once

#include <functional>
#include <memory>
#include <string>

#include <sdbus-c++/sdbus-c++.h>

namespace coffer::notify {

/// Who owns a name on a bus, from now on. Everything else is then spoken to by its unique name: a unique name is never
/// given twice, so nobody else can answer, and a match on it lets nobody else's signals through.
class NameOwner {
 public:
  /// `changed` gets the unique name, or an empty one when nobody owns the name. First when it is known, then whenever
  /// it changes; never from within the constructor.
  NameOwner(sdbus::IConnection& bus, const std::string& name, std::function<void(const std::string& owner)> changed);
  NameOwner(const NameOwner&) = delete;
  NameOwner& operator=(const NameOwner&) = delete;
  ~NameOwner() = default;

  /// Asks the bus to start what owns the name, if it can. `failed` gets the reason when it cannot.
  void start(std::function<void(const sdbus::Error& reason)> failed);

 private:
  void set(const std::string& owner);

  std::string name_;
  std::function<void(const std::string&)> changed_;
  std::string owner_;
  bool known_ = false;
  std::unique_ptr<sdbus::IProxy> bus_;
  sdbus::Slot match_;
};

}  // namespace coffer::notify
