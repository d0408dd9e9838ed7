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
  TEST_CASE("a table is copied as CSV that quotes what must be quoted, and nothing else") {
    CHECK(TextOf(Odd(), TableForm::kCsv) ==
          "name,count\r\n\"a,b\",1\r\n\"say \"\"x\"\"|y\",2\r\n\"two\nlines\t\",\r\n");
  }

  TEST_CASE("tabs and line breaks inside a field do not break a TSV") {
    CHECK(TextOf(Odd(), TableForm::kTsv) == "name\tcount\na,b\t1\nsay \"x\"|y\t2\ntwo lines \t\n");
  }

  TEST_CASE("Markdown has its bars escaped and its numbers to the right") {
    CHECK(TextOf(Odd(), TableForm::kMarkdown) ==
          "| name | count |\n| --- | ---: |\n| a,b | 1 |\n| say \"x\"\\|y | 2 |\n"
          "| two?lines? |  |\n");
  }

  TEST_CASE("what is copied is not run where it is pasted, and numbers stay numbers") {
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
