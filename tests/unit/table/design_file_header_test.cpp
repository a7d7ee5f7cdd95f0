#include "table/design_file_header.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "magva/error.hpp"

namespace magva::design_file {
namespace {

Header small_header(bool weighted) {
  Header header;
  header.made_by = "a test";
  header.rows = 3;
  header.weighted = weighted;
  header.element = Element::float32;
  header.spec.response = {"y", table::ResponseKind::count, false, {}};
  header.spec.terms = {{"a", table::NumberTerm{1.5, 2}}, {"b", table::NumberTerm{}}};
  if (weighted) header.spec.weights = "w";
  header.notes = {"a note"};
  header.source = {"data.csv", 4, 5, std::string(64, 'a')};
  lay_out(header);
  return header;
}

std::string file_of(const Header& header) {
  std::string bytes = encode(header);
  bytes.resize(header.matrix.offset + header.matrix.bytes, '\0');
  return bytes;
}

void expect_refused(const std::string& file, const std::string& why) {
  try {
    decode(file, "d.magva");
    ADD_FAILURE() << "accepted, though " << why;
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("d.magva"), std::string::npos) << error.what();
  }
}

TEST(DesignFileHeader, SurvivesWritingAndReading) {
  for (const bool weighted : {false, true}) {
    const Header written = small_header(weighted);
    const Header read = decode(file_of(written), "d.magva");
    EXPECT_EQ(read.rows, 3);
    EXPECT_EQ(read.columns(), 3);
    EXPECT_EQ(read.element, Element::float32);
    EXPECT_EQ(read.weighted, weighted);
    EXPECT_EQ(read.spec.names(), written.spec.names());
    EXPECT_EQ(read.notes, written.notes);
    EXPECT_EQ(read.source.file, "data.csv");
    EXPECT_EQ(read.matrix.offset, written.matrix.offset);
    EXPECT_EQ(read.matrix.offset % 4096, 0U);
    EXPECT_EQ(read.matrix.bytes, 3U * 3U * 4U);
    EXPECT_EQ(encode(read), encode(written));
  }
}

TEST(DesignFileHeader, RefusesWhatIsNotWhole) {
  const std::string file = file_of(small_header(true));
  expect_refused("y,x\n1,2\n", "is no design file");
  expect_refused(file.substr(0, 100), "ends within its header");
  expect_refused(file.substr(0, 300), "ends within its header");
  expect_refused(file.substr(0, file.size() - 1), "cut short");
  expect_refused(file + '\0', "added to");
}

TEST(DesignFileHeader, RefusesOtherVersionsOrdersAndDamage) {
  const auto changed = [](std::size_t at, char to) {
    std::string file = file_of(small_header(false));
    file[at] = to;
    return file;
  };
  expect_refused(changed(8, 2), "has version 2");
  std::string swapped = file_of(small_header(false));
  std::reverse(swapped.begin() + 8, swapped.begin() + 12);
  std::reverse(swapped.begin() + 12, swapped.begin() + 16);
  expect_refused(swapped, "other byte order");
  expect_refused(changed(140, '#'), "digest");
  expect_refused(changed(30, 'z'), "digest");
  expect_refused(changed(17, '\x7f'), "header");
}

TEST(DesignFileHeader, RefusesAHeaderWhoseFiguresDoNotFit) {
  const auto altered = [](const std::function<void(Header&)>& change) {
    Header header = small_header(false);
    change(header);
    std::string bytes = encode(header);
    bytes.resize(header.matrix.offset + header.matrix.bytes, '\0');
    return bytes;
  };
  expect_refused(altered([](Header& h) { h.rows = 4; }), "sections");
  expect_refused(altered([](Header& h) { h.rows = -1; }), "rows");
  expect_refused(altered([](Header& h) { h.matrix.offset += 8; }), "sections");
  expect_refused(altered([](Header& h) { h.element = Element::float64; }), "sections");
  expect_refused(altered([](Header& h) { h.response.sha256 = "short"; }), "digits");
}

}  // namespace
}  // namespace magva::design_file
