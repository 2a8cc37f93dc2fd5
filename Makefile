# Two front doors: `make run` and `make test`. Both set up what a fresh machine lacks; the rest is CMake.
.PHONY: run test build install coverage clean

CMAKE := .venv/bin/cmake
CONFIGURE := $(CMAKE) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/.venv/bin/ninja \
  -DDAROPE_PYTHON=$(CURDIR)/.venv/bin/python

run: build
	@./build/darope compare configs/quick/quickstart.yaml

test:
	@./setup test
	@$(MAKE) --no-print-directory build/build.ninja
	@$(CMAKE) --build build
	@$(MAKE) --no-print-directory link
	@.venv/bin/ctest --test-dir build -j $$(nproc) --output-on-failure

build:
	@./setup
	@$(MAKE) --no-print-directory build/build.ninja
	@$(CMAKE) --build build --target darope python_package
	@$(MAKE) --no-print-directory link

# The program, its library, the Python package, the manual and completions: PREFIX=, DESTDIR=.
PREFIX ?= /usr/local
install:
	@[ -e build/darope ] || $(MAKE) --no-print-directory build
	@DESTDIR="$(DESTDIR)" $(CMAKE) --install build --prefix "$(abspath $(PREFIX))"
	@[ -z "$$SUDO_UID" ] || chown "$$SUDO_UID:$$SUDO_GID" build/install_manifest.txt

# Which lines the tests run, of C++ and of Python, and how few of them are too few. The folder lies beside
# .venv as build/ does, since programs find their Python by that.
coverage:
	@./setup test
	@$(CONFIGURE) -B build-coverage -DDAROPE_COVERAGE=ON -DDAROPE_CUDA=OFF .
	@$(CMAKE) --build build-coverage
	@.venv/bin/ctest --test-dir build-coverage -j $$(nproc) --output-on-failure
	@.venv/bin/gcovr --root . --filter src/ --sort uncovered-percent --fail-under-line 85 \
	  --gcov-ignore-parse-errors=suspicious_hits.warn_once_per_file build-coverage
	@.venv/bin/coverage combine -q --data-file=build-coverage/python.coverage build-coverage
	@.venv/bin/coverage report --data-file=build-coverage/python.coverage --fail-under=85

build/build.ninja: setup requirements/build.txt
	@$(CONFIGURE) -B build .
	@touch $@

# .venv/bin/python -c 'import darope' finds the package where the build leaves it.
.PHONY: link
link:
	@echo $(CURDIR)/build/python \
	  >$$(.venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/darope.pth

clean:
	rm -rf build build-coverage
	rm -f .venv/lib/python3*/site-packages/darope.pth
