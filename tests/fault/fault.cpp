// Makes one call of the system's fail: LD_PRELOAD this and set MAGVA_FAULT=CALL:K, for the K-th call of
// write, fsync, rename, mmap or malloc. K = 0 fails none; MAGVA_FAULT_COUNT names a file for the number of
// calls.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

enum Call { kWrite, kFsync, kRename, kMmap, kMalloc, kNone };
constexpr const char* kNames[] = {"write", "fsync", "rename", "mmap", "malloc"};

// No memory is asked for, and nothing but plain data is used: malloc itself is one of the calls.
Call chosen = kNone;
long wanted = 0;
std::atomic<long> calls{0};
std::atomic<bool> in_main{false};
using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

// What is initialised before main() has nobody to catch what it throws.
int counted_main(int count, char** words, char** environment) {
  in_main = true;
  return real_main(count, words, environment);
}

__attribute__((constructor)) void read_environment() {
  const char* text = getenv("MAGVA_FAULT");
  if (text == nullptr) return;
  for (int i = 0; i < kNone; ++i) {
    const size_t length = strlen(kNames[i]);
    if (strncmp(text, kNames[i], length) != 0 || text[length] != ':') continue;
    wanted = atol(text + length + 1);
    chosen = static_cast<Call>(i);
  }
}

__attribute__((destructor)) void write_count() {
  const char* name = getenv("MAGVA_FAULT_COUNT");
  if (name == nullptr) return;
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld", calls.load());
  chosen = kNone;
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0) return;
  if (write(file, text, static_cast<size_t>(size)) != size) _exit(99);
  close(file);
}

bool fails(Call call, int error) {
  if (!in_main || call != chosen || ++calls != wanted) return false;
  errno = error;
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int count, char** words, void (*init)(), void (*fini)(), void (*loader)(),
                      void* stack) {
  real_main = main;
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(counted_main, count, words, init, fini, loader, stack);
}

ssize_t write(int file, const void* data, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return file > STDERR_FILENO && fails(kWrite, ENOSPC) ? -1 : real(file, data, size);
}

ssize_t writev(int file, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  return file > STDERR_FILENO && fails(kWrite, ENOSPC) ? -1 : real(file, parts, count);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return fails(kWrite, ENOSPC) ? -1 : real(file, data, size, offset);
}

int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails(kFsync, EIO) ? -1 : real(file);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails(kRename, EIO) ? -1 : real(from, to);
}

int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  static const auto real = next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(kRename, EIO) ? -1 : real(a, from, b, to, flags);
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  static const auto real = next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap");
  return fails(kMmap, ENOMEM) ? MAP_FAILED : real(address, size, protection, flags, file, offset);
}

void* malloc(size_t size) noexcept { return fails(kMalloc, ENOMEM) ? nullptr : __libc_malloc(size); }

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return fails(kMalloc, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  if (fails(kMalloc, ENOMEM)) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

}  // extern "C"
