// Tests of a Kubernetes API with client-go and controller-runtime, as operators use them: a program whose
// arguments and output are those of `go test`. KUBECONFIG names the API.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const (
	patience = 40 * time.Second // longest wait for a state on a busy machine
	poll     = 20 * time.Millisecond
)

var tests = []testing.InternalTest{
	{Name: "Discovery", F: testDiscovery},
	{Name: "TypedClient", F: testTypedClient},
	{Name: "Patch", F: testPatch},
	{Name: "Apply", F: testApply},
	{Name: "Subresources", F: testSubresources},
	{Name: "Pages", F: testPages},
	{Name: "Watch", F: testWatch},
	{Name: "Informers", F: testInformers},
	{Name: "LeaderElection", F: testLeaderElection},
	{Name: "DynamicClient", F: testDynamicClient},
	{Name: "MetadataClient", F: testMetadataClient},
	{Name: "Manager", F: testManager},
	{Name: "OwnServer", F: testOwnServer},
	{Name: "SpdyStreams", F: testSpdyStreams},
	{Name: "SpdyPortForward", F: testSpdyPortForward},
}

func main() {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	match := func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }
	testing.Main(match, tests, nil, nil)
}

// setup is what every test has: clients and a namespace of its own.
type setup struct {
	*testing.T
	ctx       context.Context
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
}

func loadConfig(t *testing.T) *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 1000 // limits that would hide the server's speed
	return config
}

func newSetup(t *testing.T) *setup {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	t.Cleanup(cancel)
	config := loadConfig(t)
	s := &setup{T: t, ctx: ctx, config: config, client: kubernetes.NewForConfigOrDie(config)}
	namespace, err := s.client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "client-go-"}}, metav1.CreateOptions{})
	s.ok(err, "create a namespace")
	s.namespace = namespace.Name
	t.Cleanup(func() {
		// The deadline of the test may be over.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.client.CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{})
	})
	return s
}

// run runs a part of the test under a name of its own; the context of the parent goes on.
func (s *setup) run(name string, part func(*setup)) {
	s.T.Run(name, func(t *testing.T) {
		inner := *s
		inner.T = t
		part(&inner)
	})
}

func (s *setup) ok(err error, what string) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *setup) equal(got, want any, what string) {
	s.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// refused checks that the error is of that kind.
func (s *setup) refused(err error, is func(error) bool, what string) {
	s.Helper()
	if !is(err) {
		s.Fatalf("%s: unexpected error %v", what, err)
	}
}

// eventually waits for the condition, whose error ends the wait.
func (s *setup) eventually(what string, condition func() (bool, error)) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.ctx, poll, patience, true,
		func(context.Context) (bool, error) { return condition() })
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *setup) makeConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	s.Helper()
	made, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(s.ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	s.ok(err, "create the ConfigMap "+name)
	return made
}

// makePodTemplate is the template of pods that no node runs.
func makePodTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"berth.dev/none": "here"},
			Containers:   []corev1.Container{{Name: "c", Image: "none"}},
		},
	}
}
