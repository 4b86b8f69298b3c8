#include "verb.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "invocation.hpp"

namespace coffer::cli {

Verb::Verb(CLI::App& parent, Invocation& invocation, const std::string& name, const std::string& description,
           std::initializer_list<const char*> examples)
    : app_(parent.add_subcommand(name, description)), invocation_(&invocation) {
  std::string footer = examples.size() == 1 ? "Example:" : "Examples:";
  for (const auto* example : examples)
    footer.append("\n  coffer ").append(example);
  app_->footer(footer);
}

Verb& Verb::option(const std::string& names, std::string& value, const std::string& description) {
  last_ = app_->add_option(names, value, description);
  invocation_->texts.push_back(&value);
  return *this;
}

Verb& Verb::option(const std::string& names, std::vector<std::string>& values, const std::string& description) {
  invocation_->lists.push_back(&values);
  last_ = app_->add_option(names, values, description)->expected(1)->allow_extra_args(false)->take_all();
  return *this;
}

Verb& Verb::option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& description) {
  last_ = app_->add_option(names, value, description);
  return *this;
}

Verb& Verb::words(const std::string& name, std::vector<std::string>& values, const std::string& description) {
  last_ = app_->add_option(name, values, description);
  invocation_->lists.push_back(&values);
  return *this;
}

Verb& Verb::flag(const std::string& names, bool& value, const std::string& description) {
  last_ = app_->add_flag(names, value, description);
  return *this;
}

Verb& Verb::required() {
  last_->required();
  return *this;
}

Verb& Verb::excludes(const std::string& other) {
  last_->excludes(app_->get_option(other));
  return *this;
}

Verb& Verb::hidden() {
  app_->group("");
  return *this;
}

void Verb::runs(std::function<Outcome(Session&)> run) {
  app_->callback([invocation = invocation_, run = std::move(run)] { invocation->run = run; });
}

CLI::App& Verb::group() {
  app_->require_subcommand(1, 1);
  return *app_;
}

}  // namespace coffer::cli
