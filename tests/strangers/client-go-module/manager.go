package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const widgetFinalizer = "strangers.berth.dev/cleanup"

var widgetKind = schema.GroupVersionKind{Group: widgets.Group, Version: widgets.Version, Kind: "Widget"}

func emptyWidget() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(widgetKind)
	return object
}

// widgetReconciler keeps a ConfigMap per widget, tells the size in the status, and cleans up behind a finalizer.
type widgetReconciler struct{ client.Client }

func (r *widgetReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := emptyWidget()
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.GetDeletionTimestamp().IsZero() {
		controllerutil.RemoveFinalizer(object, widgetFinalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, object))
	}
	if controllerutil.AddFinalizer(object, widgetFinalizer) {
		if err := r.Update(ctx, object); err != nil {
			return ctrl.Result{}, err
		}
	}
	size, _, _ := unstructured.NestedInt64(object.Object, "spec", "size")
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "of-" + request.Name, Namespace: request.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		owned.Data = map[string]string{"size": strconv.FormatInt(size, 10)}
		return controllerutil.SetControllerReference(object, owned, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	before := object.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, size, "status", "size"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, object, client.MergeFrom(before))
}

func (r *widgetReconciler) setUp(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).Named("widget").For(emptyWidget()).Owns(&corev1.ConfigMap{}).Complete(r)
}

// reviewWidget paints widgets without a color and refuses black ones.
type reviewWidget struct{}

func (reviewWidget) Default(_ context.Context, object *unstructured.Unstructured) error {
	if color, _, _ := unstructured.NestedString(object.Object, "spec", "color"); color == "" {
		return unstructured.SetNestedField(object.Object, "green", "spec", "color")
	}
	return nil
}

func (reviewWidget) ValidateCreate(_ context.Context, object *unstructured.Unstructured) (admission.Warnings, error) {
	switch color, _, _ := unstructured.NestedString(object.Object, "spec", "color"); color {
	case "black":
		return nil, apierrors.NewForbidden(widgets.GroupResource(), object.GetName(), fmt.Errorf("black is taken"))
	case "grey":
		return admission.Warnings{"grey is dull"}, nil
	}
	return nil, nil
}

func (r reviewWidget) ValidateUpdate(ctx context.Context, _, object *unstructured.Unstructured) (admission.Warnings, error) {
	return r.ValidateCreate(ctx, object)
}

func (reviewWidget) ValidateDelete(context.Context, *unstructured.Unstructured) (admission.Warnings, error) {
	return nil, nil
}

// writeCertificate writes tls.crt and tls.key of a server on loopback and returns the certificate.
func writeCertificate(s *setup, folder string) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.ok(err, "key")
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "strangers"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	s.ok(err, "certificate")
	private, err := x509.MarshalPKCS8PrivateKey(key)
	s.ok(err, "private key")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	s.ok(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600), "write the certificate")
	s.ok(os.WriteFile(filepath.Join(folder, "tls.key"),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600), "write the key")
	return certificate
}

// registerReviews makes the API ask the manager's webhook server about the test's widgets.
func registerReviews(s *setup, port int, authority []byte) {
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: authority,
			URL: ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))}
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{widgets.Group}, APIVersions: []string{"v1"},
			Resources: []string{"widgets"}}}}
	own := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}
	none := admissionregistrationv1.SideEffectClassNone
	api := s.client.AdmissionregistrationV1()
	meta := metav1.ObjectMeta{Name: s.namespace}
	_, err := api.MutatingWebhookConfigurations().Create(s.ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "paint.strangers.berth.dev",
			ClientConfig: at("/mutate"), Rules: rules, NamespaceSelector: own, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
	s.ok(err, "mutating webhook")
	_, err = api.ValidatingWebhookConfigurations().Create(s.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "check.strangers.berth.dev",
			ClientConfig: at("/validate"), Rules: rules, NamespaceSelector: own, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
	s.ok(err, "validating webhook")
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = api.MutatingWebhookConfigurations().Delete(ctx, s.namespace, metav1.DeleteOptions{})
		_ = api.ValidatingWebhookConfigurations().Delete(ctx, s.namespace, metav1.DeleteOptions{})
	})
}

