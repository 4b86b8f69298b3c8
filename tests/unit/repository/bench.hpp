#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "workers/record.hpp"

namespace coffer::repository {

/// A place of a test's own with a person's repository in it, a shell with plain git to play everybody else, and the
/// built worker.
class Bench : public ::testing::Test {
 protected:
  Bench();
  ~Bench() override;

  /// Runs a script in the top directory, with plain git and an identity; its output without the last line break. The
  /// test fails when the script does.
  std::string sh(const std::string& script);
  /// Its exit status alone.
  int status(const std::string& script);

  [[nodiscard]] std::string at(const std::string& name) const { return top_ + "/" + name; }
  [[nodiscard]] bool exists(const std::string& name) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  void write(const std::string& name, std::string_view text) const;

  /// Runs a verb: IN is `in/` and OUT is a new `out-VERB-N/`. Returns its report; a fault is a record "fault" with the
  /// words.
  Records worker(const std::string& verb, const Records& request, const std::string& options = {});
  /// Where the last verb wrote.
  [[nodiscard]] const std::string& out() const { return out_; }

  /// Empties IN and puts links to directories there, "name=directory".
  void inputs(std::initializer_list<std::string> links);
  /// A snapshot of `repository` as the base store `base/objects`; returns the commit.
  std::string snapshot(const std::string& repository);

 private:
  std::string top_;
  std::string out_;
  int runs_ = 0;
};

Records request(std::initializer_list<std::pair<std::string, std::string>> records);

}  // namespace coffer::repository
