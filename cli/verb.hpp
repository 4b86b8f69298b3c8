#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "failure.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coffer::cli {

class Session;
struct Invocation;

/// One verb of the grammar, built up call by call. What values are parsed into must outlive the parsing. (CLI11 is used
/// in the implementation only, because it is slow to compile.)
class Verb {
 public:
  /// `examples`: command lines without "coffer"; --help shows them.
  Verb(CLI::App& parent, Invocation& invocation, const std::string& name, const std::string& description,
       std::initializer_list<const char*> examples);

  /// An argument ("NAME") or an option ("-p,--project") with one value; of a list it may be given again and again.
  Verb& option(const std::string& names, std::string& value, const std::string& description);
  Verb& option(const std::string& names, std::vector<std::string>& values, const std::string& description);
  Verb& option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& description);
  /// All the words that are left.
  Verb& words(const std::string& name, std::vector<std::string>& values, const std::string& description);
  Verb& flag(const std::string& names, bool& value, const std::string& description);

  // These are about the option that was added last.
  Verb& required();
  /// Not together with an option that was added before.
  Verb& excludes(const std::string& other);

  /// Not named in any help.
  Verb& hidden();

  /// What parsing this verb leads to.
  void runs(std::function<Outcome(Session&)> run);

  /// The grammar below it, for a verb that consists of others; one of them has to be given.
  CLI::App& group();

 private:
  CLI::App* app_;
  CLI::Option* last_ = nullptr;
  Invocation* invocation_;
};

}  // namespace coffer::cli
