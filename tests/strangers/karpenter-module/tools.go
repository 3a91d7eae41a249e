//go:build tools

// Karpenter's core with the provider that makes nodes without machines, which tools/strangers builds from this module.
package tools

import _ "sigs.k8s.io/karpenter/kwok"
