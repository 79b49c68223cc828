// Package custom finds on disk what coding agents are customized with: rules, skills, agents, prompts, hooks and MCP
// servers, in the files that agents already read and in plugins of the Open Plugins layout.
//
// It tells what is there. Nothing it reads is run, and nothing is believed: everything is bounded, links that leave a root
// are not followed, and what cannot be read is told as a problem of that entry alone.
package custom
