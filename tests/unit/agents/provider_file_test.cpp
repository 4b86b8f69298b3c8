#include "agents/provider_file.hpp"

#include <gtest/gtest.h>

#include "agents/data_set.hpp"

namespace coffer::agents {
namespace {

TEST(ProviderFile, TheShippedFilesAreGood) {
  DataSet<ProviderFile> providers({std::string(SOURCE_TREE) + "/daemon/data/providers"}, ".toml", readProvider);
  providers.reload();
  EXPECT_TRUE(providers.problems().empty());
  ASSERT_NE(providers.find("openai"), nullptr);
  EXPECT_EQ(providers.all().at("openai").kinds.size(), 2U);
  EXPECT_EQ(providers.all().at("anthropic").baseUrl, "https://api.anthropic.com");
}

std::string faultOf(const std::string& rest) {
  const auto provider = readProvider("title='t'\nkinds=['anthropic']\n" + rest, "x", "x.toml");
  return provider ? "" : provider.error();
}

TEST(ProviderFile, AllowsLiteralAddressesOnly) {
  const std::string url = "base-url='http://localhost:8099/v1'\n";
  EXPECT_EQ(faultOf(url + "allow-addresses=['127.0.0.1:8099', '[fd00::1]:443']\n"), "");
  for (const std::string address :
       {"localhost:80", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "10.0.0.0/8:80", "fd00::1:443x", ""})
    EXPECT_EQ(faultOf(url + "allow-addresses=['" + address + "']\n").substr(0, 9), "x.toml:4:") << address;
}

TEST(ProviderFile, RefusesAnAddressThatIsNoWebAddress) {
  for (const std::string url : {"ftp://x", "https://x/", "https://x y", "x", "https://x?y"})
    EXPECT_EQ(faultOf("base-url='" + url + "'\n").substr(0, 9), "x.toml:3:") << url;
}

}  // namespace
}  // namespace coffer::agents
