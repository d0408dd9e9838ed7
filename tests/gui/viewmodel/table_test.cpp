#include "gui/viewmodel/table.h"

#include <doctest/doctest.h>

using namespace stallscope::viewmodel;

namespace {

Table Odd() {
  Table table;
  table.columns = {{"name", false}, {"count", true}};
  table.rows = {{{"a,b", {}, ""}, {"1", {}, ""}},
                {{"say \"x\"|y", {}, ""}, {"2", 0.5, "exact"}},
                {{"two\nlines\t", {}, ""}, {"", {}, ""}}};
  return table;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("CSV quotes only what needs quotes") {
    CHECK(TextOf(Odd(), TableForm::kCsv) ==
          "name,count\r\n\"a,b\",1\r\n\"say \"\"x\"\"|y\",2\r\n\"two\nlines\t\",\r\n");
  }

  TEST_CASE("tabs and line breaks in a field do not break TSV") {
    CHECK(TextOf(Odd(), TableForm::kTsv) == "name\tcount\na,b\t1\nsay \"x\"|y\t2\ntwo lines \t\n");
  }

  TEST_CASE("Markdown escapes bars and right-aligns numbers") {
    CHECK(TextOf(Odd(), TableForm::kMarkdown) ==
          "| name | count |\n| --- | ---: |\n| a,b | 1 |\n| say \"x\"\\|y | 2 |\n"
          "| two?lines? |  |\n");
  }

  TEST_CASE("copied text never runs as a formula, and numbers stay numbers") {
    Table table;
    table.columns = {{"name", false}, {"change", true}};
    table.rows = {{{"=1+1", {}, ""}, {"-1.5 %", {}, ""}},
                  {{"<b>\\|[x](y)\x1b", {}, ""}, {"+3", {}, ""}}};
    CHECK(TextOf(table, TableForm::kCsv) == "name,change\r\n'=1+1,-1.5 %\r\n<b>\\|[x](y)?,+3\r\n");
    CHECK(TextOf(table, TableForm::kTsv) == "name\tchange\n'=1+1\t-1.5 %\n<b>\\|[x](y)?\t+3\n");
    CHECK(TextOf(table, TableForm::kMarkdown) ==
          "| name | change |\n| --- | ---: |\n| =1+1 | -1.5 % |\n"
          "| &lt;b&gt;\\\\&#124;\\[x\\](y)? | +3 |\n");
  }
}
