// Package custom finds customizations of coding agents on disk: rules, skills, agents, prompts, hooks and MCP
// servers, in the files that agents already read and in plugins of the Open Plugins layout.
//
// It runs nothing that it reads, and trusts nothing: everything is bounded, links that leave a root
// are not followed, and an unreadable file is reported as a problem of its entry alone.
package custom
