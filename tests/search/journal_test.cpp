// A journal loses nothing that was written, whatever ended the search.
#include "search/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"

namespace plait::journal_test {

const std::string kOurs(64, 'a'), kOther(64, 'b');

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/plait_journal_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }
  void put(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }
  std::string code_of_opening(const std::string& fingerprint) const {
    try {
      const Journal journal(path_, fingerprint);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return "";
  }

  std::string path_;
  const std::vector<JournalEntry> entries_ = {{0, 7, {4'970'000'000'000, 81, 9}},
                                              {0, 12, {}},  // cannot be planned
                                              {1, 7, {5'000'000'000'000, 90, -4}}};
};

TEST_F(JournalTest, ReadsBackWhatWasAdded) {
  {
    Journal journal(path_, kOurs);
    EXPECT_TRUE(journal.entries().empty());
    for (const JournalEntry& e : entries_) journal.add(e);
  }
  Journal journal(path_, kOurs);
  EXPECT_EQ(journal.entries(), entries_);
}

// A file system may have kept any beginning of what was appended.
TEST_F(JournalTest, CutOffAnywhereItHasTheWholeLines) {
  {
    Journal journal(path_, kOurs);
    for (const JournalEntry& e : entries_) journal.add(e);
  }
  const std::string whole = text();
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    put(whole.substr(0, length));
    const auto lines = std::count(whole.begin(), whole.begin() + static_cast<int>(length), '\n');
    const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(0, lines - 1));
    {
      Journal journal(path_, kOurs);
      ASSERT_EQ(journal.entries().size(), kept) << length;
      for (std::size_t i = kept; i < entries_.size(); ++i) journal.add(entries_[i]);
    }
    ASSERT_EQ(text(), whole) << length;
  }
}

TEST_F(JournalTest, AnotherSearchIsRefused) {
  { Journal(path_, kOurs).add(entries_[0]); }
  EXPECT_EQ(code_of_opening(kOther), "G020");
  put("{\"name\": \"my scenario\"}\n");
  EXPECT_EQ(code_of_opening(kOurs), "G020");
  EXPECT_EQ(text(), "{\"name\": \"my scenario\"}\n");
}

TEST_F(JournalTest, DamageBeforeTheLastLineIsTold) {
  {
    Journal journal(path_, kOurs);
    for (const JournalEntry& e : entries_) journal.add(e);
  }
  std::string damaged = text();
  damaged[damaged.find("4970000000000")] = '3';
  put(damaged);
  EXPECT_EQ(code_of_opening(kOurs), "G021");
}

TEST_F(JournalTest, TwoSearchesDoNotWriteOne) {
  const Journal journal(path_, kOurs);
  EXPECT_THROW(Journal(path_, kOurs), EnvironmentError);
}

}  // namespace plait::journal_test
