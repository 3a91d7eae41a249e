package main

import (
	"encoding/json"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var strategicTypes = map[string]any{"core/v1.Pod": corev1.Pod{}, "batch/v1.Job": batchv1.Job{}, "core/v1.Service": corev1.Service{}, "core/v1.Node": corev1.Node{}}

const podABC = `{"metadata":{"name":"p","labels":{"x":"1","y":"2"},"finalizers":["f1","f2"],` +
	`"ownerReferences":[{"uid":"u1","name":"o1"},{"uid":"u2","name":"o2"}]},"spec":{` +
	`"nodeSelector":{"a":"b"},"tolerations":[{"key":"t1"}],"containers":[` +
	`{"name":"a","image":"a:1","args":["1","2"],"env":[{"name":"E1","value":"1"},{"name":"E2","value":"2"}],` +
	`"ports":[{"containerPort":80,"protocol":"TCP","name":"http"},{"containerPort":81,"protocol":"UDP"}]},` +
	`{"name":"b","image":"b:1"},{"name":"c","image":"c:1"}],` +
	`"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"m"}}]}}`

const jobConditions = `{"spec":{"parallelism":1,"template":{"spec":{"containers":[{"name":"a"}]}}},` +
	`"status":{"conditions":[{"type":"Suspended","status":"True"},{"type":"Failed","status":"False"}]}}`

var strategicCases = []struct{ typeName, original, patch string }{
	{"core/v1.Pod", podABC, `{}`},
	{"core/v1.Pod", podABC, `{"metadata":{"labels":{"x":null,"z":"3"}}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"b","image":"b:2"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"d","image":"d:1"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"d","image":"d:1"},{"name":"b","image":"b:2"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"c"},{"name":"a"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"b","$patch":"delete"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"$patch":"replace"},{"name":"z","image":"z"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"image":"x"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"$patch":"merge","name":"a"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"$patch":"what","name":"a"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"a","args":["9"]}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"a","env":[{"name":"E2","value":"9"},{"name":"E3","value":"3"}]}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"a","env":[{"name":"E1","$patch":"delete"}],"image":null}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"hostPort":8080}]}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":null}}`},
	{"core/v1.Pod", podABC, `{"spec":{"containers":[]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$patch":"replace","hostNetwork":true}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$patch":"delete"}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$patch":"huh"}}`},
	{"core/v1.Pod", podABC, `{"spec":{"nodeSelector":{"$patch":"replace","c":"d"}}}`},
	{"core/v1.Pod", podABC, `{"spec":{"nodeSelector":{"a":null,"c":"d"}}}`},
	{"core/v1.Pod", podABC, `{"spec":{"tolerations":[{"key":"t2"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"affinity":{"nodeAffinity":{"x":null,"y":[{"z":null}]}}}}`},
	{"core/v1.Pod", podABC, `{"metadata":{"finalizers":["f3","f1"]}}`},
	{"core/v1.Pod", podABC, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["f1"]}}`},
	{"core/v1.Pod", podABC, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["f1"],"finalizers":["f9"]}}`},
	{"core/v1.Pod", podABC, `{"metadata":{"$deleteFromPrimitiveList":["f1"]}}`},
	{"core/v1.Pod", podABC, `{"metadata":{"$setElementOrder/finalizers":["f2","f3","f1"],"finalizers":["f3"]}}`},
	{"core/v1.Pod", podABC, `{"metadata":{"ownerReferences":[{"uid":"u3","name":"o3"},{"uid":"u1","controller":true}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"d"},{"name":"a"}],"containers":[{"name":"d","image":"d"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"d"}],"containers":[{"name":"d","image":"d"},{"name":"a","$patch":"delete"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"d"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/containers":[{"image":"a"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/containers":"x"}}`},
	{"core/v1.Pod", podABC, `{"spec":{"$setElementOrder/initContainers":[{"name":"i"}],"initContainers":[{"name":"i","image":"i"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/x"}}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"volumes":[{"name":"v","$retainKeys":["name"],"hostPath":{"path":"/x"}}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"volumes":[{"name":"v","$retainKeys":"x"}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"volumes":[{"name":"w","configMap":{"name":"n"}},{"name":"u","emptyDir":{}}]}}`},
	{"core/v1.Pod", podABC, `{"spec":{"hostNetwork":true,"priority":5,"containers":{"a":1}}}`},
	{"core/v1.Pod", podABC, `{"spec":{"new":{"$patch":"delete"},"other":[{"$patch":"delete","name":"x"},{"name":"y","z":null}]}}`},
	{"core/v1.Pod", `{}`, `{"spec":{"containers":[{"name":"a","image":null,"env":[{"name":"x","value":null}]}]}}`},
	{"core/v1.Pod", `{"spec":{"containers":[]}}`, `{"spec":{"containers":[{"name":"a","$patch":"delete"},{"name":"b"}]}}`},
	{"batch/v1.Job", jobConditions, `{"status":{"conditions":[{"type":"Failed","status":"True"},{"type":"Complete","status":"True"}]}}`},
	{"batch/v1.Job", jobConditions, `{"spec":{"suspend":true,"template":{"spec":{"nodeSelector":{"a":"b"}}}}}`},
	{"core/v1.Service", `{"spec":{"ports":[{"port":80,"protocol":"TCP"},{"port":80,"protocol":"UDP"}]}}`, `{"spec":{"ports":[{"port":80,"nodePort":30000}]}}`},
	{"core/v1.Node", `{"spec":{"podCIDRs":["a","b"],"taints":[{"key":"k","effect":"NoSchedule"}]}}`, `{"spec":{"podCIDRs":["c"],"taints":[{"key":"l","effect":"NoExecute"}]}}`},
	{"core/v1.Node", `{"status":{"addresses":[{"type":"Hostname","address":"h"}]}}`, `{"status":{"addresses":[{"type":"Hostname","address":"i"},{"type":"InternalIP","address":"1"}]}}`},
}

// strategicVectors: a patch on an object of a type; the result, or the error's text.
func strategicVectors(emit func(line)) {
	for _, c := range strategicCases {
		schema := must(strategicpatch.NewPatchMetaFromStruct(reflect.New(reflect.TypeOf(strategicTypes[c.typeName])).Interface()))
		var original, patch map[string]any
		if err := json.Unmarshal([]byte(c.original), &original); err != nil {
			panic(c.original + err.Error())
		}
		if err := json.Unmarshal([]byte(c.patch), &patch); err != nil {
			panic(c.patch + err.Error())
		}
		out := line{"type": c.typeName, "original": json.RawMessage(c.original), "patch": json.RawMessage(c.patch)}
		result, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(original, patch, schema)
		if err != nil {
			out["error"] = err.Error()
		} else {
			out["result"] = result
		}
		emit(out)
	}
}
