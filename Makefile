# The front door. Each target installs the Debian packages that are missing, configures and builds.
JOBS ?= $(shell nproc)
CTEST = env TMPDIR=$$(scripts/memory-folder) ctest

.PHONY: build demo test wheel test-wheel docs build-sanitize test-sanitize test-sanitize-all test-tsan test-clang test-isa test-aarch64 package test-package lint check-format format bench build-gpu test-gpu bench-gpu fuzz clean
build:
	@scripts/setup build
	@cmake --preset release -DMAGVA_TESTS=OFF -DMAGVA_QUICK=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: build
	@scripts/setup demo
	build/magva reproduce ionosphere --out results

# The Python package is tested where PyPI can be reached.
test:
	@scripts/setup build test
	@if scripts/python-venv build/venv; then \
	  cmake --preset release -DMAGVA_TESTS=ON -DMAGVA_QUICK=ON -DMAGVA_CUDA=AUTO -DMAGVA_CUDA_ARCHITECTURES=90-real -DMAGVA_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/build/venv/bin/python >/dev/null; \
	else \
	  echo "the Python package is not tested: PyPI cannot be reached"; \
	  cmake --preset release -DMAGVA_TESTS=ON -DMAGVA_QUICK=ON -DMAGVA_CUDA=AUTO -DMAGVA_CUDA_ARCHITECTURES=90-real -DMAGVA_PYTHON=OFF >/dev/null; \
	fi
	@cmake --build --preset release -j $(JOBS)
	$(CTEST) --test-dir build --output-on-failure -j $(JOBS)

# A hundred times as slow under a sanitizer or an emulator, and nothing in it that other tests do not go through.
SLOW_TESTS = OverAMillionSteps|InAnyOrderOfRows

# Address and undefined behaviour sanitizers over the unit and property tests, and each fuzzer for some seconds;
# `test-sanitize-all`: over the statistical tests and the program, too.
build-sanitize:
	@scripts/setup build test fuzz
	@cmake --preset sanitize >/dev/null
	@cmake --build --preset sanitize --target magva_tests magva_fuzzers -j $(JOBS)

test-sanitize: build-sanitize
	$(CTEST) --test-dir build-sanitize -L 'unit|fuzz' -E '$(SLOW_TESTS)' --output-on-failure -j $(JOBS)

test-sanitize-all:
	@scripts/setup build test clang
	@cmake --preset sanitize -B build-sanitize-all -DMAGVA_TEST_FILES= >/dev/null
	@cmake --build build-sanitize-all -j $(JOBS)
	$(CTEST) --test-dir build-sanitize-all --output-on-failure -j $(JOBS)

# The thread sanitizer over workers, noise, fast paths and models. It cannot place its memory where addresses are randomised widely.
test-tsan:
	@scripts/setup build test
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(JOBS)
	$(shell setarch -R true 2>/dev/null && echo setarch -R) $(CTEST) --test-dir build-tsan -L unit -E '$(SLOW_TESTS)' --output-on-failure -j $(JOBS)

test-clang:
	@scripts/setup build test clang
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang -j $(JOBS)
	$(CTEST) --test-dir build-clang --output-on-failure -j $(JOBS)

# The promise of the same bits for every level of x86-64 that there is a library for.
test-isa:
	@scripts/setup build test qemu
	JOBS=$(JOBS) scripts/test-instruction-sets

# The engine and its unit tests, cross-compiled and run by qemu.
test-aarch64:
	@scripts/setup build qemu aarch64
	@scripts/sysroot-aarch64 build-sysroot-aarch64
	@cmake --preset aarch64 >/dev/null
	@cmake --build --preset aarch64 -j $(JOBS)
	$(CTEST) --test-dir build-aarch64 -L unit -E '$(SLOW_TESTS)' --output-on-failure -j $(JOBS)

# A Debian package that runs on any x86-64 machine, build-package/magva_*.deb, and one of the MPI plug-in, magva-mpi_*.deb
package:
	@scripts/setup build package
	@cmake --preset package >/dev/null
	@cmake --build --preset package -j $(JOBS)
	@cd build-package && cpack
	@ls -l build-package/magva*_*.deb

# The package in a bare Debian 12, and on an old processor.
test-package: package
	@scripts/setup qemu bare
	scripts/test-package build-package/magva_*.deb

# A source distribution and wheels for manylinux in dist/, by default for this machine's Python, and the wheel in a fresh virtual
# environment. make wheel PYTHONS="python3.11 python3.12": that of 3.12 is for all later ones, too.
PYTHONS ?= python3
wheel:
	@scripts/setup build test
	JOBS=$(JOBS) scripts/wheel dist $(PYTHONS)

test-wheel: wheel
	for python in $(PYTHONS); do scripts/test-wheel dist $$python || exit 1; done

# The documentation's site in site/, looked at in a browser. Nothing is fetched while it is built or read.
docs:
	@scripts/setup docs
	@scripts/python-venv build-docs/venv docs/requirements.txt
	build-docs/venv/bin/mkdocs build --strict --quiet
	scripts/check-docs site

lint:
	@scripts/setup build test clang
	@cmake --preset clang >/dev/null
	scripts/lint build-clang

# Micro benchmarks of models and steps, then the tasks of docs/performance.md beside NumPyro and plain Eigen.
bench:
	@scripts/setup build bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench -j $(JOBS)
	build-bench/magva_micro --benchmark_min_time=0.1
	bench/tasks/run.py build-bench

# The CUDA plug-in on this machine's GPU: its tests, and its benchmarks beside the processor and NumPyro.
build-gpu:
	@scripts/setup build test
	@cmake --preset gpu >/dev/null
	@cmake --build --preset gpu -j $(JOBS) --target magva_cuda magva_gpu_tests magva_gpu_bench

test-gpu: build-gpu
	build-gpu/magva_gpu_tests
	MAGVA_SANITIZED=1 compute-sanitizer --error-exitcode 1 build-gpu/magva_gpu_tests --gtest_filter='-*Fit*'
	scripts/racecheck build-gpu/magva_gpu_tests

bench-gpu: build-gpu
	build-gpu/magva_gpu_bench
	bench/gpu/numpyro_steps.py

# A long run of each fuzzer: make fuzz FUZZ_SECONDS=3600
FUZZ_SECONDS ?= 600
fuzz: build-sanitize
	scripts/fuzz build-sanitize $(FUZZ_SECONDS)

check-format:
	@scripts/setup format
	git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror

format:
	@scripts/setup format
	git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

clean:
	rm -rf build build-*
