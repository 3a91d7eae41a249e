package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// testOwnServer uses `berth up --api-only` as envtest uses kube-apiserver: one API for one test, without any
// controller of a cluster. BERTH names the program.
func testOwnServer(t *testing.T) {
	program := os.Getenv("BERTH")
	if program == "" {
		t.Skip("BERTH names no program")
	}
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	server := exec.Command(program, "up", "--api-only", "--data-dir", filepath.Join(folder, "data"),
		"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Errorf("end of the server: %v", err)
		}
	}()
	waitForFile(t, kubeconfig)
	t.Setenv("KUBECONFIG", kubeconfig)
	s := newSetup(t)
	s.run("definitions", func(s *setup) {
		made, err := envtest.InstallCRDs(s.config, envtest.CRDInstallOptions{
			CRDs: []*apiextensionsv1.CustomResourceDefinition{widgetDefinition()}, ErrorIfPathMissing: true})
		s.ok(err, "install")
		s.equal(len(made), 1, "definitions")
	})
	s.run("reconciler", func(s *setup) {
		startManager(s, 0, "")
		direct, err := client.New(s.config, client.Options{Scheme: clientgoscheme.Scheme})
		s.ok(err, "client")
		object := widget("w", map[string]any{"size": int64(7)})
		object.SetNamespace(s.namespace)
		s.ok(direct.Create(s.ctx, object), "create")
		owned := &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: s.namespace, Name: "of-w"}
		s.eventually("the ConfigMap is made", func() (bool, error) {
			err := direct.Get(s.ctx, key, owned)
			return err == nil && owned.Data["size"] == "7", client.IgnoreNotFound(err)
		})
		// Without a garbage collector the owned object stays, as on kube-apiserver alone.
		s.ok(direct.Delete(s.ctx, object), "delete")
		s.eventually("the widget is gone", func() (bool, error) {
			return apierrors.IsNotFound(direct.Get(s.ctx, client.ObjectKeyFromObject(object), emptyWidget())), nil
		})
		s.ok(direct.Get(s.ctx, key, owned), "get the ConfigMap")
	})
	s.run("no controllers", func(s *setup) {
		nodes, err := s.client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
		s.ok(err, "list of nodes")
		s.equal(len(nodes.Items), 0, "nodes")
		s.ok(s.client.CoreV1().Namespaces().Delete(s.ctx, s.namespace, metav1.DeleteOptions{}), "delete the namespace")
		left, err := s.client.CoreV1().Namespaces().Get(s.ctx, s.namespace, metav1.GetOptions{})
		s.ok(err, "get the namespace")
		s.equal(left.Status.Phase, corev1.NamespaceTerminating, "phase")
	})
	s.run("definitions go", func(s *setup) {
		s.ok(envtest.UninstallCRDs(s.config, envtest.CRDInstallOptions{
			CRDs: []*apiextensionsv1.CustomResourceDefinition{widgetDefinition()}}), "uninstall")
	})
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	s := setup{T: t, ctx: t.Context()}
	s.eventually(path+" is written", func() (bool, error) {
		_, err := os.Stat(path)
		return err == nil, nil
	})
}
