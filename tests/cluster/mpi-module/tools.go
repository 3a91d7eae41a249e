//go:build tools

// Package tools names the program that tools/operators builds from this module.
package tools

import _ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
