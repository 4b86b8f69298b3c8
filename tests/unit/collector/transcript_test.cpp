#include "workers/collector/transcript.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "model/limits.hpp"
#include "os/fd.hpp"
#include "scratch_folder.hpp"

namespace coffer::collector {
namespace {

TEST(TranscriptTest, ShowsWhatWasSaidAndDoneWithoutAnythingThatActs) {
  const ScratchFolder folder;
  const Fd file(::open((folder / "t").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Transcript transcript(file.get());
  transcript.message("I begin \u202e now");
  transcript.command("make\ntest");
  transcript.output("one\ntwo\x1b[31m\n");
  transcript.exitCode("2");
  transcript.error("it failed");
  transcript.message("");
  EXPECT_TRUE(transcript.finish());
  EXPECT_EQ(folder.read("t"),
            "I begin <U+202E> now\n$ make\n  test\n  one\n  two<U+001B>[31m\n  exit 2\n! it failed\n");
}

TEST(TranscriptTest, KeepsBeginningAndEndOfALongTurn) {
  const ScratchFolder folder;
  const Fd file(::open((folder / "t").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Transcript transcript(file.get());
  transcript.message("the beginning");
  for (int i = 0; i < 1000; ++i)
    transcript.output(std::string(60000, 'x'));
  transcript.message("the end");
  EXPECT_TRUE(transcript.finish());
  const auto text = folder.read("t");
  EXPECT_LE(text.size(), limits::kTranscriptBytes + 1000);
  EXPECT_GT(transcript.leftOut(), 1000U);
  EXPECT_TRUE(text.starts_with("the beginning\n"));
  EXPECT_TRUE(text.ends_with("the end\n"));
  EXPECT_TRUE(text.contains("# " + std::to_string(transcript.leftOut()) + " bytes of the transcript left out here\n"));
}

TEST(TranscriptTest, ShortensOneLongEntry) {
  const ScratchFolder folder;
  const Fd file(::open((folder / "t").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Transcript transcript(file.get());
  transcript.output("first\n" + std::string(1000000, 'x') + "\nlast");
  EXPECT_TRUE(transcript.finish());
  const auto text = folder.read("t");
  EXPECT_LT(text.size(), limits::kTranscriptEntryBytes + 200);
  EXPECT_TRUE(text.contains("bytes left out"));
  EXPECT_TRUE(text.ends_with("  last\n"));
}

TEST(TranscriptTest, SaysWhenTheDiskIsFull) {
  const Fd file(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Transcript transcript(file.get());
  transcript.message("x");
  EXPECT_FALSE(transcript.finish());
}

}  // namespace
}  // namespace coffer::collector
