#include "workers/collector/turn.hpp"

#include <array>

#include "agents/protocol.hpp"
#include "model/limits.hpp"
#include "model/visible_text.hpp"
#include "workers/collector/exchange.hpp"
#include "workers/collector/output_reader.hpp"
#include "workers/collector/plan_reader.hpp"
#include "workers/collector/review_reader.hpp"
#include "workers/collector/transcript.hpp"
#include "workers/collector/usage.hpp"

namespace coffer::collector {
namespace {

Fd openFile(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) ? std::move(file) : Fd();
}

/// The last bytes of what an agent wrote to standard error.
std::string endOf(const std::string& path) {
  const Fd file = openFile(path);
  if (!file) return {};
  const auto size = ::lseek(file.get(), 0, SEEK_END);
  const auto wanted = static_cast<off_t>(limits::kTranscriptEntryBytes);
  if (size <= 0 || ::lseek(file.get(), size > wanted ? size - wanted : 0, SEEK_SET) < 0) return {};
  std::string text(static_cast<std::size_t>(std::min(size, wanted)), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const auto got = ::read(file.get(), text.data() + at, text.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  text.resize(at);
  return text;
}

/// The last lines of standard error as a sentence for a person, where the agent said nothing else.
std::string lastWords(const std::string& standardError) {
  auto text = model::visibleText(standardError);
  while (text.ends_with('\n'))
    text.pop_back();
  if (text.size() <= limits::kWordsBytes) return text;
  const auto cut = text.find('\n', text.size() - limits::kWordsBytes);
  return cut != std::string::npos ? text.substr(cut + 1) : std::string();
}

/// `usage.input`, `.cached`, `.cache-write`, `.output`: this turn's tokens, input without the cached ones.
/// `usage.total-*`: the agent's own numbers as it told them. Absent when it told none.
void addUsage(Records& report, const Records& request, const agents::Protocol& protocol, const AgentOutput& output) {
  if (!output.usage) return;
  const TokenCounts before{request.number("base.input"), request.number("base.cached"),
                           request.number("base.cache-write"), request.number("base.output")};
  const auto& told = *output.usage;
  const auto turn = turnUsage(protocol, told, before);
  report.add("usage.input", turn.input);
  report.add("usage.cached", turn.cached);
  report.add("usage.cache-write", turn.cacheWrite);
  report.add("usage.output", turn.output);
  report.add("usage.total-input", told.input);
  report.add("usage.total-cached", told.cached);
  report.add("usage.total-cache-write", told.cacheWrite);
  report.add("usage.total-output", told.output);
}

/// `outcome` ok or failed; when failed `error-class` (rate-limit, auth, overloaded, context, other) and `error-text`,
/// which is `said` where the agent said something itself.
void addOutcome(Records& report, const Records& request, const agents::Protocol& protocol, const AgentOutput& output,
                const std::string& standardError) {
  bool tellsSuccess = false;
  for (const auto& line : protocol.lines)
    tellsSuccess = tellsSuccess || line.success;
  // What cofferd does not say is not held against the agent: then its output alone decides.
  const bool ended = (!request.has("result") || request.get("result") == "success") &&
                     (!request.has("exit") || request.get("exit") == "0");
  if (ended && (output.success || !tellsSuccess)) {
    report.add("outcome", std::string_view("ok"));
    return;
  }
  auto text = model::visibleText(output.error);
  if (text.empty()) text = lastWords(standardError);
  if (!text.empty()) report.add("said", text);
  if (text.empty() && ended) text = "it ended without saying that its turn was over";
  if (text.empty())
    text = request.has("exit") ? "it ended with exit status " + std::string(request.get("exit")) + " and said nothing"
                               : "it did not end by itself (" + std::string(request.get("result")) + ")";
  report.add("outcome", std::string_view("failed"));
  report.add("error-class", agents::errorClassName(classify(protocol, output.status,
                                                            output.error.empty() ? standardError : output.error)));
  report.add("error-text", text);
}

/// `question`: a question comes before everything else, also one that cannot be read; blank ones are none.
void addQuestion(Records& report, const Exchange& exchange) {
  if (const auto* question = exchange.find("question.md")) {
    if (question->find_first_not_of(" \r\n\t") != std::string::npos) report.add("question", *question);
  } else if (const auto why = exchange.refusal("question.md"); !why.empty()) {
    report.add("question", "The agent left a question that cannot be shown: " + std::string(why) +
                               ". Reply with what it may need to know, or that it shall ask again, more briefly.\n");
  }
}

/// `plan` (the exact bytes), `plan.kind`, `plan.summary`, `plan.criterion` xN, `plan.module` xN,
/// `plan.nothing-to-build` 1, and `plan.refusal` when it cannot be used.
void addPlan(Records& report, const Exchange& exchange) {
  const auto* bytes = exchange.find("plan.md");
  if (bytes == nullptr) {
    const auto why = exchange.refusal("plan.md");
    report.add("plan.refusal", why.empty() ? std::string_view("There is no plan in /task/out/plan.md.") : why);
    return;
  }
  const auto plan = readPlan(*bytes);
  report.add("plan", *bytes);
  report.add("plan.kind", plan.kind);
  report.add("plan.summary", plan.summary);
  for (const auto& criterion : plan.criteria)
    report.add("plan.criterion", criterion);
  for (const auto& module : plan.modules)
    report.add("plan.module", module);
  if (plan.nothingToBuild) report.add("plan.nothing-to-build", std::string_view("1"));
  if (!plan.refusal.empty()) report.add("plan.refusal", plan.refusal);
}

/// `review` (the exact bytes), `review.checked` xN, `finding` xN as records (id, severity, blocking 1 where it is,
/// path, line, title, text), and `review.refusal` when it cannot be read.
void addReview(Records& report, const Exchange& exchange) {
  const auto* bytes = exchange.find("review.json");
  if (bytes == nullptr) {
    const auto why = exchange.refusal("review.json");
    report.add("review.refusal", why.empty() ? std::string_view("There is no review in /task/out/review.json.") : why);
    return;
  }
  const auto review = readReview(*bytes);
  report.add("review", *bytes);
  if (!review.refusal.empty()) {
    report.add("review.refusal", review.refusal);
    return;
  }
  for (const auto& sentence : review.checked)
    report.add("review.checked", sentence);
  for (const auto& finding : review.findings) {
    Records records;
    records.add("id", finding.id);
    records.add("severity", finding.severity);
    if (finding.severity == "error") records.add("blocking", 1);
    records.add("path", finding.path);
    records.add("line", finding.line);
    records.add("title", finding.title);
    records.add("text", finding.text);
    report.add("finding", records.serialize());
  }
}

}  // namespace

workers::Outcome collectTurn(const workers::Job& job) {
  const auto protocol = agents::Protocol::fromRecords(job.request);
  if (!protocol) return workers::fault(protocol.error());
  const Fd transcriptFile(
      ::open((job.out + "/transcript").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!transcriptFile) return workers::fault("cannot make the transcript");

  Transcript transcript(transcriptFile.get());
  const Fd outputFile = openFile(job.in + "/stdout");
  const auto output = outputFile ? OutputReader(*protocol, transcript).read(outputFile.get()) : AgentOutput();
  const auto standardError = endOf(job.in + "/stderr");
  if (standardError.find_first_not_of(" \r\n\t") != std::string::npos) {
    transcript.note("standard error:");
    transcript.output(standardError);
  }
  const auto exchange = Exchange::read(job.in + "/exchange");
  for (const auto& [file, sentence] : exchange.refusals())
    transcript.note("not taken from /task/out: " + sentence);
  if (!transcript.finish() || ::fsync(transcriptFile.get()) != 0) return workers::fault("cannot write the transcript");

  Records report;
  addOutcome(report, job.request, *protocol, output, standardError);
  if (!output.session.empty()) report.add("session", output.session);
  if (!output.text.empty()) report.add("text", output.text);
  addUsage(report, job.request, *protocol, output);
  report.add("lines", output.lines);
  report.add("lines.garbage", output.garbage);
  report.add("lines.too-long", output.tooLong);
  if (transcript.leftOut() > 0) report.add("transcript.left-out", transcript.leftOut());

  addQuestion(report, exchange);
  const auto role = job.request.get("role");
  if (role == "planner") addPlan(report, exchange);
  if (role == "reviewer") addReview(report, exchange);
  constexpr std::array kTexts =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"answer.md", "answer"},
                                                                    {"criteria.md", "criteria"},
                                                                    {"red.md", "red"},
                                                                    {"verify-proposal.md", "verify-proposal"},
                                                                    {"history-request.md", "history-request"}});
  for (const auto& [file, key] : kTexts)
    if (const auto* bytes = exchange.find(file)) report.add(key, *bytes);
  return report;
}

workers::Outcome collectPlan(const workers::Job& job) {
  Records report;
  addPlan(report, Exchange::read(job.in + "/exchange"));
  return report;
}

}  // namespace coffer::collector
