#include "engine/admission.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

namespace coffer::engine {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

AdmissionLimits limits() {
  return {.places = 3, .placesOfUser = 2, .floorBytes = 100 * kMiB, .userDiskBytes = 1000 * kMiB};
}
constexpr DiskSpace kRoomy{.free = 10'000 * kMiB, .total = 20'000 * kMiB};

Applicant applicant(std::uint64_t task, std::uint32_t owner, std::uint64_t rest = 10 * kMiB) {
  return {task, owner, {.used = kMiB, .rest = rest}};
}

std::string code(const std::optional<model::Waiting>& waiting) { return waiting ? waiting->code : "admitted"; }

TEST(Admission, IsWithinTheMachinesNumber) {
  const std::vector<Applicant> two = {applicant(1, 1000), applicant(2, 1001)};
  EXPECT_EQ(code(refusal(applicant(9, 1002), two, kRoomy, {}, limits())), "admitted");
  const std::vector<Applicant> three = {applicant(1, 1000), applicant(2, 1001), applicant(3, 1002)};
  EXPECT_EQ(code(refusal(applicant(9, 1003), three, kRoomy, {}, limits())), "slot");
}

TEST(Admission, IsWithinTheUsersNumberAndLeavesTheOthersTheirs) {
  const std::vector<Applicant> two = {applicant(1, 1000), applicant(2, 1000)};
  EXPECT_EQ(code(refusal(applicant(9, 1000), two, kRoomy, {}, limits())), "user-slot");
  EXPECT_EQ(code(refusal(applicant(9, 1001), two, kRoomy, {}, limits())), "admitted");
}

TEST(Admission, WaitsWhileTheRestOfAllImagesDoesNotFitAboveTheFloor) {
  // 300 MiB of the other, 200 of its own and 100 that stay free.
  const std::vector<Applicant> one = {applicant(1, 1001, 300 * kMiB)};
  EXPECT_EQ(code(refusal(applicant(9, 1000, 200 * kMiB), one, {600 * kMiB, 20'000 * kMiB}, {}, limits())), "admitted");
  EXPECT_EQ(code(refusal(applicant(9, 1000, 200 * kMiB), one, {600 * kMiB - 1, 20'000 * kMiB}, {}, limits())), "space");
}

TEST(Admission, WaitsWhileTheUsersImagesCouldComeToMoreThanTheirTotal) {
  const std::vector<Applicant> one = {applicant(1, 1000, 300 * kMiB)};
  const auto wants = applicant(9, 1000, 200 * kMiB);
  EXPECT_EQ(code(refusal(wants, one, kRoomy, {.images = 500 * kMiB}, limits())), "admitted");
  EXPECT_EQ(code(refusal(wants, one, kRoomy, {.images = 500 * kMiB + 1}, limits())), "user-space");
  EXPECT_EQ(code(refusal(applicant(9, 1001, 200 * kMiB), one, kRoomy, {.images = 700 * kMiB}, limits())), "admitted");
}

TEST(Admission, WithoutATotalAUserMayHaveHalfOfTheDiskAndAlwaysOneTask) {
  auto none = limits();
  none.userDiskBytes = 0;
  EXPECT_EQ(code(refusal(applicant(9, 1000), {}, {10'000 * kMiB, 800 * kMiB}, {.images = 391 * kMiB}, none)),
            "user-space");
  EXPECT_EQ(code(refusal(applicant(9, 1000), {}, {10'000 * kMiB, 800 * kMiB}, {.images = 390 * kMiB}, none)),
            "admitted");
  EXPECT_EQ(code(refusal(applicant(9, 1000, 700 * kMiB), {}, {10'000 * kMiB, 800 * kMiB}, {.images = kMiB}, none)),
            "admitted");
  const UserSpace withProject{.images = kMiB, .projects = 50 * kMiB};
  EXPECT_EQ(code(refusal(applicant(9, 1000, 700 * kMiB), {}, {10'000 * kMiB, 800 * kMiB}, withProject, none)),
            "admitted");
}

/// The real one over a directory with images, with a user's total of 4 MiB and two places.
class Waiting : public testing::Test {
 protected:
  void SetUp() override {
    sd_event_new(&event_);
    Admission::Sources sources;
    sources.event = event_;
    sources.places.state = state_.string();
    sources.limits = [] { return AdmissionLimits{.places = 2, .placesOfUser = 2, .userDiskBytes = 4 * kMiB}; };
    sources.tasksOf = [](std::uint32_t) { return std::vector<std::uint64_t>{1, 2, 3}; };
    sources.projectsOf = [](std::uint32_t) { return std::vector<std::uint64_t>{7}; };
    sources.changed = [this](std::uint64_t) { ++told_; };
    sources.spaceCheck = std::chrono::milliseconds(5);
    admission_ = std::make_unique<Admission>(std::move(sources));
  }
  void TearDown() override {
    admission_.reset();
    sd_event_unref(event_);
    std::filesystem::remove_all(state_);
  }
  void image(std::uint64_t task, std::uint64_t bytes) {
    const auto folder = state_ / "tasks" / std::to_string(task);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "image") << std::string(bytes, 'x');
  }
  static Detached enter(Admission& admission, std::uint64_t task, std::optional<bool>& admitted, bool begun = false) {
    admitted = co_await admission.enter(task, 1000, begun);
  }

  std::filesystem::path state_ = std::filesystem::temp_directory_path() / ("admission-" + std::to_string(::getpid()));
  sd_event* event_ = nullptr;
  int told_ = 0;
  std::unique_ptr<Admission> admission_;
};

TEST_F(Waiting, ForSpaceEndsByItselfWhenThereIsSome) {
  image(1, 5 * kMiB);
  std::optional<bool> admitted;
  enter(*admission_, 2, admitted);
  ASSERT_FALSE(admitted);
  EXPECT_EQ(code(admission_->waiting(2)), "user-space");
  std::filesystem::remove(state_ / "tasks/1/image");
  while (!admitted && sd_event_run(event_, 2'000'000) > 0) {
  }
  EXPECT_EQ(admitted, true);
  EXPECT_EQ(admission_->waiting(2), std::nullopt);
  EXPECT_EQ(told_, 2);
  while (sd_event_run(event_, 100'000) > 0) {
  }
  EXPECT_EQ(sd_event_run(event_, 50'000), 0) << "nothing wakes up while nobody waits";
}

TEST_F(Waiting, IsForWhatProjectsTakeAsWell) {
  EXPECT_EQ(admission_->full(1000), std::nullopt);
  const auto project = state_ / "projects/7";
  std::filesystem::create_directories(project / "store.git/objects/pack");
  std::filesystem::create_directories(project / "sizes");
  std::ofstream(project / "store.git/objects/pack/pack-x.pack") << std::string(2 * kMiB, 'x');
  std::ofstream(project / "sizes/commit-x") << 3 * kMiB;
  EXPECT_EQ(projectBytes(Places{.state = state_.string()}, 7), 5 * kMiB);
  EXPECT_EQ(code(admission_->full(1000)), "user-space");
  std::optional<bool> admitted;
  enter(*admission_, 2, admitted);
  EXPECT_EQ(code(admission_->waiting(2)), "user-space");
  admission_->withdraw(2);
}

TEST_F(Waiting, IsNotForWhoAsksForNowOrNever) {
  EXPECT_EQ(admission_->enterNow(1, 1000), std::nullopt);
  EXPECT_EQ(admission_->enterNow(2, 1000), std::nullopt);
  EXPECT_EQ(code(admission_->enterNow(3, 1000)), "slot");
  EXPECT_FALSE(admission_->contended());
  admission_->leave(1);
  EXPECT_EQ(admission_->enterNow(3, 1000), std::nullopt);
}

TEST_F(Waiting, ForAPlaceEndsWhenAnotherLeavesAndCanBeGivenUp) {
  std::optional<bool> first, second, third, fourth;
  enter(*admission_, 1, first);
  enter(*admission_, 2, second);
  enter(*admission_, 3, third);
  enter(*admission_, 4, fourth);
  EXPECT_EQ(first, true);
  EXPECT_EQ(second, true);
  ASSERT_FALSE(third);
  EXPECT_EQ(code(admission_->waiting(3)), "slot");
  admission_->withdraw(3);
  EXPECT_EQ(third, false);
  admission_->leave(1);
  EXPECT_EQ(fourth, true);
}

TEST_F(Waiting, IsNotForWhatRunsAlready) {
  image(1, 5 * kMiB);
  std::optional<bool> admitted;
  enter(*admission_, 2, admitted, true);
  EXPECT_EQ(admitted, true);
}

}  // namespace
}  // namespace coffer::engine
