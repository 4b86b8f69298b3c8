#include "ui/live_output.hpp"

#include <array>
#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#include "agents/data_set.hpp"
#include "agents/descriptor.hpp"
#include "model/limits.hpp"
#include "model/visible_text.hpp"
#include "os/fd.hpp"
#include "task_text.hpp"
#include "terminal.hpp"
#include "workers/collector/output_reader.hpp"
#include "workers/collector/transcript.hpp"

namespace coffer::cli::ui {

namespace {

/// What is asked for in one call while a run prints: a piece that is not full is asked for again.
constexpr std::uint32_t kPieceBytes = 64 * 1024;

/// As much of a line that is too long as says what it is.
constexpr std::size_t kLongLineShown = 200;

std::string contentOf(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  off_t at = 0;
  for (;;) {
    const auto got = pread(fd, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace

struct LiveOutput::Reader {
  agents::Protocol protocol;
};

LiveOutput::LiveOutput(std::uint64_t run, const std::string& agent) : run_(run) {
  if (agent.empty()) return;
  agents::DataSet<agents::Descriptor> descriptors({"/usr/lib/cofferdam/agents", "/etc/cofferdam/agents"}, ".toml",
                                                  agents::readDescriptor);
  descriptors.reload();
  if (const auto* found = descriptors.find(agent)) reader_ = std::make_unique<Reader>(found->protocol);
}

LiveOutput::~LiveOutput() = default;

bool LiveOutput::begin(TaskClient& task) {
  if (begun_ && offset_ - begin_ <= limits::kLogShownBytes) return false;
  // From half of it on there is room again for what comes.
  const auto most = begun_ ? limits::kLogShownBytes / 2 : limits::kLogShownBytes;
  begin_ = beginOfLast(task, {{"run", sdbus::Variant(run_)}}, most);
  begun_ = true;
  offset_ = begin_;
  taken_ = 0;
  rest_.clear();
  skipping_ = late();
  return true;
}

std::string LiveOutput::read(TaskClient& task, bool& more) {
  const auto [text, next, digest] = task.readText("log", offset_, kPieceBytes, {{"run", sdbus::Variant(run_)}});
  const bool whole = next > offset_;
  auto shown = take(text, whole);
  if (whole) offset_ = next;
  more = whole;
  return shown;
}

std::string LiveOutput::take(std::string_view text, bool whole) {
  const auto fresh = text.substr(std::min(taken_, text.size()));
  // What has no line end yet may be half a character, and is read again with what follows.
  const auto end = whole ? fresh.size() : fresh.rfind('\n') + 1;
  rest_ += fresh.substr(0, end);
  taken_ = whole ? 0 : taken_ + end;
  if (skipping_) {
    const auto over = rest_.find('\n');
    skipping_ = over == std::string::npos;
    rest_.erase(0, skipping_ ? rest_.size() : over + 1);
  }
  const auto lines = rest_.substr(0, rest_.rfind('\n') + 1);
  rest_.erase(0, lines.size());
  auto result = lines.empty() ? std::string() : shown(lines);
  if (rest_.size() > limits::kOutputLineBytes) {
    result +=
        "# a line of output was too long to be read: " + model::visibleText(rest_.substr(0, kLongLineShown)) + "\n";
    rest_.clear();
    skipping_ = true;
  }
  return result;
}

std::string LiveOutput::shown(const std::string& lines) const {
  if (!reader_) return model::visibleText(lines);
  const Fd input(memfd_create("output", MFD_CLOEXEC));
  const Fd output(memfd_create("transcript", MFD_CLOEXEC));
  if (!input || !output || !writeAll(input.get(), lines) || lseek(input.get(), 0, SEEK_SET) < 0)
    return model::visibleText(lines);
  collector::Transcript transcript(output.get());
  collector::OutputReader(reader_->protocol, transcript).read(input.get());
  return transcript.finish() ? contentOf(output.get()) : model::visibleText(lines);
}

}  // namespace coffer::cli::ui
