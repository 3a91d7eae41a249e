package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The objects here have one version and no defaults: conversion changes nothing.
type identity struct{}

func (identity) Convert(in, out, context any) error { panic("not used") }
func (identity) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (identity) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
func (identity) Default(runtime.Object) {}
func (identity) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	return u, nil
}

type step struct {
	operation, manager, subresource string
	force                           bool
	object                          string
}

const widgetSchema = `{"type":"object","x-kubernetes-group-version-kind":[{"group":"x.dev","version":"v1","kind":"Widget"}],
"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},
"metadata":{"type":"object","properties":{"name":{"type":"string"},"namespace":{"type":"string"},"uid":{"type":"string"},
  "resourceVersion":{"type":"string"},"generation":{"type":"integer"},
  "managedFields":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
  "labels":{"type":"object","additionalProperties":{"type":"string"}},"annotations":{"type":"object","additionalProperties":{"type":"string"}}}},
"spec":{"type":"object","properties":{
  "a":{"type":"string"},"num":{"type":"integer"},
  "nested":{"type":"object","properties":{"p":{"type":"string"},"q":{"type":"string"}}},
  "whole":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"p":{"type":"string"},"q":{"type":"string"}}},
  "table":{"type":"object","additionalProperties":{"type":"string"}},
  "plain":{"type":"array","items":{"type":"string"}},
  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
    "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"value":{"type":"string"},
      "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}},
  "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],
    "items":{"type":"object","required":["port"],"properties":{"port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},"host":{"type":"string"}}}},
  "open":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
"status":{"type":"object","properties":{"phase":{"type":"string"},"count":{"type":"integer"}}}}}`

func widgetConverter() managedfields.TypeConverter {
	var s spec.Schema
	if err := json.Unmarshal([]byte(widgetSchema), &s); err != nil {
		panic(err)
	}
	return must(managedfields.NewTypeConverter(map[string]*spec.Schema{"dev.x.v1.Widget": &s}, false))
}

func parse(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		panic(text + ": " + err.Error())
	}
	return u
}

// play runs the steps on one object and emits the object and its managers after each.
func play(emit func(line), name string, converter managedfields.TypeConverter, kind schema.GroupVersionKind, steps []step) {
	var live *unstructured.Unstructured
	var out []line
	for i, s := range steps {
		fm := must(managedfields.NewDefaultFieldManager(converter, identity{}, identity{}, identity{}, kind, kind.GroupVersion(), s.subresource, nil))
		base := live
		if base == nil {
			base = &unstructured.Unstructured{Object: map[string]any{}}
			base.SetGroupVersionKind(kind)
		}
		base = base.DeepCopy()
		var result runtime.Object
		var err error
		object := parse(s.object)
		if s.operation == "apply" {
			result, err = fm.Apply(base, object, s.manager, s.force)
		} else {
			if live != nil {
				object.SetUID("u")
			}
			result, err = fm.Update(base, object, s.manager)
		}
		l := line{"operation": s.operation, "manager": s.manager, "subresource": s.subresource,
			"force": s.force, "object": json.RawMessage(s.object)}
		if err != nil {
			l["error"] = err.Error()
		} else {
			live = result.(*unstructured.Unstructured)
			live.SetUID("u")
			fixTimes(live, i)
			dropNulls(live.Object)
			l["result"] = live.DeepCopy().Object
		}
		out = append(out, l)
	}
	gv := kind.GroupVersion().String()
	emit(line{"name": name, "apiVersion": gv, "kind": kind.Kind, "steps": out})
}

// Step number i happens i seconds after this.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fixTimes replaces the times that the library took from the clock by the step's time.
func fixTimes(u *unstructured.Unstructured, i int) {
	entries := u.GetManagedFields()
	for k := range entries {
		if entries[k].Time != nil && entries[k].Time.Sub(start) > time.Hour {
			entries[k].Time = &metav1.Time{Time: start.Add(time.Duration(i) * time.Second)}
		}
	}
	if len(entries) > 0 {
		u.SetManagedFields(entries)
	}
}

