//go:build tools

// Package tools names the Go pulsarctl, which clusters_test.go builds in a module of its own: it needs old libraries.
package tools

import _ "github.com/streamnative/pulsarctl"
