//go:build tools

// Package tools names the program that tools/operators builds from this module. KubeRay's controllers do not
// compile with the libraries of the other operators.
package tools

import _ "github.com/ray-project/kuberay/ray-operator"