func freePort(s *setup) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.ok(err, "listen")
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startManager runs a manager of widgets until the test ends; with a folder of certificates it serves reviews, too.
func startManager(s *setup, port int, certificates string) ctrl.Manager {
	options := ctrl.Options{
		Scheme:                        clientgoscheme.Scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "widgets.strangers.berth.dev",
		LeaderElectionNamespace:       s.namespace,
		LeaderElectionReleaseOnCancel: true,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		Controller:                    config.Controller{SkipNameValidation: ptr.To(true)},
	}
	if certificates != "" {
		options.WebhookServer = webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certificates})
	}
	manager, err := ctrl.NewManager(s.config, options)
	s.ok(err, "manager")
	s.ok((&widgetReconciler{manager.GetClient()}).setUp(manager), "controller")
	if certificates != "" {
		// By hand: the builder makes webhooks of kinds in the scheme alone.
		server, scheme := manager.GetWebhookServer(), manager.GetScheme()
		server.Register("/mutate", admission.WithDefaulter[*unstructured.Unstructured](scheme, reviewWidget{}))
		server.Register("/validate", admission.WithValidator[*unstructured.Unstructured](scheme, reviewWidget{}))
	}
	s.ok(manager.GetFieldIndexer().IndexField(s.ctx, &corev1.ConfigMap{}, "size", func(object client.Object) []string {
		return []string{object.(*corev1.ConfigMap).Data["size"]}
	}), "index")
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("end of the manager: %v", err)
		}
	})
	return manager
}

func testManager(t *testing.T) {
	s := newSetup(t)
	installWidgets(s)
	folder, port := t.TempDir(), freePort(s)
	authority := writeCertificate(s, folder)
	manager := startManager(s, port, folder)
	direct, err := client.New(s.config, client.Options{Scheme: clientgoscheme.Scheme})
	s.ok(err, "client")
	s.eventually("the webhook server listens", func() (bool, error) {
		return manager.GetWebhookServer().StartedChecker()(&http.Request{}) == nil, nil
	})
	registerReviews(s, port, authority)

	key := client.ObjectKey{Namespace: s.namespace, Name: "w"}
	made := widget("w", map[string]any{"size": int64(3)})
	made.SetNamespace(s.namespace)
	owned := &corev1.ConfigMap{}
	ownedKey := client.ObjectKey{Namespace: s.namespace, Name: "of-w"}
	hasSize := func(size string) func() (bool, error) {
		return func() (bool, error) {
			err := direct.Get(s.ctx, ownedKey, owned)
			return err == nil && owned.Data["size"] == size, client.IgnoreNotFound(err)
		}
	}
	s.run("mutating webhook", func(s *setup) {
		s.ok(direct.Create(s.ctx, made), "create")
		color, _, _ := unstructured.NestedString(made.Object, "spec", "color")
		s.equal(color, "green", "color")
	})
	s.run("validating webhook", func(s *setup) {
		black := widget("black", map[string]any{"color": "black"})
		black.SetNamespace(s.namespace)
		err := direct.Create(s.ctx, black)
		s.refused(err, apierrors.IsForbidden, "create")
		s.equal(strings.Contains(err.Error(), "black is taken"), true, err.Error())
	})
	s.run("owned object", func(s *setup) {
		s.eventually("the ConfigMap is made", hasSize("3"))
		s.equal(metav1.GetControllerOf(owned).Kind, "Widget", "owner")
		s.ok(direct.Delete(s.ctx, owned.DeepCopy()), "delete the ConfigMap")
		s.eventually("the ConfigMap is made again", hasSize("3"))
	})
	s.run("update and status", func(s *setup) {
		s.ok(direct.Get(s.ctx, key, made), "get")
		before := made.DeepCopy()
		s.ok(unstructured.SetNestedField(made.Object, int64(4), "spec", "size"), "set")
		s.ok(direct.Patch(s.ctx, made, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})), "patch")
		s.eventually("the ConfigMap follows", hasSize("4"))
		s.eventually("the status follows", func() (bool, error) {
			err := direct.Get(s.ctx, key, made)
			size, _, _ := unstructured.NestedInt64(made.Object, "status", "size")
			return size == 4, err
		})
	})
	s.run("cached reads by an index", func(s *setup) {
		s.eventually("the cache has the ConfigMap", func() (bool, error) {
			found := &corev1.ConfigMapList{}
			err := manager.GetClient().List(s.ctx, found, client.InNamespace(s.namespace), client.MatchingFields{"size": "4"})
			return len(found.Items) == 1, err
		})
	})
	s.run("lease", func(s *setup) {
		lease, err := s.client.CoordinationV1().Leases(s.namespace).Get(s.ctx, "widgets.strangers.berth.dev", metav1.GetOptions{})
		s.ok(err, "lease")
		s.equal(*lease.Spec.HolderIdentity != "", true, "held")
	})
	s.run("finalizer and garbage", func(s *setup) {
		s.ok(direct.Delete(s.ctx, made), "delete")
		s.eventually("the widget is gone", func() (bool, error) {
			return apierrors.IsNotFound(direct.Get(s.ctx, key, emptyWidget())), nil
		})
		s.eventually("the ConfigMap is gone", func() (bool, error) {
			return apierrors.IsNotFound(direct.Get(s.ctx, ownedKey, owned)), nil
		})
	})
}
