//go:build sources

// Names the modules whose sources main.go reads, so that go.mod pins them.
package main

import (
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)
