#include "collectors/job/mask.h"

#include <doctest/doctest.h>

using stallscope::job::Masked;
using Words = std::vector<std::string>;

TEST_SUITE("fast") {
  TEST_CASE("secrets are masked by their names") {
    CHECK(Masked({"--token", "abc"}) == Words{"--token", "***"});
    CHECK(Masked({"--hub-token=abc"}) == Words{"--hub-token=***"});
    CHECK(Masked({"--HF_TOKEN", "abc", "--lr", "1"}) == Words{"--HF_TOKEN", "***", "--lr", "1"});
    CHECK(Masked({"WANDB_API_KEY=abc"}) == Words{"WANDB_API_KEY=***"});
    CHECK(Masked({"wandb.key=abc"}) == Words{"wandb.key=***"});
    CHECK(Masked({"-password", "x y"}) == Words{"-password", "***"});
    CHECK(Masked({"PASSWORD=x y"}) == Words{"PASSWORD=***"});
    CHECK(Masked({"--secret", "--lr", "1"}) == Words{"--secret", "--lr", "1"});
    CHECK(Masked({"DB_PASS=abc", "--db-pass", "abc"}) == Words{"DB_PASS=***", "--db-pass", "***"});
  }

  TEST_CASE("secrets are masked inside a shell's command") {
    CHECK(Masked({"sh", "-c", "A_KEY=abc train --token abc -v; echo 'x'"}) ==
          Words{"sh", "-c", "A_KEY=*** train --token *** -v; echo 'x'"});
  }

  TEST_CASE("secrets are masked inside URLs, headers and JSON") {
    CHECK(Masked({"https://me:pass@host/a"}) == Words{"https://me:***@host/a"});
    CHECK(Masked({"https://ghp_0123456789abcdef@host/a"}) == Words{"https://***@host/a"});
    CHECK(Masked({"https://0123456789abcdef01234567@host/a"}) == Words{"https://***@host/a"});
    CHECK(Masked({"https://git@host/a"}) == Words{"https://git@host/a"});
    CHECK(Masked({"https://host/a?b=1&token=abc&c=2"}) ==
          Words{"https://host/a?b=1&token=***&c=2"});
    CHECK(Masked({"https://host/a?sig=abc"}) == Words{"https://host/a?sig=***"});
    CHECK(Masked({"s3://a/b?X-Amz-Signature=abc"}) == Words{"s3://a/b?X-Amz-Signature=***"});
    CHECK(Masked({"https://host/token/a?b=1"}) == Words{"https://host/token/a?b=1"});
    CHECK(Masked({"Authorization: Bearer abc"}) == Words{"Authorization: Bearer ***"});
    CHECK(Masked({"--header=X-Api-Key: abc"}) == Words{"--header=X-Api-Key: ***"});
    CHECK(Masked({R"({"lr": 1, "token": "abc", "b": "c"})"}) ==
          Words{R"({"lr": 1, "token": "***", "b": "c"})"});
  }

  TEST_CASE("secrets are masked by their form") {
    CHECK(Masked({"ghp_0123456789abcdef"}) == Words{"***"});
    CHECK(Masked({"--with=hf_0123456789abcdef"}) == Words{"--with=***"});
    CHECK(Masked({"s3://bucket/a:b@c"}) == Words{"s3://bucket/a:b@c"});
  }

  TEST_CASE("lines of source that may hold a secret") {
    using stallscope::job::MayHoldSecret;
    for (const char* const line :
         {"api_key = 'x'", "login(token=\"x\")", "{'password': x}", "f('hf_0123456789abcdef')",
          "url = 'https://me:pass@host/a'", "TOKEN: str = x"}) {
      CHECK_MESSAGE(MayHoldSecret(line), line);
    }
    for (const char* const line :
         {"loader = DataLoader(data, num_workers=2)", "x = tokenizer(text, max_tokens=5)",
          "for key in keys: pass", "if token in known:", "    # a token", ""}) {
      CHECK_MESSAGE(!MayHoldSecret(line), line);
    }
  }

  TEST_CASE("what only sounds like a secret stays") {
    const Words plain{"--max-tokens",
                      "512",
                      "--tokenizer",
                      "bert",
                      "--keyboard=us",
                      "--keys",
                      "2",
                      "a=b",
                      "",
                      "--",
                      "-",
                      "=",
                      "hf_short",
                      "key.py",
                      "--monkey=1"};
    CHECK(Masked(plain) == plain);
  }
}
