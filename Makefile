# Everything that is done to Turnout. `make` alone shows the menu.
# Set-up happens by itself: .venv/.ready says that it is done for the files it depends on.

PYTHON_IN_VENV := .venv/bin/python
# More for the command that is run: make test ARGS="-k guard", make demo ARGS="--port 9000".
ARGS ?=
# What Turnout and its peers are measured by, side by side.
SCENARIOS := freshness sustained backlog start hot growth viewers memory

.DEFAULT_GOAL := help
.PHONY: help demo test test-cluster torture check check-deploy format bench bench-smoke bench-latency bench-switch \
	bench-crowd bench-takeover bench-page bench-document $(SCENARIOS:%=bench-%) lock clean

help: ## show this menu
	@echo 'Turnout: make …'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv/.ready ## run everything on this machine, with sample data, and open the page it names
	@.venv/bin/turnout demo $(ARGS)

test: .venv/.ready-dev node_modules/.ready ## run all tests: unit, live (real Kafka and Spark), clients, browsers
	@chromium=$$(scripts/chromium) && firefox=$$(scripts/firefox) && \
		CHROMIUM="$$chromium" FIREFOX="$$firefox" $(PYTHON_IN_VENV) -m pytest --ignore tests/cluster $(ARGS)

test-cluster: .venv/.ready-dev ## run Turnout on a real Spark cluster on this machine: a master and two workers
	@$(PYTHON_IN_VENV) -m pytest tests/cluster $(ARGS)

torture: .venv/.ready-dev ## kill, freeze and switch a real Turnout at random (ARGS="--seed 7 --minutes 30"; default 10)
	@$(PYTHON_IN_VENV) -m tests.torture $(ARGS)

check: .venv/.ready-dev node_modules/.ready ## formatting, lint, types
	@$(PYTHON_IN_VENV) -m ruff format --check .
	@$(PYTHON_IN_VENV) -m ruff check .
	@$(PYTHON_IN_VENV) -m mypy
	@npm run --silent check

check-deploy: .venv/.ready-dev ## what is in deploy/, as far as that goes without Docker and Kubernetes (needs Go)
	@scripts/check-deploy

format: .venv/.ready-dev node_modules/.ready ## format the code and mend what the linter can mend
	@$(PYTHON_IN_VENV) -m ruff format .
	@$(PYTHON_IN_VENV) -m ruff check --fix .
	@npm run --silent format

bench: .venv/.ready ## measure Turnout beside its peers, all scenarios, for hours (ARGS="--quick" to try it in minutes)
	@$(PYTHON_IN_VENV) -m bench.suite $(ARGS)
	$(if $(ARGS),,@$(PYTHON_IN_VENV) -m bench.switch)

$(SCENARIOS:%=bench-%): bench-%: .venv/.ready
	@$(PYTHON_IN_VENV) -m bench.suite $* $(ARGS)

bench-smoke: .venv/.ready ## is Turnout still as fast as it was, compared with a plain Spark script? (3 minutes)
	@$(PYTHON_IN_VENV) -m bench.smoke $(ARGS)

bench-latency: .venv/.ready ## measure: message produced -> row in the live table, and in a remote client
	@$(PYTHON_IN_VENV) -m bench.latency $(ARGS)

bench-switch: .venv/.ready ## measure: control message -> swapped, and what viewers see of it
	@$(PYTHON_IN_VENV) -m bench.switch $(ARGS)

bench-takeover: .venv/.ready ## measure: the Turnout that leads is killed -> another one shows what is sent since
	@$(PYTHON_IN_VENV) -m bench.takeover $(ARGS)

bench-crowd: .venv/.ready ## measure: 200 streams and 50 viewers at once, at 2,000 messages a second
	@$(PYTHON_IN_VENV) -m bench.crowd $(ARGS)

bench-page: .venv/.ready-dev ## measure: the page's first rows and scrolling, and what open pages cost
	@chromium=$$(scripts/chromium) && CHROMIUM="$$chromium" $(PYTHON_IN_VENV) -m bench.page $(ARGS)

bench-document: .venv/.ready ## put what was measured last (bench/results) into docs/performance.md
	@$(PYTHON_IN_VENV) -m bench.document

lock: .venv/.ready ## renew the lock files from pyproject.toml (ARGS=--upgrade: newest versions)
	@scripts/lock $(ARGS)

clean: ## remove what tools leave behind (.venv and .turnout stay)
	rm -rf build turnout.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf clients/typescript/dist examples/angular/dist examples/angular/.angular
	find turnout tests bench -name __pycache__ -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml requirements-build.lock requirements.lock java/ivy.xml
	@scripts/setup run
	@touch $@

.venv/.ready-dev: .venv/.ready requirements-dev.lock
	@scripts/setup dev
	@touch $@

node_modules/.ready: package.json package-lock.json
	@scripts/node
	@touch $@
