//go:build tools

// Package tools names the program that tools/operators builds from this module.
package tools

import _ "github.com/kubeflow/spark-operator/v2/cmd/operator"
