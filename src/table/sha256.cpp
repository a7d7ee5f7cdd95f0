#include "table/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "table/byte_source.hpp"

namespace magva::input {

namespace {
EVP_MD_CTX* digest(void* context) { return static_cast<EVP_MD_CTX*>(context); }

void require(int openssl_status) {
  if (openssl_status != 1) throw std::runtime_error("OpenSSL could not compute a SHA-256 digest");
}
}  // namespace

void Sha256::Release::operator()(void* context) const { EVP_MD_CTX_free(digest(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr ? EVP_DigestInit_ex(digest(context_.get()), EVP_sha256(), nullptr) : 0);
}

void Sha256::update(const char* bytes, std::size_t size) {
  require(EVP_DigestUpdate(digest(context_.get()), bytes, size));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(digest(context_.get()), bytes.data(), &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4U];
    text += "0123456789abcdef"[bytes[i] & 0xFU];
  }
  return text;
}

std::string sha256_of_file(const std::string& path) {
  FileSource file(path);
  Sha256 sha;
  std::vector<char> buffer(std::size_t{1} << 18U);
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) sha.update(buffer.data(), got);
  return sha.hex();
}

}  // namespace magva::input
