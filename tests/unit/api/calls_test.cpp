#include <array>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/descriptors.hpp"
#include "world.hpp"

namespace coffer::api::test {
namespace {

/// Everybody is authorised for everything of their own.
class Calls : public World {
 protected:
  Calls() {
    for (const auto action : {names::kActionCreate, names::kActionDecideOwn, names::kActionLand,
                              names::kActionConfigure, names::kActionProviderKey})
      authority_.granted.insert(std::string(action));
    start();
  }
  Answer createTask(const std::string& prompt, const Dictionary& values, std::uint64_t project = 7) {
    return manager(*alice_, "CreateTask", [&](Writer& writer) {
      writer.append(pathOf(ObjectKind::Project, project));
      writer.append(prompt);
      writer.append(values);
    });
  }
  Answer readText(const std::string& what, std::uint64_t offset, std::uint32_t limit) {
    return call(*alice_, taskPath(17), names::kTask, "ReadText", [&](Writer& writer) {
      writer.append(what);
      writer.append(offset);
      writer.append(limit);
      writer.append(Dictionary{});
    });
  }
  std::shared_ptr<std::optional<Answer>> setKey(int fd) {
    return send(*alice_, pathOf(ObjectKind::Provider, 3).text, names::kProvider, "SetKey", [&](Writer& writer) {
      writer.descriptor(fd);
      writer.append(Dictionary{});
    });
  }
  std::shared_ptr<std::optional<Answer>> wait(Client& who, std::uint64_t after, std::uint64_t timeout) {
    return send(who, taskPath(17), names::kTask, "Wait", [&](Writer& writer) {
      writer.append(after);
      writer.append(timeout);
    });
  }
};

TEST_F(Calls, argumentsAndOptionsReachTheBackendTyped) {
  const auto answer = createTask("add zlib", {{"flow", std::string("single")},
                                              {"agents", StringMap{{"writer", "codex/gpt"}}},
                                              {"policy", StringMap{{"plan", "auto"}}},
                                              {"rounds", std::uint32_t{2}},
                                              {"plan", std::string("+++")},
                                              {"request-id", std::string("abc")}});
  ASSERT_TRUE(answer.ok()) << answer.text;
  const auto [path, id] = answer.as<ObjectPath, std::uint64_t>();
  EXPECT_EQ(path.text, taskPath(17));
  EXPECT_EQ(id, 17U);
  ASSERT_EQ(backend_.changes.size(), 1U);
  EXPECT_EQ(backend_.changes[0].object, 7U);
  EXPECT_EQ(backend_.changes[0].text, "add zlib");
  EXPECT_EQ(backend_.changes[0].request.id, "abc");
  EXPECT_EQ(backend_.changes[0].request.caller.uid, kAlice);
  EXPECT_EQ(backend_.taskSettings.flow, "single");
  EXPECT_EQ(backend_.taskSettings.agents.at("writer"), "codex/gpt");
  EXPECT_EQ(backend_.taskSettings.rounds, 2U);
}

TEST_F(Calls, whatIsNotUnderstoodIsRefusedAndNotDone) {
  EXPECT_EQ(createTask("x", {{"colour", std::string("blue")}}).name(), "InvalidArgument");
  EXPECT_EQ(createTask("x", {{"flow", true}}).name(), "InvalidArgument");
  EXPECT_EQ(createTask("x", {{"flow", std::int64_t{1}}}).name(), "InvalidArgument");
  EXPECT_EQ(createTask("x", {{"request-id", std::string(65, 'a')}}).name(), "InvalidArgument");
  EXPECT_EQ(createTask(" \n", {}).name(), "InvalidArgument");
  EXPECT_EQ(createTask(std::string(limits::kTextBytes + 1, 'x'), {}).name(), "TooLarge");
  EXPECT_EQ(createTask("x", {{"flow", std::string(limits::kOptionTextBytes + 1, 'x')}}).name(), "TooLarge");
  EXPECT_EQ(createTask("x", {}, 8).name(), "UnknownObject");
  Dictionary many;
  for (std::size_t i = 0; i <= limits::kOptionEntries; ++i)
    many.emplace(std::to_string(i), true);
  EXPECT_EQ(createTask("x", many).name(), "InvalidArgument");
  EXPECT_EQ(manager(*alice_, "CreateTask", options()).name(), SD_BUS_ERROR_INVALID_ARGS);
  EXPECT_EQ(manager(*alice_, "Nothing").name(), SD_BUS_ERROR_UNKNOWN_METHOD);
  EXPECT_EQ(call(*alice_, root(), names::kTask, "Cancel", options()).name(), SD_BUS_ERROR_UNKNOWN_METHOD);
  EXPECT_TRUE(backend_.changes.empty());
}

TEST_F(Calls, pathsAreBytes) {
  const std::string odd = "/home/alice/n\xFFme";
  const auto answer = manager(*alice_, "AddProject", [&](Writer& writer) {
    writer.append(Bytes(odd.begin(), odd.end()));
    writer.append("odd");
    writer.append(Dictionary{{"test", Strings{"make test", "x"}}, {"author-name", std::string("Alice")}});
  });
  ASSERT_TRUE(answer.ok()) << answer.text;
  EXPECT_EQ(backend_.changes[0].text, odd + " odd");
  EXPECT_EQ(backend_.projectSettings.test->size(), 2U);
  EXPECT_FALSE(backend_.projectSettings.build.has_value());
  backend_.projects[7].directory = odd;
  const auto shown = call(*alice_, pathOf(ObjectKind::Project, 7).text, names::kProperties, "Get", [](Writer& writer) {
    writer.append(names::kProject);
    writer.append("DirectoryText");
  });
  const char* text = nullptr;
  sd_bus_message_read(shown.message.get(), "v", "s", &text);
  EXPECT_STREQ(text, "/home/alice/n\\xffme");
}

TEST_F(Calls, relativePathsAndBadNamesAreRefused) {
  const auto add = [&](const std::string& path, const std::string& name) {
    return manager(*alice_, "AddProject",
                   [&](Writer& writer) {
                     writer.append(Bytes(path.begin(), path.end()));
                     writer.append(name);
                     writer.append(Dictionary{});
                   })
        .name();
  };
  EXPECT_EQ(add("zlib", "zlib"), "InvalidArgument");
  EXPECT_EQ(add("", "zlib"), "InvalidArgument");
  EXPECT_EQ(add(std::string("/a\0b", 4), "zlib"), "InvalidArgument");
  EXPECT_EQ(add("/a", "Zlib"), "InvalidArgument");
  EXPECT_EQ(add("/a", "-a"), "InvalidArgument");
  EXPECT_EQ(add("/a", std::string(32, 'a')), "InvalidArgument");
  EXPECT_EQ(add("/" + std::string(limits::kCallerPathBytes, 'a'), "zlib"), "TooLarge");
}

TEST_F(Calls, retryTakesThePointAndNothingElse) {
  EXPECT_TRUE(call(*alice_, taskPath(17), names::kTask, "Retry",
                   options({{"from", std::string("gate")}, {"budget", std::uint64_t{9}}}))
                  .ok());
  EXPECT_EQ(backend_.changes[0].name, "retryTask");
  EXPECT_EQ(backend_.changes[0].text, "gate 9");
  EXPECT_TRUE(call(*alice_, taskPath(17), names::kTask, "Retry", options()).ok());
  EXPECT_EQ(backend_.changes[1].text, " 0");
  EXPECT_EQ(call(*alice_, taskPath(17), names::kTask, "Retry", options({{"to", std::string("gate")}})).name(),
            "InvalidArgument");
}

TEST_F(Calls, errorsOfTheBackendKeepTheirNameAndWords) {
  backend_.refusal = Error{ErrorCode::Stale, "the plan is another by now"};
  const auto answer = call(*alice_, taskPath(17), names::kTask, "AcceptPlan", [](Writer& writer) {
    writer.append("sha256:1");
    writer.append(Dictionary{});
  });
  EXPECT_EQ(answer.name(), "Stale");
  EXPECT_EQ(answer.text, "the plan is another by now");
}

TEST_F(Calls, anAnswerMayComeLater) {
  Done<std::uint64_t> held;
  backend_.held = &held;
  const auto place = send(*alice_, root(), names::kManager, "CreateTask", [](Writer& writer) {
    writer.append(pathOf(ObjectKind::Project, 7));
    writer.append("x");
    writer.append(Dictionary{});
  });
  until([&] { return static_cast<bool>(held); });
  EXPECT_FALSE(place->has_value());
  held(std::uint64_t{23});
  until([&] { return place->has_value(); });
  EXPECT_TRUE((*place)->ok());
}

TEST_F(Calls, aForgottenCallIsAnsweredAllTheSame) {
  Done<std::uint64_t> held;
  backend_.held = &held;
  const auto place = send(*alice_, root(), names::kManager, "CreateTask", [](Writer& writer) {
    writer.append(pathOf(ObjectKind::Project, 7));
    writer.append("x");
    writer.append(Dictionary{});
  });
  until([&] { return static_cast<bool>(held); });
  held = nullptr;
  until([&] { return place->has_value(); });
  EXPECT_EQ((*place)->name(), "Internal");
}

TEST_F(Calls, textIsReadInPiecesOfWholeCharacters) {
  backend_.texts["plan"] = {.bytes = "ab\xC3\xA9\xE2\x82\xAC!", .digest = "sha256:1"};
  std::string whole;
  std::uint64_t offset = 0;
  do {
    const auto [text, next, digest] = readText("plan", offset, 4).as<std::string, std::uint64_t, std::string>();
    EXPECT_EQ(digest, "sha256:1");
    whole += text;
    offset = next;
  } while (offset != 0 && whole.size() < 100);
  EXPECT_EQ(whole, "ab\xC3\xA9\xE2\x82\xAC!");
  EXPECT_EQ(readText("plan", 0, 3).name(), "InvalidArgument");
  EXPECT_EQ(readText("diff", 0, 0).name(), "NotFound");
  EXPECT_EQ(readText("passwd", 0, 0).name(), "InvalidArgument");
}

TEST_F(Calls, textThatIsNoUtf8DoesNotEndTheConnection) {
  backend_.texts["log"] = {.bytes = std::string("a\xFF\0b", 4), .digest = "d"};
  const auto [text, next, digest] = readText("log", 0, 0).as<std::string, std::uint64_t, std::string>();
  EXPECT_EQ(text,
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  backend_.tasks[17].title = "bad \xC0\x80";
  EXPECT_TRUE(
      call(*alice_, taskPath(17), names::kProperties, "GetAll", [](Writer& w) { w.append(names::kTask); }).ok());
  EXPECT_TRUE(manager(*alice_, "Unsubscribe").ok());
}

TEST_F(Calls, aDescriptorToTheCallerCannotBeChanged) {
  backend_.texts["diff"] = {.bytes = "+\xFF\n", .digest = "sha256:2"};
  const auto answer = call(*alice_, taskPath(17), names::kTask, "Open", [](Writer& writer) {
    writer.append("diff");
    writer.append(Dictionary{});
  });
  ASSERT_TRUE(answer.ok()) << answer.text;
  const auto [fd, digest] = answer.as<int, std::string>();
  EXPECT_EQ(digest, "sha256:2");
  std::array<char, 16> buffer{};
  EXPECT_EQ(::read(fd, buffer.data(), buffer.size()), 3);
  EXPECT_EQ(std::string_view(buffer.data(), 3), "+\xFF\n");
  EXPECT_LT(::pwrite(fd, "x", 1, 0), 0);
  EXPECT_LT(::ftruncate(fd, 0), 0);
  EXPECT_LT(::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
}

TEST_F(Calls, aKeyComesThroughAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const auto place = setKey(ends[0]);
  ::close(ends[0]);
  settle(*alice_);
  EXPECT_FALSE(place->has_value());
  ASSERT_EQ(::write(ends[1], "sk-12", 5), 5);
  settle(*alice_);
  EXPECT_FALSE(place->has_value());
  ASSERT_EQ(::write(ends[1], "34\n", 3), 3);
  ::close(ends[1]);
  until([&] { return place->has_value(); });
  ASSERT_TRUE((*place)->ok()) << (*place)->text;
  EXPECT_EQ(backend_.changes.back().text, "sk-1234");
}

TEST_F(Calls, aKeyComesInMemory) {
  const Fd memory(::memfd_create("key", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.get(), "sk-1\r\n", 6), 6);
  const auto place = setKey(memory.get());
  until([&] { return place->has_value(); });
  ASSERT_TRUE((*place)->ok()) << (*place)->text;
  EXPECT_EQ(backend_.changes.back().text, "sk-1");
}

TEST_F(Calls, aKeyThatCouldEndAHeaderIsRefused) {
  for (const std::string text : {"a\nb", "a b", "a\x01", "", "\n", "caf\xC3\xA9"}) {
    const Fd memory(::memfd_create("key", MFD_CLOEXEC));
    ASSERT_EQ(::write(memory.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    const auto place = setKey(memory.get());
    until([&] { return place->has_value(); });
    EXPECT_EQ((*place)->name(), "InvalidArgument") << text;
  }
  EXPECT_TRUE(backend_.changes.empty());
}

TEST_F(Calls, aTooLongKeyIsRefused) {
  const std::string text(limits::kKeyBytes + 1, 'k');
  const Fd memory(::memfd_create("key", MFD_CLOEXEC));
  ASSERT_GT(::write(memory.get(), text.data(), text.size()), 0);
  const auto place = setKey(memory.get());
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  ASSERT_GT(::write(ends[1], text.data(), text.size()), 0);
  const auto second = setKey(ends[0]);
  ::close(ends[0]);
  until([&] { return place->has_value() && second->has_value(); });
  ::close(ends[1]);
  EXPECT_EQ((*place)->name(), "TooLarge");
  EXPECT_EQ((*second)->name(), "TooLarge");
}

TEST_F(Calls, otherDescriptorsAreNotRead) {
  for (const auto* file : {"/proc/self/status", "/dev/zero", "/"}) {
    const Fd fd(::open(file, O_RDONLY | O_CLOEXEC));
    const auto place = setKey(fd.get());
    until([&] { return place->has_value(); });
    EXPECT_EQ((*place)->name(), "InvalidArgument") << file;
  }
}

TEST_F(Calls, aWaitIsAnsweredByTheChange) {
  const auto place = wait(*alice_, 5, 600'000'000);
  settle(*alice_);
  EXPECT_FALSE(place->has_value());
  backend_.tasks[17].sequence = 6;
  backend_.tasks[17].state = "ready";
  backend_.observer->taskChanged(17, 6);
  until([&] { return place->has_value(); });
  EXPECT_EQ(((*place)->as<std::uint64_t, std::string, std::string>()), std::tuple(std::uint64_t{6}, "ready", ""));
}

TEST_F(Calls, aWaitIsAnsweredAtOnceWhenItIsLateAndInTimeWhenNothingHappens) {
  const auto late = wait(*alice_, 4, 600'000'000);
  const auto none = wait(*alice_, 5, 0);
  const auto timed = wait(*alice_, 5, 1000);
  until([&] { return late->has_value() && none->has_value() && timed->has_value(); });
  EXPECT_TRUE((*late)->ok());
  EXPECT_TRUE((*none)->ok());
  EXPECT_TRUE((*timed)->ok());
}

TEST_F(Calls, nobodyButTheBusSaysThatAConnectionHasEnded) {
  const auto place = wait(*alice_, 5, 600'000'000);
  settle(*alice_);
  const char* service = nullptr;
  ASSERT_GE(sd_bus_get_unique_name(bus_.get(), &service), 0);
  sd_bus_message* forged = nullptr;
  ASSERT_GE(sd_bus_message_new_signal(bob_->bus(), &forged, "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                      "NameOwnerChanged"),
            0);
  const auto owned = Message::adopt(forged);
  const auto name = alice_->name();
  ASSERT_GE(sd_bus_message_append(forged, "sss", name.c_str(), name.c_str(), ""), 0);
  ASSERT_GE(sd_bus_message_set_destination(forged, service), 0);
  ASSERT_GE(sd_bus_send(bob_->bus(), forged, nullptr), 0);
  settle(*bob_);
  backend_.tasks[17].sequence = 6;
  backend_.observer->taskChanged(17, 6);
  until([&] { return place->has_value(); });
  EXPECT_TRUE((*place)->ok());
}

TEST_F(Calls, waitsAreLimitedForEachUserAndEndWithTheConnection) {
  auto other = client(kAlice);
  std::vector<std::shared_ptr<std::optional<Answer>>> places;
  for (std::size_t i = 0; i < limits::kWaitsPerUser; ++i)
    places.push_back(wait(*other, 5, 600'000'000));
  settle(*other);
  auto more = wait(*alice_, 5, 600'000'000);
  until([&] { return more->has_value(); });
  EXPECT_EQ((*more)->name(), "Limit");
  other.reset();
  // The bus tells of the end before anything that is sent afterwards.
  for (int i = 0; i < 100; ++i) {
    more = wait(*alice_, 5, 1000);
    until([&] { return more->has_value(); });
    if ((*more)->ok()) break;
  }
  EXPECT_TRUE((*more)->ok());
}

TEST_F(Calls, subscribersAreLimitedForEachUserAndEndWithTheConnection) {
  std::vector<std::unique_ptr<Client>> many;
  for (std::size_t i = 0; i < limits::kSubscribersPerUser; ++i) {
    many.push_back(client(kAlice));
    ASSERT_TRUE(manager(*many.back(), "Subscribe", options()).ok());
  }
  EXPECT_EQ(manager(*alice_, "Subscribe", options()).name(), "Limit");
  EXPECT_TRUE(manager(*bob_, "Subscribe", options()).ok());
  many.pop_back();
  auto answer = manager(*alice_, "Subscribe", options());
  for (int i = 0; i < 100 && !answer.ok(); ++i)
    answer = manager(*alice_, "Subscribe", options());
  EXPECT_TRUE(answer.ok());
}

}  // namespace
}  // namespace coffer::api::test
