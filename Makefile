# The front door. Each target installs the Debian packages that are missing, configures and builds.
JOBS ?= $(shell nproc)

.PHONY: build demo test test-sanitize test-clang lint format bench fuzz clean
build:
	@scripts/setup build
	@cmake --preset release -DMAGVA_TESTS=OFF -DMAGVA_QUICK=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: build
	@scripts/setup demo
	build/magva reproduce ionosphere --out results

test:
	@scripts/setup build test fuzz
	@cmake --preset release -DMAGVA_TESTS=ON -DMAGVA_QUICK=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	ctest --test-dir build --output-on-failure -j $(JOBS)

test-sanitize:
	@scripts/setup build test
	@cmake --preset sanitize >/dev/null
	@cmake --build --preset sanitize -j $(JOBS)
	ctest --test-dir build-sanitize --output-on-failure -j $(JOBS)

test-clang:
	@scripts/setup build test clang
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang -j $(JOBS)
	ctest --test-dir build-clang --output-on-failure -j $(JOBS)

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

# A long run of each fuzzer: make fuzz FUZZ_SECONDS=3600
FUZZ_SECONDS ?= 600
fuzz:
	@scripts/setup build test fuzz
	JOBS=$(JOBS) scripts/fuzz $(FUZZ_SECONDS)

format:
	@scripts/setup clang
	git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

clean:
	rm -rf build build-*
