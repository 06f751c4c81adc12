#include "core/library.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace plait::library_test {

std::string message_of(const auto& what) {
  try {
    what();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

TEST(Library, IsTheFirstThatThereIs) {
  const Library library({"libnowhere.so.1", "libc.so.6"}, "it is not installed", "libc", "get it");
  int (*absolute)(int) = nullptr;
  library.find("abs", absolute);
  EXPECT_EQ(absolute(-3), 3);
  EXPECT_EQ(message_of([&] { library.find("no_such_function", absolute); }),
            "this libc has no no_such_function: get it");
}

TEST(Library, ThatIsMissingIsNamedWithTheLoadersWords) {
  const std::string message =
      message_of([] { Library({"libnowhere.so.1"}, "it is not installed", "", ""); });
  EXPECT_TRUE(message.starts_with("it is not installed: libnowhere.so.1")) << message;
}

}  // namespace plait::library_test
