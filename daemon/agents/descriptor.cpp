#include "agents/descriptor.hpp"

#include <algorithm>

#include <sys/stat.h>

#include "agents/placeholder.hpp"
#include "agents/toml_reader.hpp"
#include "model/limits.hpp"

namespace coffer::agents {
namespace {

bool isFileName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

bool isVariableName(std::string_view name) {
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// Faults that any text which reaches argv, the environment or a file can have.
void checkText(TomlReader& reader, std::uint32_t line, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) reader.fail(line, "a NUL character cannot be handed to a program");
  if (const auto unknown = unknownPlaceholder(text, Descriptor::kPlaceholders))
    reader.fail(line, "unknown placeholder {" + *unknown + "}");
}

/// What is left out without a model has to be there, and to hold everything that names one.
void checkModelOption(TomlReader& reader, const Descriptor& descriptor) {
  const auto& option = descriptor.modelOption;
  if (option.empty()) return;
  const auto line = reader.line("model-option");
  for (const auto* command : {&descriptor.command, &descriptor.resume}) {
    if (command->empty()) continue;
    const auto found = std::ranges::search(*command, option);
    if (found.empty()) {
      reader.fail(line, "model-option is not in every command, word for word");
      continue;
    }
    for (auto word = command->begin(); word != command->end(); ++word)
      if ((word < found.begin() || word >= found.end()) && hasPlaceholder(*word, "model"))
        reader.fail(line, "{model} is also outside of model-option: " + *word);
  }
  for (const auto& file : descriptor.files)
    if (hasPlaceholder(file.content, "model"))
      reader.fail(line, "the file " + file.name + " names {model}, so the agent cannot do without one");
}

std::vector<std::string> readCommand(TomlReader& reader, std::string_view key) {
  auto words = reader.texts(key);
  for (const auto& word : words)
    checkText(reader, reader.line(key), word);
  if (!words.empty() && !words.front().starts_with('/'))
    reader.fail(reader.line(key), std::string(key) + " must begin with an absolute path: " + words.front());
  return words;
}

void checkPointer(TomlReader& reader, std::uint32_t line, std::string_view pointer) {
  if (!pointer.empty() && !pointer.starts_with('/'))
    reader.fail(line, "a JSON pointer begins with a slash: " + std::string(pointer));
}

std::vector<LineCondition> readConditions(TomlReader& reader, std::string_view key) {
  std::vector<LineCondition> result;
  for (const auto& [pointer, value] : reader.members(key)) {
    checkPointer(reader, value->line, pointer);
    switch (value->kind) {
      case TomlNode::Kind::Text:
        result.push_back({pointer, value->text});
        break;
      case TomlNode::Kind::Boolean:
        result.push_back({pointer, value->boolean ? "true" : "false"});
        break;
      case TomlNode::Kind::Integer:
        result.push_back({pointer, std::to_string(value->integer)});
        break;
      default:
        reader.fail(value->line, "a condition compares with text, a whole number, true or false");
    }
  }
  return result;
}

LineRule readLine(TomlReader& reader) {
  LineRule rule;
  rule.when = readConditions(reader, "when");
  rule.element = readConditions(reader, "element");
  const auto pointer = [&](std::string_view key) {
    auto text = reader.text(key, "");
    checkPointer(reader, reader.line(key), text);
    return text;
  };
  rule.each = pointer("each");
  if (rule.each.empty() && !rule.element.empty()) reader.fail(reader.line("element"), "element needs each");
  rule.session = pointer("session");
  rule.text = pointer("text");
  rule.message = pointer("message");
  rule.command = pointer("command");
  rule.commandOutput = pointer("command-output");
  rule.commandExit = pointer("command-exit");
  rule.error = pointer("error");
  rule.status = pointer("status");
  rule.input = pointer("input");
  rule.cached = pointer("cached");
  rule.cacheWrite = pointer("cache-write");
  rule.output = pointer("output");
  rule.success = reader.boolean("success", false);
  reader.finish();
  return rule;
}

ErrorRule readError(TomlReader& reader) {
  ErrorRule rule;
  rule.contains = reader.text("contains");
  const auto word = reader.word("class", {"rate-limit", "auth", "overloaded", "context", "other"});
  for (const auto value :
       {ErrorClass::RateLimit, ErrorClass::Auth, ErrorClass::Overloaded, ErrorClass::Context, ErrorClass::Other})
    if (errorClassName(value) == word) rule.errorClass = value;
  reader.finish();
  return rule;
}

Protocol readProtocol(TomlReader reader) {
  Protocol protocol;
  protocol.name = reader.text("protocol");
  protocol.format =
      reader.word("format", {"json-lines", "text"}) == "text" ? OutputFormat::Text : OutputFormat::JsonLines;
  const auto usage = reader.word("usage", {"per-turn", "cumulative", "summed"}, "per-turn");
  protocol.usage = usage == "cumulative" ? UsageMode::Cumulative
                   : usage == "summed"   ? UsageMode::Summed
                                         : UsageMode::PerTurn;
  protocol.inputIncludesCached = reader.boolean("input-includes-cached", false);
  for (auto& table : reader.tables("line"))
    protocol.lines.push_back(readLine(table));
  for (auto& table : reader.tables("error"))
    protocol.errors.push_back(readError(table));
  if (protocol.lines.size() > limits::kProtocolRules || protocol.errors.size() > limits::kProtocolRules)
    reader.fail(reader.line(), "more rules than " + std::to_string(limits::kProtocolRules));
  reader.finish();
  return protocol;
}

}  // namespace

std::string_view providerKindName(ProviderKind kind) {
  for (const auto& [value, word] : kProviderKinds)
    if (value == kind) return word;
  return {};
}

std::expected<Descriptor, std::string> readDescriptor(std::string_view text, std::string_view name,
                                                      std::string_view file) {
  const auto document = parseToml(text, file);
  if (!document) return std::unexpected(document.error());
  TomlReader::Fault fault{std::string(file), {}};
  TomlReader reader(*document, "", fault);

  Descriptor result;
  result.name = name;
  result.title = reader.text("title");
  for (const auto& word : reader.texts("providers")) {
    const auto* entry = std::ranges::find(kProviderKinds, word, &std::pair<ProviderKind, std::string_view>::second);
    if (entry == kProviderKinds.end())
      reader.fail(reader.line("providers"), "unknown provider kind " + word);
    else
      result.providers.push_back(entry->first);
  }
  if (result.providers.empty())
    reader.fail(reader.line("providers"), "providers is missing; an agent without a model says \"none\"");
  result.command = readCommand(reader, "command");
  if (result.command.empty())
    reader.fail(reader.line("command"), "command is missing");
  else
    result.executable = result.command.front();
  result.resume = readCommand(reader, "resume");
  result.version = readCommand(reader, "version");
  const bool resumes =
      std::ranges::any_of(result.resume, [](const auto& word) { return hasPlaceholder(word, "session"); });
  if (!result.resume.empty() && !resumes) reader.fail(reader.line("resume"), "resume does not use {session}");
  for (const auto& word : result.command)
    if (hasPlaceholder(word, "session"))
      reader.fail(reader.line("command"), "command starts a new conversation: it has no {session}");

  for (const auto& [variable, value] : reader.members("environment")) {
    if (!isVariableName(variable)) reader.fail(value->line, "not a name of an environment variable: " + variable);
    if (value->kind != TomlNode::Kind::Text)
      reader.fail(value->line, "environment." + variable + " must be text in quotes");
    checkText(reader, value->line, value->text);
    result.environment.emplace_back(variable, value->text);
  }
  for (const auto& [fileName, content] : reader.members("files")) {
    if (!isFileName(fileName))
      reader.fail(content->line, "a file's name is of a-z, 0-9, dot, dash and underscore: " + fileName);
    if (content->kind != TomlNode::Kind::Text)
      reader.fail(content->line, "files." + fileName + " must be text in quotes");
    checkText(reader, content->line, content->text);
    result.files.push_back({fileName, content->text});
  }
  result.modelOption = reader.texts("model-option");
  checkModelOption(reader, result);
  result.protocol = readProtocol(reader.table("output"));
  reader.finish();
  if (fault) return std::unexpected(fault.text);
  return result;
}

std::optional<std::string> notInstalled(const Descriptor& descriptor) {
  struct stat status{};
  const bool there = ::stat(descriptor.executable.c_str(), &status) == 0;
  const bool runs = there && S_ISREG(status.st_mode) && (status.st_mode & S_IXOTH) != 0;
  if (runs) return std::nullopt;
  return descriptor.title + " is not installed: " + descriptor.executable +
         (there ? " is no program that everybody may run" : " is not there") +
         ". Install it, or name another agent: coffer agent list.";
}

}  // namespace coffer::agents
