stallscope_test(NAME analyzer/findings_verdict
  SOURCES findings/verdict_test.cpp
  LINKS analyzer/findings)
