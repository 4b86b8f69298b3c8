#pragma once

#include <algorithm>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/data_files.hpp"

namespace coffer::agents {

/// The files of one kind in /usr/lib/cofferdam/KIND, overridden by file name in /etc/cofferdam/KIND, each read into a
/// T. A file that cannot be read leaves the T of the last good reading in place and is named in `problems()`; before
/// there was a good reading the name is simply not there: the vendor's file never stands in for an administrator's bad
/// one. An empty file in /etc takes a name away. Both folders belong to root; nothing of an agent or a user is read.
template <typename T>
class DataSet {
 public:
  /// (text of the file, its name without extension, its path for messages) -> T, or a sentence beginning with
  /// `FILE:LINE: `.
  using Reader = std::function<std::expected<T, std::string>(std::string_view, std::string_view, std::string_view)>;

  /// `folders` in rising order of precedence. Nothing is read before the first `reload()`.
  DataSet(std::vector<std::filesystem::path> folders, std::string extension, Reader reader)
      : folders_(std::move(folders)), extension_(std::move(extension)), reader_(std::move(reader)) {}

  /// Reads everything again. Never throws and never fails as a whole.
  void reload() {
    problems_.clear();
    std::map<std::string, T, std::less<>> next;
    for (const auto& file : listDataFiles(folders_, extension_, problems_)) {
      auto text = readDataFile(file.path);
      if (text && text->empty() && file.overrides) continue;
      auto value = text ? reader_(*text, file.name, file.path.string()) : std::unexpected(text.error());
      if (value) {
        next.emplace(file.name, std::move(*value));
        continue;
      }
      problems_.push_back(value.error());
      if (auto old = values_.extract(file.name)) next.insert(std::move(old));
    }
    values_ = std::move(next);
  }

  /// The value of that name, or nothing. Valid until the next reload().
  [[nodiscard]] const T* find(std::string_view name) const {
    const auto at = values_.find(name);
    return at != values_.end() ? &at->second : nullptr;
  }
  /// All of them, sorted by name.
  [[nodiscard]] const std::map<std::string, T, std::less<>>& all() const { return values_; }
  /// One sentence for each bad file of the last reload().
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::filesystem::path> folders_;
  std::string extension_;
  Reader reader_;
  std::map<std::string, T, std::less<>> values_;
  std::vector<std::string> problems_;
};

}  // namespace coffer::agents
