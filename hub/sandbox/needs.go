package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// mostMissing bounds the needs that Missing returns.
const mostMissing = 4

// networkPrograms are programs that need a network, with the arguments that need it; nil: always.
var networkPrograms = map[string][]string{"curl": nil, "wget": nil, "ssh": nil, "scp": nil, "rsync": nil, "ping": nil,
	"gh": nil, "npm": {"install", "i", "ci", "publish"}, "pnpm": {"install", "add"}, "yarn": {"install", "add"},
	"npx": nil, "pip": {"install"}, "pip3": {"install"}, "uv": {"pip", "sync", "add"},
	"cargo": {"install", "fetch", "publish"},
	"go":    {"get", "install"}, "git": {"clone", "fetch", "pull", "push", "ls-remote"}}

// privilegedPrograms are programs that need privileges, which no sandbox gives.
var privilegedPrograms = []string{"sudo", "su", "doas", "docker", "podman", "systemctl", "mount", "apt", "apt-get",
	"dnf"}

// system are directories that every sandbox shows.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/etc", "/proc", "/dev", "/sys", "/tmp",
	"/var/tmp"}

// Tools lists paths of tool chains and shells below a home directory, without secrets. Every sandbox shows them.
var Tools = []string{".nvm", ".volta", ".bun", ".deno", ".cargo/bin", ".cargo/env", ".rustup", "go/bin", ".local/bin",
	".local/lib", ".local/share/pnpm", ".local/share/mise", ".local/share/uv", ".asdf", ".pyenv", ".rbenv", ".sdkman",
	".npm-global", ".fnm", ".tool-versions", ".gitconfig", ".config/git", ".bashrc", ".bash_profile", ".bash_aliases",
	".profile", ".zshrc", ".zshenv", ".zprofile", ".config/fish", ".inputrc", ".vimrc", ".editorconfig"}

// Missing guesses from a command line what it needs that the sandbox lacks, for people. It does not parse shell syntax:
// the result is only a hint for the approver of the command.
func (p *Policy) Missing(command, home string) (needs []string) {
	add := func(need string) {
		if !slices.Contains(needs, need) && len(needs) < mostMissing {
			needs = append(needs, need)
		}
	}
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>\"'`=", r) })
	for i, word := range words {
		name := filepath.Base(word)
		if slices.Contains(privilegedPrograms, word) {
			add(word + ", which needs rights")
		}
		arguments, known := networkPrograms[name]
		if known && p.Network == Closed && (arguments == nil || i+1 < len(words) &&
			slices.Contains(arguments, words[i+1])) {
			add("the network")
		}
		if path := pathOf(word, home); path != "" && !p.shows(path, home) {
			add(path)
		}
	}
	return needs
}

// pathOf returns the absolute path in a word of a command, or "".
func pathOf(word, home string) string {
	for _, tilde := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(word, tilde); ok && home != "" && (rest == "" || rest[0] == '/') {
			word = home + rest
		}
	}
	if len(word) < 2 || word[0] != '/' || strings.HasPrefix(word, "//") || strings.ContainsAny(word, "*?$\\") {
		return ""
	}
	return filepath.Clean(word)
}

// shows reports whether a path is in the sandbox, or would be created there. The sandbox has its own home directory,
// without most of the user's files.
func (p *Policy) shows(path, home string) bool {
	below := func(dir string) bool { return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }
	if slices.ContainsFunc(slices.Concat(p.Write, p.Read, p.Git), below) {
		return true
	}
	rel, err := filepath.Rel(home, path)
	if home == "" || err != nil || !filepath.IsLocal(rel) {
		return slices.ContainsFunc(system, below)
	}
	if rel == "." {
		return true
	}
	return slices.ContainsFunc(slices.Concat(p.Home, p.HomeRead, Tools), func(shown string) bool {
		return rel == shown || strings.HasPrefix(rel, shown+"/")
	})
}
