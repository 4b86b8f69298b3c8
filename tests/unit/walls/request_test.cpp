#include "machine.hpp"

namespace coffer::walls::test {
namespace {

TEST(Names, HoldLowerCaseLettersDigitsAndDashesOnly) {
  EXPECT_TRUE(validName("a"));
  EXPECT_TRUE(validName("17-writer-1"));
  EXPECT_TRUE(validName(std::string(48, 'x')));
  for (const std::string bad : {"", ".", "..", "a/b", "A", "a b", "a.b", "a\n", "\xc3\xa4", "a_b"})
    EXPECT_FALSE(validName(bad)) << bad;
  EXPECT_FALSE(validName(std::string(49, 'x')));
}

TEST(Names, SurviveTheirFieldAndNothingHidesBehindTheirEnd) {
  auto field = packName("17-writer");
  ASSERT_TRUE(field);
  EXPECT_EQ(unpackName(*field), "17-writer");
  field->at(20) = 'x';
  EXPECT_FALSE(unpackName(*field));
  Name full;
  full.fill('a');
  EXPECT_FALSE(unpackName(full));
  EXPECT_FALSE(unpackName(Name{}));
}

class Requests : public WallsTest {
 protected:
  /// The reply's status, or nothing when the connection was closed.
  std::optional<std::int32_t> ask(const void* bytes, std::size_t size) {
    EXPECT_EQ(::send(machine.raw().get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    Reply reply;
    const auto got = ::recv(machine.raw().get(), &reply, sizeof(reply), 0);
    if (got != static_cast<ssize_t>(sizeof(reply))) return std::nullopt;
    return reply.status;
  }
  std::optional<std::int32_t> ask(const Request& request) { return ask(&request, sizeof(request)); }
  static constexpr auto kInvalid = static_cast<std::int32_t>(ErrorCode::InvalidArgument);
};

TEST_F(Requests, OfAnotherVersionAreRefused) {
  Request request;
  request.verb = Verb::Hello;
  EXPECT_EQ(ask(request), kDone);
  request.version = 2;
  EXPECT_EQ(ask(request), static_cast<std::int32_t>(ErrorCode::Unsupported));
}

TEST_F(Requests, WithAnUnknownVerbFlagOrNameAreRefused) {
  Request request;
  request.verb = static_cast<Verb>(99);
  EXPECT_EQ(ask(request), kInvalid);
  request.verb = Verb::NetnsCreate;
  EXPECT_EQ(ask(request), kInvalid);  // no name
  request.name = *packName("n");
  request.flags = 1;
  EXPECT_EQ(ask(request), kInvalid);
  request.flags = 0;
  request.name[0] = '/';
  EXPECT_EQ(ask(request), kInvalid);
  request.verb = Verb::ImageMount;
  request.name = *packName("n");
  EXPECT_EQ(ask(request), kInvalid);  // no descriptor
}

TEST_F(Requests, OfTheWrongSizeEndTheConnection) {
  EXPECT_EQ(ask("short", 5), std::nullopt);
  EXPECT_TRUE(walls().hello());  // the other connection goes on
}

TEST_F(Requests, MapNoUidBeyondOurRange) {
  for (const IdMap map : {IdMap{0, 0, kAgent}, IdMap{kWorker, kWorker, 0}, IdMap{kWorker, kWorker, 1000}}) {
    // One that could be mounted so.
    const Fd directory(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::fchown(directory.get(), map.fromUid, map.fromGid), 0);
    auto mounted = walls().mountWorkspace("w", directory.get(), map);
    ASSERT_FALSE(mounted);
    EXPECT_EQ(mounted.error().code, ErrorCode::InvalidArgument);
  }
  auto made = walls().makeDirectory("i", "d", 1000);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
}

TEST_F(Requests, ForWhatIsGoneSucceed) {
  EXPECT_TRUE(walls().removeNetns("none"));
  EXPECT_TRUE(walls().unmountImage("none"));
  EXPECT_TRUE(walls().unmountWorkspace("none"));
  EXPECT_TRUE(walls().detachSource("none"));
  EXPECT_EQ(walls().refusals("none").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace coffer::walls::test
