#include "collectors/job/mask.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "analyzer/spec/job_knobs.h"

namespace stallscope::job {
namespace {

constexpr std::string_view kBlanks = " \t\n;&|()\"'";

// "--Api-Key" is "api_key"
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(std::min(name.find_first_not_of('-'), name.size()))) {
    plain +=
        c == '-' || c == '.' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

bool NamesSecret(std::string_view name) {
  const std::string plain = Plain(name);
  for (const char* word :
       {"token", "secret", "passw", "passphrase", "credential", "apikey", "signature"}) {
    if (plain.find(word) != std::string::npos) {
      // Of language models: how many, not which.
      return !plain.ends_with("tokens") && plain.find("tokenize") == std::string::npos;
    }
  }
  for (const char* word : {"key", "auth", "pass", "sig"}) {
    if (plain == word || plain.ends_with(std::string("_") + word)) return true;
  }
  return plain == "authorization" || plain.ends_with("_authorization") || plain.ends_with("_pwd");
}

bool LooksSecret(std::string_view word) {
  constexpr size_t kShortest = 16;
  if (word.size() < kShortest) return false;
  for (const char* start : {"hf_", "ghp_", "gho_", "ghs_", "github_pat_", "sk-", "AKIA", "xoxb-",
                            "xoxp-", "glpat-", "eyJhbGci"}) {
    if (word.starts_with(start)) return true;
  }
  return false;
}

// https://user:password@host, https://token@host
void MaskUrl(std::string& word) {
  constexpr size_t kLongestUser = 20;
  const size_t scheme = word.find("://");
  if (scheme == std::string::npos) return;
  const size_t from = scheme + 3;
  const size_t end = std::min(word.find('/', from), word.size());
  const size_t at = word.rfind('@', end);
  const size_t colon = word.find(':', from);
  if (at == std::string::npos || at < from) return;
  if (colon < at) {
    word.replace(colon + 1, at - colon - 1, kMasked);
  } else if (at - from > kLongestUser || LooksSecret(word.substr(from, at - from))) {
    word.replace(from, at - from, kMasked);
  }
}

// The last name in a text: of "https://host/path?a", "a".
std::string_view LastName(std::string_view text) {
  const size_t before = text.find_last_of("?&#,{[/");
  return before == std::string_view::npos ? text : text.substr(before + 1);
}

// "Bearer" stands between "Authorization:" and its secret.
bool NamesScheme(std::string_view word) {
  const std::string plain = Plain(word);
  return plain == "bearer" || plain == "basic" || plain == "digest";
}

// One word behind another. `expects`: the word before was an option that takes a secret.
std::string MaskWord(std::string word, bool& expects) {
  const bool option = word.starts_with('-');
  if (expects && !option && !word.empty()) {
    expects = NamesScheme(word);
    return expects ? word : std::string(kMasked);
  }
  const size_t equals = word.find('=');
  expects = option && equals == std::string::npos && NamesSecret(word);
  if (equals != std::string::npos && NamesSecret(LastName(word.substr(0, equals)))) {
    return word.substr(0, equals + 1) + std::string(kMasked);
  }
  const size_t value = equals == std::string::npos ? 0 : equals + 1;
  if (LooksSecret(std::string_view(word).substr(value))) {
    return word.substr(0, value) + std::string(kMasked);
  }
  MaskUrl(word);
  return word;
}

std::string MaskText(const std::string& text) {
  std::string masked;
  bool expects = false;
  bool named = false;  // the word before names a secret, and a colon may follow
  for (size_t at = 0; at < text.size();) {
    const size_t from = std::min(text.find_first_not_of(kBlanks, at), text.size());
    masked += text.substr(at, from - at);
    at = std::min(text.find_first_of(kBlanks, from), text.size());
    if (from == at) break;
    const std::string word = text.substr(from, at - from);
    masked += word == ":" ? word : MaskWord(word, expects);
    if (word == ":") {
      expects = named;
      continue;
    }
    const bool colon = word.ends_with(':');
    const std::string_view name(word.data(), word.size() - (colon ? 1 : 0));
    named = NamesSecret(LastName(name.substr(std::min(name.rfind('=') + 1, name.size()))));
    expects = expects || (colon && named);
  }
  return masked;
}

}  // namespace

std::vector<std::string> Masked(std::vector<std::string> arguments) {
  bool expects = false;
  bool shell = false;  // the argument is one that a shell takes apart
  for (std::string& argument : arguments) {
    const bool words = argument.find_first_of(kBlanks) != std::string::npos;
    const size_t equals = argument.find('=');
    const bool named = !shell && equals != std::string::npos &&
                       NamesSecret(argument.substr(0, equals)) &&
                       argument.find_first_of(kBlanks) > equals;
    shell = argument == "-c";
    argument = words && !expects && !named ? MaskText(argument) : MaskWord(argument, expects);
  }
  return arguments;
}

bool MayHoldSecret(const std::string& line) {
  bool expects = false;
  std::string word;
  for (size_t at = 0; at <= line.size(); ++at) {
    const char c = at < line.size() ? line[at] : ' ';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty()) expects = NamesSecret(word);
    word.clear();
    // Skips what separates a name from its value: a quote, blanks.
    if ((c == '=' || c == ':') && expects) return true;
    if (c != ' ' && c != '\t' && c != '"' && c != '\'') expects = false;
  }
  return MaskText(line) != line;
}

}  // namespace stallscope::job
