// Specs for the tests of this room.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "analyzer/spec/spec.h"

namespace stallscope::test {

// The pipeline of an image classifier, with a bit of everything.
extern const char* const kExample;

// kExample, read.
Spec ExampleSpec();

// A spec with these stages behind a synthetic source: R"({"name": "m", "map": {...}})".
std::string WithStages(const std::string& stages);

// One stage of each kind, named after it, all at their defaults; not valid, but it has every path.
Spec OneOfEach();

// Valid, and different for every draw: stages, their order, and every setting by what ListKnobs
// says about it.
Spec RandomSpec(std::mt19937_64& random);

// The error's line of a text that must not be read; "read" where it was.
std::string WhyNot(const std::string& text);

}  // namespace stallscope::test
