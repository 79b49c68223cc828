# The lines people type. `make run` needs Go and git and nothing else.
GO       ?= go
TOOLS    := -modfile=.ci/tools/go.mod
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
# The same for run, demo and build, so that each finds what another one compiled.
BUILDFLAGS := -trimpath -ldflags "$(LDFLAGS)"
RACE     ?= $(shell command -v $${CC:-gcc} >/dev/null 2>&1 && echo -race)
# The race detector leaves out libraries that share nothing and take most of its time: SQLite, and the highlighter's patterns.
UNRACED  := modernc.org/... github.com/alecthomas/chroma/v2/... github.com/dlclark/regexp2/v2/...
RACED    := $(RACE) $(if $(RACE),$(foreach lib,$(UNRACED),-gcflags=$(lib)=-race=false))
# For a package that hangs, not a goal: a slow machine takes twice the time of a fast one.
TIMEOUT  ?= 45m
# Packages that are tested at once. More would save little, and tests wait for each other's browsers on slow cores.
AT_ONCE  ?= $(shell getconf _NPROCESSORS_ONLN)
export BROWSER

.NOTPARALLEL:

.PHONY: help run demo build install test test-agents test-editors test-machines test-machines-faults test-cluster test-sandbox unit deps generate check format soak bench bench-ui licences sbom vuln vendor dist image test-dist test-journeys clean

help: ## these lines
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

run: ## build and start on http://127.0.0.1:8137 (ARGS="--help" passes flags)
	@CGO_ENABLED=0 $(GO) run $(BUILDFLAGS) ./cmd/ahphub $(ARGS)

demo: ## a sample repository with a session in every state
	@CGO_ENABLED=0 $(GO) run $(BUILDFLAGS) ./cmd/ahphub demo

build: ## bin/ahphub: one static binary
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -o bin/ahphub ./cmd/ahphub

install: build ## into PREFIX, /usr/local by default
	install -D -m 0755 bin/ahphub $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/ahphub

deps: ## what tests need: git and a browser (BROWSER=skip does without)
	@sh .ci/deps

generate: ## templ files, docs/support.md
	$(GO) tool $(TOOLS) templ generate -log-level warn
	$(GO) run ./e2e/support

check: ## generated files are current, gofmt, go vet, staticcheck; biome for scripts and style sheets
	@GO="$(GO)" sh .ci/check

format: ## format Go, scripts and style sheets
	gofmt -w $$(find . -name '*.go' -not -path './.ci/*')
	@sh .ci/check front --write

test: deps check unit ## everything, as the CI runs it
	@if [ "$$BROWSER" = skip ]; then echo "NOTE: the browser tests were skipped (BROWSER=skip)."; fi
	@if [ -z "$(RACE)" ]; then echo "NOTE: without the race detector, which needs a C compiler."; fi

unit:
	sh .ci/in-memory $(GO) test -json -p $(AT_ONCE) $(RACED) -ldflags=-w -exec 'env -u GOTMPDIR' -timeout $(TIMEOUT) ./... | $(GO) run ./e2e/support ran

test-agents: deps ## third-party agents from npm, in a browser and through the protocol
	agents=$$(sh .ci/agents/install free) && AHPHUB_AGENTS="$$agents" $(GO) test -timeout $(TIMEOUT) -count 1 -run TestAgents ./e2e && \
	  if command -v bwrap >/dev/null 2>&1; then AHPHUB_AGENTS="$$agents" AHPHUB_AGENTS_SANDBOX=1 $(GO) test -timeout $(TIMEOUT) -count 1 -run 'TestAgents(Example|Opencode)$$' ./e2e; fi

test-machines: deps ## the tests of the host with its computer at the other end of an encoded connection; kills and cuts of machines
	AHPHUB_TEST_PIPE=1 $(GO) test -timeout $(TIMEOUT) ./hub/host ./hub/host/terminals ./hub/mcp ./handlers/rpc ./handlers/pages ./hub/machine/...
	$(MAKE) test-machines-faults

test-machines-faults: deps ## three kills of a machine and of its hub each, and three cuts between them, all with processes
	$(GO) test -timeout $(TIMEOUT) -count 1 -run TestMachineFaults ./cmd/ahphub -machine-faults 3

test-cluster: deps ## ten rounds of faults in a cluster of three processes, and a history of all that was seen; faults planted in it
	$(GO) test -timeout $(TIMEOUT) -count 1 -v -run 'Test(Planted)?ClusterFaults$$' ./cmd/ahphub -cluster-rounds 10

# Journeys that start programs: in chats, terminals and for Git.
BOXED_JOURNEYS := Journey|Hello|Operations|ReviewFlow|TerminalInBrowser|CommandsOfATerminal|TerminalComesBack|TerminalOfAToolCall|ToolsOfTheHost|CommandsGoOnInTheBackground|KilledWhileACommandPrints|StopWhileATurnRuns

test-sandbox: deps ## journeys of the browser tests with the sandbox switched on, as users have it
	AHPHUB_E2E_SANDBOX=auto $(GO) test -timeout $(TIMEOUT) -count 1 -run '^Test($(BOXED_JOURNEYS))$$' ./e2e

test-editors: deps ## the real VS Code (code-server, from npm) in a browser, through the whole journey
	editors=$$(sh .ci/editors/install) && if [ -n "$$editors" ]; then \
	  AHPHUB_EDITORS="$$editors" $(GO) test -timeout $(TIMEOUT) -count 1 -run TestEditors ./e2e; fi

soak: deps ## long runs: 50 kills under load, third-party agents, every fuzz target for a minute (FUZZTIME)
	@GO="$(GO)" sh .ci/soak

bench: ## the figures of docs/performance.md
	$(GO) test -timeout 1h -run '^$$' -bench . -benchmem ./hub/... ./handlers/... ./cmd/ahphub ./e2e/bench

bench-ui: ## the figures of the pages, in a real browser
	$(GO) run ./e2e/bench_ui $(ARGS)

licences: ## docs/licences.md: what the program is made of; fails on a licence that is not allowed
	$(GO) run -C .ci/tools/supply ./licences -root $(CURDIR)

sbom: ## dist/: a bill of materials (CycloneDX) for each system, and the texts of all licences
	@GO="$(GO)" sh .ci/sbom

vuln: ## known vulnerabilities in what is used, from the database of the Go project on the Internet
	$(GO) build -C .ci/tools/supply -o $(CURDIR)/bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	bin/govulncheck ./cmd/ahphub

vendor: ## fetch the front-end libraries of static/vendor again and compare them
	sh static/vendor/fetch
	sh static/vendor/fetch e2e/testdata

dist: ## dist/: archives for Linux and macOS, deb, rpm, installer, bills of materials, checksums
	@GO="$(GO)" VERSION="$(VERSION)" sh .ci/dist/make

image: ## dist/: a container image, made without a daemon from what `make dist` wrote (root, debootstrap)
	@GO="$(GO)" sh .ci/dist/image

test-dist: ## starts what `make dist` wrote: archives, the deb in a fresh Debian, the image (root; some minutes)
	@GO="$(GO)" sh .ci/dist/check

test-journeys: ## from an empty Debian to a session with a real agent, timed: deb, archive, make run (root, after make dist)
	@for journey in deb archive source; do sh .ci/dist/journey $$journey || exit 1; done

clean:
	rm -rf bin dist
