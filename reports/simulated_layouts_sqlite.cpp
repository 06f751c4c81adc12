// SQLite's C interface: https://www.sqlite.org/c3ref/intro.html
#include "core/error.h"
#include "reports/simulated_layouts.h"

#if PLAIT_HAS_SQLITE

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace plait {
namespace {

constexpr const char* kSearches =
    "CREATE TABLE IF NOT EXISTS searches (id INTEGER PRIMARY KEY, scenario TEXT, command TEXT, "
    "version TEXT, finished INTEGER)";
constexpr const char* kResults =
    "machine TEXT, {}, bound_s REAL, step_time_s REAL, memory_bytes INTEGER, room_bytes INTEGER, "
    "outcome TEXT";

/// A database, and its complaints as ours.
class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) complain();
    sqlite3_busy_timeout(db_, 10'000);  // ms: another search is writing
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* get() const { return db_; }
  void run(const std::string& sql) {
    check(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr));
  }
  void check(int code) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) complain();
  }

 private:
  [[noreturn]] void complain() {
    const std::string why = sqlite3_errmsg(db_);
    throw EnvironmentError(fmt::format("cannot write {}: {}", path_, why));
  }

  std::string path_;
  sqlite3* db_ = nullptr;
};

/// A prepared INSERT or UPDATE; its values are bound one after the other.
class Statement {
 public:
  Statement(Database& db, const std::string& sql) : db_(db) {
    db_.check(sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(const std::string& value) {
    db_.check(sqlite3_bind_text(statement_, ++bound_, value.c_str(), -1, SQLITE_TRANSIENT));
    return *this;
  }
  Statement& integer(std::int64_t value) {
    db_.check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  Statement& real(double value) {
    db_.check(sqlite3_bind_double(statement_, ++bound_, value));
    return *this;
  }
  Statement& nothing() {
    db_.check(sqlite3_bind_null(statement_, ++bound_));
    return *this;
  }
  void run() {
    db_.check(sqlite3_step(statement_));
    db_.check(sqlite3_reset(statement_));
    bound_ = 0;
  }

 private:
  Database& db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

class SqliteWriter : public LayoutWriter {
 public:
  SqliteWriter(const std::string& path, const std::string& scenario, const RunFacts& facts)
      : db_(path) {
    db_.run(kSearches);
    Statement(db_, "INSERT INTO searches VALUES (NULL, ?, ?, ?, 0)")
        .text(scenario)
        .text(facts.command)
        .text(facts.version)
        .run();
    search_ = sqlite3_last_insert_rowid(db_.get());
  }
  void add(std::span<const SimulatedLayout> layouts) override {
    if (layouts.empty()) return;
    db_.run("BEGIN");
    if (insert_ == nullptr) prepare(layouts.front().settings);
    for (const SimulatedLayout& l : layouts) insert(l);
    db_.run("COMMIT");
  }
  void finish(bool complete) override {
    if (!complete) return;  // 0 as at its beginning
    Statement(db_, "UPDATE searches SET finished = 1 WHERE id = ?").integer(search_).run();
  }

 private:
  void prepare(const Assignments& settings) {
    std::string columns, marks;
    for (const Override& set : settings) {
      const bool number = is_number(set.value);
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", column_of(set.path),
                             number ? "INTEGER" : "TEXT");
      marks += ", ?";
    }
    db_.run("CREATE TABLE IF NOT EXISTS layouts (search INTEGER REFERENCES searches, " +
            fmt::format(fmt::runtime(kResults), columns) + ")");
    insert_ = std::make_unique<Statement>(
        db_, "INSERT INTO layouts VALUES (?, ?" + marks + ", ?, ?, ?, ?, ?)");
  }
  static bool is_number(const std::string& text) {
    return text.find_first_not_of("-0123456789") == std::string::npos;
  }
  void insert(const SimulatedLayout& l) {
    Statement& s = *insert_;
    s.integer(search_).text(machine_text(l.machine));
    for (const Override& set : l.settings) {
      is_number(set.value) ? s.integer(std::stoll(set.value)) : s.text(set.value);
    }
    s.real(l.bound_s);
    if (l.planned) {
      s.real(l.step_time_s).integer(l.memory_bytes).integer(l.room_bytes);
    } else {
      s.nothing().nothing().nothing();
    }
    s.text(outcome_of(l)).run();
  }

  Database db_;
  std::int64_t search_ = 0;
  std::unique_ptr<Statement> insert_;
};

}  // namespace

std::unique_ptr<LayoutWriter> write_layouts_sqlite(const std::string& path,
                                                   const std::string& scenario,
                                                   const RunFacts& facts) {
  return std::make_unique<SqliteWriter>(path, scenario, facts);
}

}  // namespace plait

#else

namespace plait {

std::unique_ptr<LayoutWriter> write_layouts_sqlite(const std::string&, const std::string&,
                                                   const RunFacts&) {
  throw EnvironmentError(
      "this build has no SQLite: install it (Debian: libsqlite3-dev) and build again, or use "
      "--csv");
}

}  // namespace plait

#endif
