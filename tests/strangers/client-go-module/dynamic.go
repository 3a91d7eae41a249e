package main

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/utils/ptr"
)

// dynamicPath is the path of a version, for clients of scales.
var dynamicPath = dynamic.LegacyAPIPathResolverFunc

func fieldsOf(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

var widgets = schema.GroupVersionResource{Group: "strangers.berth.dev", Version: "v1", Resource: "widgets"}

// widgetDefinition is a kind with a default, a rule, a status and a scale.
func widgetDefinition() *apiextensionsv1.CustomResourceDefinition {
	number := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int32"}
	spec := apiextensionsv1.JSONSchemaProps{
		Type:    "object",
		Default: &apiextensionsv1.JSON{Raw: []byte("{}")},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size": {Type: "integer", Format: "int32", Default: &apiextensionsv1.JSON{Raw: []byte("1")},
				Minimum: ptr.To(0.0), Maximum: ptr.To(100.0)},
			"color": {Type: "string", XValidations: apiextensionsv1.ValidationRules{
				{Rule: "oldSelf == '' || self == oldSelf", Message: "color is immutable"}}},
		},
	}
	status := apiextensionsv1.JSONSchemaProps{Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": number}}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.strangers.berth.dev"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgets.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status}}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{
						SpecReplicasPath: ".spec.size", StatusReplicasPath: ".status.size"}},
			}},
		},
	}
}

// installWidgets makes the kind known, if it is not; tests share it.
func installWidgets(s *setup) {
	s.Helper()
	definitions := apiextensions.NewForConfigOrDie(s.config).ApiextensionsV1().CustomResourceDefinitions()
	_, err := definitions.Create(s.ctx, widgetDefinition(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
	s.eventually("the definition is established", func() (bool, error) {
		now, err := definitions.Get(s.ctx, "widgets.strangers.berth.dev", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}

func widget(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "strangers.berth.dev/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name}, "spec": spec}}
}

func testDynamicClient(t *testing.T) {
	s := newSetup(t)
	installWidgets(s)
	client := dynamic.NewForConfigOrDie(s.config)
	mine := client.Resource(widgets).Namespace(s.namespace)
	s.run("defaults", func(s *setup) {
		made, err := mine.Create(s.ctx, widget("w", map[string]any{"color": "red"}), metav1.CreateOptions{})
		s.ok(err, "create")
		size, _, _ := unstructured.NestedInt64(made.Object, "spec", "size")
		s.equal(size, 1, "size")
		s.equal(made.GetGeneration(), 1, "generation")
	})
	s.run("rules", func(s *setup) {
		_, err := mine.Create(s.ctx, widget("big", map[string]any{"size": int64(101)}), metav1.CreateOptions{})
		s.refused(err, apierrors.IsInvalid, "create beyond the maximum")
		_, err = mine.Patch(s.ctx, "w", types.MergePatchType, []byte(`{"spec":{"color":"blue"}}`), metav1.PatchOptions{})
		s.refused(err, apierrors.IsInvalid, "change of an immutable field")
	})
	s.run("unknown fields", func(s *setup) {
		_, err := mine.Create(s.ctx, widget("odd", map[string]any{"colour": "red"}),
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		s.refused(err, apierrors.IsBadRequest, "create with an unknown field")
	})
	s.run("status", func(s *setup) {
		now, err := mine.Get(s.ctx, "w", metav1.GetOptions{})
		s.ok(err, "get")
		now.Object["status"] = map[string]any{"size": int64(1)}
		now, err = mine.UpdateStatus(s.ctx, now, metav1.UpdateOptions{})
		s.ok(err, "update of the status")
		s.equal(now.GetGeneration(), 1, "generation")
		scale, err := mine.Get(s.ctx, "w", metav1.GetOptions{}, "scale")
		s.ok(err, "scale")
		s.equal(scale.GetKind(), "Scale", "kind")
	})
	s.run("apply", func(s *setup) {
		applied, err := mine.Apply(s.ctx, "w", widget("w", map[string]any{"size": int64(5)}),
			metav1.ApplyOptions{FieldManager: "one", Force: true})
		s.ok(err, "apply")
		s.equal(applied.GetGeneration(), 2, "generation")
		_, err = mine.Apply(s.ctx, "w", widget("w", map[string]any{"size": int64(6)}), metav1.ApplyOptions{FieldManager: "two"})
		s.refused(err, apierrors.IsConflict, "apply of another manager")
	})
	s.run("informer", func(s *setup) {
		ctx, cancel := context.WithCancel(s.ctx)
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, s.namespace, nil)
		informer := factory.ForResource(widgets)
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		defer cancel()
		s.eventually("the informer has the widget", func() (bool, error) {
			_, err := informer.Lister().ByNamespace(s.namespace).Get("w")
			return err == nil, nil
		})
	})
	s.run("built-in kinds", func(s *setup) {
		maps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(s.namespace)
		s.makeConfigMap("plain", map[string]string{"a": "b"})
		found, err := maps.List(s.ctx, metav1.ListOptions{FieldSelector: "metadata.name=plain"})
		s.ok(err, "list")
		s.equal(len(found.Items), 1, "items")
		s.equal(found.Items[0].GetKind(), "ConfigMap", "kind of an item")
	})
}

func testMetadataClient(t *testing.T) {
	s := newSetup(t)
	client := metadata.NewForConfigOrDie(s.config)
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	maps := client.Resource(resource).Namespace(s.namespace)
	s.makeConfigMap("m", map[string]string{"secret": "data"})
	s.run("get and list", func(s *setup) {
		found, err := maps.Get(s.ctx, "m", metav1.GetOptions{})
		s.ok(err, "get")
		s.equal(found.UID != "", true, "uid")
		list, err := maps.List(s.ctx, metav1.ListOptions{FieldSelector: "metadata.name=m"})
		s.ok(err, "list")
		s.equal(len(list.Items), 1, "items")
	})
	s.run("patch", func(s *setup) {
		patched, err := maps.Patch(s.ctx, "m", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
			metav1.PatchOptions{})
		s.ok(err, "patch")
		s.equal(patched.Labels["a"], "b", "label")
	})
	s.run("informer", func(s *setup) {
		ctx, cancel := context.WithCancel(s.ctx)
		factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, s.namespace, nil)
		informer := factory.ForResource(resource)
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		defer cancel()
		s.eventually("the informer has the object", func() (bool, error) {
			_, err := informer.Lister().ByNamespace(s.namespace).Get("m")
			return err == nil, nil
		})
	})
	s.run("delete collection", func(s *setup) {
		s.ok(maps.DeleteCollection(s.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}), "delete")
		_, err := maps.Get(s.ctx, "m", metav1.GetOptions{})
		s.refused(err, apierrors.IsNotFound, "get")
	})
}
