#include "gui/app/file_dialog.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/paths.h"

using stallscope::app::DialogCommand;
using stallscope::app::DialogKind;
using stallscope::app::FileDialog;

namespace {

namespace fs = std::filesystem;

// A folder with programs of these names.
class Programs {
 public:
  explicit Programs(const std::vector<std::string>& names)
      : path_(stallscope::test::BuildDir() + "/gui_dialog_test") {
    fs::create_directories(path_);
    for (const std::string& name : names) {
      std::ofstream(path_ + "/" + name) << "#!/bin/sh\n";
      fs::permissions(path_ + "/" + name, fs::perms::owner_all);
    }
  }
  ~Programs() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What it says when it has ended; Poll itself never waits.
std::string Await(FileDialog& dialog) {
  for (;;) {
    if (const auto answer = dialog.Poll()) return *answer;
    poll(nullptr, 0, 1);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("zenity is preferred, kdialog on a KDE desktop") {
    const Programs both({"zenity", "kdialog"});
    CHECK(DialogCommand(DialogKind::kOpen, "", both.path(), "GNOME")[0] == both.path() + "/zenity");
    CHECK(DialogCommand(DialogKind::kOpen, "", both.path(), "KDE")[0] == both.path() + "/kdialog");
    const auto save = DialogCommand(DialogKind::kSave, "a.html", both.path(), "");
    CHECK(std::find(save.begin(), save.end(), "--save") != save.end());
    CHECK(save.back() == "--filename=a.html");
  }

  TEST_CASE("the installed dialog is used, none without one") {
    {
      const Programs one({"kdialog"});
      const auto open = DialogCommand(DialogKind::kOpen, "", "/nowhere:" + one.path(), "GNOME");
      REQUIRE(open.size() == 3);
      CHECK(open[1] == "--getopenfilename");
    }
    CHECK(DialogCommand(DialogKind::kOpen, "", "/nowhere::", "").empty());
    FileDialog dialog;
    CHECK_FALSE(dialog.Start({}));
  }

  TEST_CASE("a dialog's output is the path, without the newline") {
    FileDialog dialog;
    REQUIRE(dialog.Start({"/bin/echo", "/tmp/a run.sst"}));
    CHECK(Await(dialog) == "/tmp/a run.sst");
    CHECK_FALSE(dialog.open());
  }

  TEST_CASE("a canceled or missing dialog returns an empty path") {
    FileDialog dialog;
    REQUIRE(dialog.Start({"/bin/false"}));
    CHECK(Await(dialog).empty());
    REQUIRE(dialog.Start({"/no/such/program"}));
    CHECK(Await(dialog).empty());
  }

  TEST_CASE("destroying the object ends an open dialog") {
    FileDialog dialog;
    REQUIRE(dialog.Start({"/bin/sleep", "1000"}));
    CHECK(dialog.open());
    CHECK_FALSE(dialog.Poll().has_value());
  }
}
