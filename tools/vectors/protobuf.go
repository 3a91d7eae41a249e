package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var kinds = []struct {
	groupVersion string
	object       runtime.Object
}{
	{"v1", &corev1.Pod{}}, {"v1", &corev1.Node{}}, {"v1", &corev1.Namespace{}}, {"v1", &corev1.ConfigMap{}},
	{"v1", &corev1.Secret{}}, {"v1", &corev1.Service{}}, {"v1", &corev1.ServiceAccount{}},
	{"v1", &corev1.Event{}}, {"v1", &corev1.PodTemplate{}}, {"v1", &corev1.LimitRange{}},
	{"v1", &corev1.ResourceQuota{}}, {"v1", &corev1.Binding{}},
	{"batch/v1", &batchv1.Job{}}, {"batch/v1", &batchv1.CronJob{}},
	{"coordination.k8s.io/v1", &coordinationv1.Lease{}},
	{"events.k8s.io/v1", &eventsv1.Event{}},
	{"scheduling.k8s.io/v1", &schedulingv1.PriorityClass{}},
	{"node.k8s.io/v1", &nodev1.RuntimeClass{}},
	{"policy/v1", &policyv1.Eviction{}}, {"policy/v1", &policyv1.PodDisruptionBudget{}},
	{"autoscaling/v1", &autoscalingv1.Scale{}},
	{"rbac.authorization.k8s.io/v1", &rbacv1.ClusterRole{}},
	{"rbac.authorization.k8s.io/v1", &rbacv1.RoleBinding{}},
	{"authentication.k8s.io/v1", &authenticationv1.TokenRequest{}},
	{"authentication.k8s.io/v1", &authenticationv1.SelfSubjectReview{}},
	{"authorization.k8s.io/v1", &authorizationv1.SelfSubjectAccessReview{}},
	{"authorization.k8s.io/v1", &authorizationv1.SubjectAccessReview{}},
	{"admissionregistration.k8s.io/v1", &admissionv1.MutatingWebhookConfiguration{}},
	{"admissionregistration.k8s.io/v1", &admissionv1.ValidatingWebhookConfiguration{}},
	{"apiextensions.k8s.io/v1", &apiextensionsv1.CustomResourceDefinition{}},
	{"v1", &metav1.DeleteOptions{}}, {"batch/v1", &metav1.DeleteOptions{}},
}

// protobufVectors: each kind empty and with every field filled, as the protobuf body that client-go
// sends and as the JSON of the same object.
func protobufVectors(emit func(line)) {
	scheme := runtime.NewScheme()
	serializer := protobuf.NewSerializer(scheme, scheme)
	for _, kind := range kinds {
		for _, full := range []bool{false, true} {
			object := reflect.New(reflect.TypeOf(kind.object).Elem())
			name := object.Elem().Type().Name()
			if full {
				fill(object.Elem(), name, 0)
			}
			typed := object.Interface().(runtime.Object)
			version, kindName := kind.groupVersion, name
			group, rest, found := strings.Cut(version, "/")
			if !found {
				group, rest = "", version
			}
			gvk := metav1.GroupVersionKind{Group: group, Version: rest, Kind: kindName}
			typed.GetObjectKind().SetGroupVersionKind(
				metav1.SchemeGroupVersion.WithKind(kindName).GroupVersion().WithKind(kindName))
			setKind(typed, gvk)
			var body strings.Builder
			if err := serializer.Encode(typed, &body); err != nil {
				panic(err)
			}
			emit(line{"groupVersion": version, "kind": name, "full": full,
				"protobuf": []byte(body.String()), "json": json.RawMessage(must(json.Marshal(typed)))})
		}
	}
}

func setKind(object runtime.Object, gvk metav1.GroupVersionKind) {
	meta := reflect.ValueOf(object).Elem().FieldByName("TypeMeta").Addr().Interface().(*metav1.TypeMeta)
	meta.Kind = gvk.Kind
	meta.APIVersion = gvk.Version
	if gvk.Group != "" {
		meta.APIVersion = gvk.Group + "/" + gvk.Version
	}
}

var instant = time.Date(2026, 11, 20, 7, 3, 22, 589518000, time.UTC)

// fill sets every field to a value other than zero, equal for equal types.
func fill(v reflect.Value, name string, depth int) {
	switch leaf := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*leaf = resource.MustParse("1500m")
		return
	case *metav1.Time:
		*leaf = metav1.NewTime(instant)
		return
	case *metav1.MicroTime:
		*leaf = metav1.NewMicroTime(instant)
		return
	case *metav1.Duration:
		leaf.Duration = 90*time.Minute + 1500*time.Millisecond
		return
	case *intstr.IntOrString:
		*leaf = intstr.FromString("50%")
		if len(name)%2 == 0 {
			*leaf = intstr.FromInt32(-7)
		}
		return
	case *metav1.FieldsV1:
		*leaf = metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}
		return
	case *runtime.RawExtension:
		leaf.Raw = []byte(`{"raw":[1,"x"]}`)
		return
	case *apiextensionsv1.JSON:
		leaf.Raw = []byte(`{"json":true}`)
		return
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		leaf.Allows = true
		return
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		leaf.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
		return
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		leaf.Property = []string{"a", "b"}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.ToLower(name) + "é")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(len(name)) - 12)
		if v.Int() == 0 {
			v.SetInt(1 << 30)
		}
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Pointer:
		if depth > 12 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 255, 'x'})
			return
		}
		if depth > 12 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		if v.Type().Elem().Kind() == reflect.Struct {
			v.SetLen(1)
		}
		for i := range v.Len() {
			fill(v.Index(i), name, depth+1)
		}
	case reflect.Map:
		if depth > 12 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, name, depth+1)
		v.SetMapIndex(reflect.ValueOf("k/"+name).Convert(v.Type().Key()), element)
	case reflect.Struct:
		fillStruct(v, depth)
	}
}

func fillStruct(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[apiextensionsv1.JSONSchemaProps]() && depth > 6 {
		v.FieldByName("Type").SetString("string")
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.IsExported() && field.Name != "TypeMeta" {
			fill(v.Field(i), field.Name, depth+1)
		}
	}
}