// dropNulls removes the nulls that apply leaves for emptied containers; a server prunes them.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if member == nil {
				delete(value, key)
			} else {
				dropNulls(member)
			}
		}
	case []any:
		for _, item := range value {
			dropNulls(item)
		}
	}
}

const cm = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d"},"data":`
const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"d"`

func applyVectors(emit func(line)) {
	core := applyconfigurations.NewTypeConverter(scheme.Scheme)
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	jobKind := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	widget := schema.GroupVersionKind{Group: "x.dev", Version: "v1", Kind: "Widget"}

	play(emit, "ConflictAndForce", core, configMap, []step{
		{"apply", "m1", "", false, cm + `{"a":"1","b":"2"}}`},
		{"apply", "m2", "", false, cm + `{"a":"9"}}`},
		{"apply", "m2", "", false, cm + `{"a":"9","b":"8"}}`},
		{"apply", "m2", "", false, cm + `{"a":"1"}}`},
		{"apply", "m1", "", false, cm + `{"b":"2"}}`},
		{"apply", "m2", "", true, cm + `{"b":"7"}}`},
		{"update", "kubectl-edit", "", false, cm + `{"b":"6","c":"1"}}`},
		{"apply", "m2", "", false, cm + `{"b":"7"}}`},
		{"apply", "m2", "", true, cm + `{"b":"7"}}`},
		{"apply", "m2", "", false, cm + `{}}`},
	})
	play(emit, "UpdateThenApply", core, configMap, []step{
		{"update", "create", "", false, cm + `{"a":"1"}}`},
		{"update", "create", "", false, cm + `{"a":"1","b":"2"}}`},
		{"update", "other", "", false, cm + `{"a":"1"}}`},
		{"update", "other", "", false, cm + `{"a":"1"}}`},
		{"apply", "create", "", false, cm + `{"a":"1"}}`},
		{"update", "other", "", false, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d","managedFields":[{}]},"data":{"a":"1"}}`},
		{"update", "other", "", false, cm + `{"a":"2"}}`},
		{"apply", "m", "", false, cm + `{"a":"1"}}`},
		{"apply", "m", "", false, `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"c","namespace":"d"}}`},
		{"apply", "m", "", false, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d","managedFields":[{"manager":"x"}]}}`},
		{"apply", "m", "", false, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d"},"foo":1}`},
	})
	play(emit, "JobContainers", core, jobKind, []step{
		{"apply", "kubectl", "", false, job + `,"labels":{"l":"1"}},"spec":{"suspend":true,"template":{"spec":{"containers":[{"name":"a","image":"i","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]}],"tolerations":[{"key":"k"}],"restartPolicy":"Never"}}}}`},
		{"update", "kueue", "", false, job + `,"labels":{"l":"1"}},"spec":{"suspend":false,"template":{"spec":{"nodeSelector":{"x":"y"},"containers":[{"name":"a","image":"i","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"1"}]}],"tolerations":[{"key":"k"},{"key":"n"}],"restartPolicy":"Never"}}}}`},
		{"apply", "kubectl", "", false, job + `},"spec":{"template":{"spec":{"containers":[{"name":"b","image":"j"},{"name":"a","image":"i","ports":[{"containerPort":80}]}],"restartPolicy":"Never"}}}}`},
		{"apply", "sidecar", "", false, job + `},"spec":{"template":{"spec":{"containers":[{"name":"s","image":"s"},{"name":"a","env":[{"name":"B","value":"2"}]}]}}}}`},
		{"apply", "kubectl", "", false, job + `},"spec":{"template":{"spec":{"containers":[{"name":"a","image":"i2"}]}}}}`},
		{"apply", "dup", "", false, job + `},"spec":{"template":{"spec":{"containers":[{"name":"x"},{"name":"x"}]}}}}`},
		{"apply", "nokey", "", false, job + `},"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}`},
		{"update", "controller", "status", false, job + `},"spec":{"template":{"spec":{"containers":[{"name":"a","image":"i2"}]}}},"status":{"active":1,"conditions":[{"type":"Suspended","status":"True"}],"uncountedTerminatedPods":{"succeeded":["u1"]}}}`},
		{"apply", "status-applier", "status", false, job + `},"status":{"active":2}}`},
		{"apply", "status-applier", "status", true, job + `},"status":{"active":2,"uncountedTerminatedPods":{"succeeded":["u2"]}}}`},
	})
	many := []step{}
	for i := range 14 {
		many = append(many, step{"update", fmt.Sprintf("m%02d", i), "", false, fmt.Sprintf(cm+`{"k":"%d"%s}}`, i, map[bool]string{true: "", false: `,"z":"1"`}[i%2 == 0])})
	}
	play(emit, "ManyUpdaters", core, configMap, many)
	var distinct []step
	text := ""
	for i := range 13 {
		text += fmt.Sprintf(`,"k%02d":"1"`, i)
		distinct = append(distinct, step{"update", fmt.Sprintf("m%02d", i), "", false, cm + "{" + text[1:] + "}}"})
	}
	play(emit, "AncientChanges", core, configMap, distinct)
	applied := `{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":\"d\"},\"data\":{\"a\":\"1\"}}`
	client := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"d","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + applied + `"}},"data":{"a":"1"}}`
	play(emit, "KubectlTakesOverClientSide", core, configMap, []step{
		{"update", "kubectl-client-side-apply", "", false, client},
		{"apply", "kubectl", "", false, cm + `{"a":"2"}}`},
		{"update", "other", "", false, cm + `{"a":"3"}}`},
		{"apply", "kubectl", "", false, cm + `{"a":"2"}}`},
	})

	random := rand.New(rand.NewSource(7))
	for i := range 160 {
		play(emit, fmt.Sprintf("Random%d", i), widgetConverter(), widget, randomSteps(random))
	}
}

func pick(r *rand.Rand, texts ...string) string { return texts[r.Intn(len(texts))] }

func randomWidget(r *rand.Rand) string {
	m := map[string]any{}
	maybe := func(key string, value func() any) {
		if r.Intn(3) == 0 {
			m[key] = value()
		}
	}
	pair := func() any {
		out := map[string]any{}
		for _, key := range []string{"p", "q"} {
			if r.Intn(2) == 0 {
				out[key] = pick(r, "1", "2")
			}
		}
		return out
	}
	texts := func() any {
		out := []any{}
		for _, i := range r.Perm(3)[:r.Intn(4)] {
			out = append(out, string(rune('x'+i)))
		}
		return out
	}
	maybe("a", func() any { return pick(r, "1", "2") })
	maybe("num", func() any { return r.Intn(2) })
	maybe("nested", pair)
	maybe("whole", pair)
	maybe("table", pair)
	maybe("plain", texts)
	maybe("set", texts)
	maybe("items", func() any {
		out := []any{}
		for _, i := range r.Perm(4)[:r.Intn(4)] {
			item := map[string]any{"name": string(rune('k' + i))}
			if r.Intn(2) == 0 {
				item["value"] = pick(r, "1", "2")
			}
			if r.Intn(3) == 0 {
				item["tags"] = texts()
			}
			out = append(out, item)
		}
		return out
	})
	maybe("ports", func() any {
		out := []any{}
		for _, i := range r.Perm(3)[:r.Intn(3)] {
			item := map[string]any{"port": 80 + i}
			if r.Intn(2) == 0 {
				item["protocol"] = "UDP"
			}
			if r.Intn(2) == 0 {
				item["host"] = pick(r, "1", "2")
			}
			out = append(out, item)
		}
		return out
	})
	maybe("open", func() any { return map[string]any{"u": pair(), "l": texts(), "s": pick(r, "1", "2")} })
	object := map[string]any{"apiVersion": "x.dev/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": m}
	if r.Intn(3) == 0 {
		object["metadata"].(map[string]any)["labels"] = pair()
	}
	return string(must(json.Marshal(object)))
}

func randomSteps(r *rand.Rand) []step {
	var steps []step
	for range 3 + r.Intn(4) {
		operation := "apply"
		if r.Intn(3) == 0 {
			operation = "update"
		}
		steps = append(steps, step{operation, pick(r, "m1", "m2", "m3"), "", r.Intn(2) == 0, randomWidget(r)})
	}
	return steps
}
