#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace coffer::repository {

/// Takes `git cat-file --batch` apart as it comes: for each object `HEX TYPE SIZE LF BYTES LF`. Holds one object at a
/// time.
class ObjectReader {
 public:
  /// Called for each object; false ends the reading.
  using Take = std::function<bool(std::string_view id, std::string_view type, std::string_view bytes)>;
  ObjectReader(Take take, std::size_t limit) : take_(std::move(take)), limit_(limit) {}

  /// False when the form is not kept, an object is larger than the limit, one is missing, or the taker had enough.
  bool feed(std::string_view piece);
  /// Whether everything so far was whole objects.
  [[nodiscard]] bool whole() const { return buffer_.empty(); }

 private:
  Take take_;
  std::size_t limit_;
  std::string buffer_;
};

}  // namespace coffer::repository
