#include "engine/choice.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace coffer::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kAlice = 4'000'000'001;

/// Agents and providers as files, a store, and a program for each agent that is installed.
class ChoiceTest : public testing::Test {
 protected:
  ChoiceTest() {
    for (const auto* folder : {"agents", "providers", "bin"})
      fs::create_directories(directory_ / folder);
    std::ofstream(directory_ / "providers/place.toml")
        << "title = \"Place\"\nkinds = [\"openai-responses\"]\nbase-url = \"https://models.example\"\n";
    store_ = *store::Store::open((directory_ / "cofferd.db").string(), 1);
  }
  ~ChoiceTest() override {
    store_.reset();
    fs::remove_all(directory_);
  }

  void describe(const std::string& name, bool installed, const std::string& more = "") {
    const auto program = (directory_ / "bin" / name).string();
    if (installed) {
      std::ofstream(program) << "";
      fs::permissions(program, fs::perms{0755});
    }
    std::ofstream(directory_ / "agents" / (name + ".toml"))
        << "title = \"" << name << "\"\nproviders = [\"openai-responses\"]\ncommand = [\"" << program
        << "\", \"-m\", \"{model}\"]\n"
        << more << "[output]\nprotocol = \"test\"\nformat = \"text\"\n";
  }
  std::uint64_t addProvider(const std::string& name, bool machine, bool key) {
    store::Provider provider;
    provider.owner = machine ? 0 : kAlice;
    provider.machine = machine;
    provider.name = name;
    provider.kind = "place";
    provider.baseUrl = "https://models.example";
    const auto id = *store_->providers().add(provider);
    if (key) {
      EXPECT_TRUE(store_->providers().setKeyPresent(id, true, "abcd"));
    }
    return id;
  }
  void read() {
    agents_.reload();
    providers_.reload();
    ASSERT_TRUE(agents_.problems().empty()) << agents_.problems().front();
    ASSERT_TRUE(providers_.problems().empty()) << providers_.problems().front();
  }
  std::expected<Choice, Error> chosen(const std::string& binding) {
    read();
    return choose(*store_, agents_, providers_, kAlice, {}, binding);
  }

  static fs::path made() {
    std::string name = (fs::temp_directory_path() / "choice-XXXXXX").string();
    return ::mkdtemp(name.data());
  }

  fs::path directory_ = made();
  std::unique_ptr<store::Store> store_;
  agents::DataSet<agents::Descriptor> agents_{{directory_ / "agents"}, ".toml", agents::readDescriptor};
  agents::DataSet<agents::ProviderFile> providers_{{directory_ / "providers"}, ".toml", agents::readProvider};
};

TEST_F(ChoiceTest, TheOnlyAgentThatIsInstalledNeedsNoNaming) {
  describe("one", true);
  describe("two", false);
  read();
  EXPECT_EQ(*onlyAgent(agents_, "writer"), "one");
}

TEST_F(ChoiceTest, OfSeveralNoneIsTakenAndAllAreNamed) {
  describe("one", true);
  describe("two", true);
  read();
  const auto none = onlyAgent(agents_, "writer");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::NoAgent);
  for (const auto* part : {"one, two", "--agent writer=one", "coffer project set"})
    EXPECT_TRUE(none.error().message.contains(part)) << none.error().message;
}

TEST_F(ChoiceTest, WhereNoneIsInstalledThatIsSaid) {
  describe("one", false);
  read();
  EXPECT_TRUE(onlyAgent(agents_, "writer").error().message.contains("no agent is installed"));
}

TEST_F(ChoiceTest, AModelIsOnlyNeededWhereTheAgentCannotChoose) {
  describe("picky", true);
  describe("easy", true, "model-option = [\"-m\", \"{model}\"]\n");
  addProvider("mine", false, true);
  EXPECT_EQ(chosen("picky").error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(chosen("picky/m"));
  const auto easy = chosen("easy");
  ASSERT_TRUE(easy) << easy.error().message;
  EXPECT_EQ(easy->provider->name, "mine");
  EXPECT_EQ(chosen("nobody").error().code, ErrorCode::NoAgent);
}

TEST_F(ChoiceTest, AKeyThatCannotBeSpentIsNoProvider) {
  describe("one", true);
  EXPECT_EQ(chosen("one/m").error().code, ErrorCode::NoProvider);
  addProvider("mine", false, false);
  EXPECT_EQ(chosen("one/m").error().code, ErrorCode::NoProvider) << "it has no key";
  const auto machines = addProvider("machines", true, true);
  const auto refused = chosen("one/m");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("coffer provider allow")) << refused.error().message;
  ASSERT_TRUE(store_->providers().setSpenders(machines, {kAlice}, {}));
  EXPECT_EQ(chosen("one/m")->provider->id, machines);
  EXPECT_EQ(chosen("one/m@mine").error().code, ErrorCode::NoProvider);
}

TEST_F(ChoiceTest, ATurnThatRunsIsNotLeftAloneBecauseItsProviderIsGone) {
  describe("one", true);
  read();
  const auto choice = choose(*store_, agents_, providers_, kAlice, {}, "one/m", true);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->descriptor.title, "one");
  EXPECT_FALSE(choice->provider);
  EXPECT_EQ(choose(*store_, agents_, providers_, kAlice, {}, "nobody/m", true).error().code, ErrorCode::NoAgent);
}

}  // namespace
}  // namespace coffer::engine
