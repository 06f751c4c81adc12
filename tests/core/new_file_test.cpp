#include "core/new_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"

namespace plait::new_file_test {

class NewFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("plait_new_file_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const {
    std::ifstream in(path(name));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(NewFileTest, AppearsOnlyWhenFinished) {
  NewFile file(path("a"));
  file.write("half");
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  file.write(" and half");
  file.finish();
  EXPECT_EQ(content("a"), "half and half");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, LeavesNothingBehindWhenAbandoned) {
  { NewFile(path("a")).write("half"); }
  EXPECT_EQ(files(), 0);
}

TEST_F(NewFileTest, AHandlerOfSignalsRemovesWhatIsUnfinished) {
  NewFile whole(path("whole")), half(path("half"));
  whole.write("whole"), whole.finish();
  half.write("half");
  EXPECT_EQ(files(), 2);
  remove_unfinished_files();
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(content("whole"), "whole");
}

TEST_F(NewFileTest, TheOldContentStaysUntilTheNewIsWhole) {
  std::ofstream(path("a")) << "old";
  {
    NewFile file(path("a"));
    file.write("new");
    EXPECT_EQ(content("a"), "old");
    file.finish();
  }
  EXPECT_EQ(content("a"), "new");
}

TEST_F(NewFileTest, ALinkStaysALink) {
  std::ofstream(path("target")) << "old";
  std::filesystem::create_symlink(path("target"), path("link"));
  NewFile file(path("link"));
  file.write("new");
  file.finish();
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(content("target"), "new");
}

TEST_F(NewFileTest, AFolderThatIsNotThereIsTheMachinesFault) {
  EXPECT_THROW(NewFile(path("no/such/folder/a")), EnvironmentError);
}

TEST_F(NewFileTest, AFullDeviceIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  EXPECT_THROW(
      {
        NewFile file("/dev/full");
        file.write(std::string(1 << 20, 'x'));
        file.finish();
      },
      EnvironmentError);
}

}  // namespace plait::new_file_test
