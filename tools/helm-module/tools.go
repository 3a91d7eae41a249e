//go:build tools

// The helm that tools/helm builds from this module.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
