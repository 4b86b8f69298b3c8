#include "api/descriptors.hpp"

#include <array>
#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "private_bus.hpp"

namespace coffer::api::test {
namespace {

class DescriptorsOfCallers : public testing::Test {
 protected:
  DescriptorsOfCallers() {
    sd_event* raw = nullptr;
    sd_event_new(&raw);
    loop_.reset(raw);
  }
  Loop loop_;
};

TEST_F(DescriptorsOfCallers, whoDoesNotFinishIsGivenUp) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd writer(ends[1]);
  Descriptors descriptors(loop_.get(), 1000);
  std::optional<Descriptors::Outcome> outcome;
  descriptors.read(1000, Fd(ends[0]), 100, [&](auto given) { outcome = std::move(given); });
  ASSERT_EQ(::write(writer.get(), "half", 4), 4);
  while (!outcome)
    ASSERT_GT(sd_event_run(loop_.get(), 20'000'000), 0);
  EXPECT_EQ(outcome->error().code, ErrorCode::InvalidArgument);
}

TEST_F(DescriptorsOfCallers, oneUserHasOnlySoMany) {
  Descriptors descriptors(loop_.get());
  std::vector<Fd> writers;
  std::size_t refused = 0;
  for (std::size_t i = 0; i <= limits::kDescriptorsPerUser; ++i) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    writers.emplace_back(ends[1]);
    descriptors.read(1000, Fd(ends[0]), 100, [&](const auto& given) { refused += given.has_value() ? 0U : 1U; });
  }
  EXPECT_EQ(refused, 1U);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  writers.emplace_back(ends[1]);
  descriptors.read(1001, Fd(ends[0]), 100, [&](const auto& given) { refused += given.has_value() ? 0U : 1U; });
  EXPECT_EQ(refused, 1U);
}

TEST(Sealed, holdsLargeContent) {
  const std::string text(3'000'000, 'x');
  const auto fd = sealed(text);
  ASSERT_TRUE(fd.has_value());
  EXPECT_EQ(::lseek(fd->get(), 0, SEEK_END), 3'000'000);
}

}  // namespace
}  // namespace coffer::api::test
