//go:build tools

// The program that Kubernetes' specs run in their pods.
package main

import _ "k8s.io/kubernetes/test/images/agnhost"
