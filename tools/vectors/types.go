package main

import (
	"encoding/json"
	"log"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The schema of celVariables.
const celSchema = `{"type": "object", "properties": {
  "name": {"type": "string"}, "replicas": {"type": "integer"}, "ratio": {"type": "number"}, "ready": {"type": "boolean"},
  "none": {"type": "string", "nullable": true}, "text": {"type": "string"},
  "list": {"type": "array", "items": {"type": "integer"}}, "words": {"type": "array", "items": {"type": "string"}},
  "empty": {"type": "array", "items": {"type": "string"}}, "nothing": {"type": "object", "additionalProperties": {"type": "string"}},
  "time": {"type": "string"}, "at": {"type": "string", "format": "date-time"}, "long": {"type": "string", "format": "duration"},
  "data": {"type": "string", "format": "byte"}, "port": {"x-kubernetes-int-or-string": true},
  "labels": {"type": "object", "additionalProperties": {"type": "string"}}, "cpu": {"type": "string"}, "memory": {"type": "string"},
  "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}}},
  "nested": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}, "my-field": {"type": "string"}}},
  "conditions": {"type": "array", "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}}}}`

// Expressions whose types matter, beside those of cel.txt.
var typedExpressions = []string{
	"self.replicas > '1'", "self.replicas > 1", "self.replicas > 1.5", "self.replicas == 1.0", "self.ratio == 1",
	"'a' + self.replicas", "self.name + self.text", "self.missing", "has(self.missing)", "has(self.name)", "self.nested.a.b > 0",
	"self.nested.a.c", "self.nested.my__dash__field == 'x'", "self.nested.myfield", "self.items.all(i, i.count > 0)",
	"self.items.all(i, i.other > 0)", "self.items.all(i, i.name)", "self.items.exists(i, i.name == 1)", "self.items.map(i, i.name)[0] + 1",
	"self.items.filter(i, i.count)", "self.items[0].name.startsWith('a')", "self.items['a']", "self.labels['a'] == 'b'", "self.labels[1]",
	"self.labels.all(k, k == 1)", "self.labels.all(k, k.startsWith('a'))", "self.name.all(c, c == 'a')", "self.name.size() > 1",
	"self.replicas.startsWith('a')", "self.name.startsWith(1)", "self.name.matches(self.replicas)", "1 in self.list", "'a' in self.list",
	"'a' in self.labels", "1 in self.labels", "1 in self.replicas", "!self.replicas", "!self.ready", "-self.name", "-self.replicas",
	"self.ready && self.replicas", "self.ready ? 1 : 'a'", "self.ready ? 1 : 2", "self.replicas ? 1 : 2", "self.at > timestamp('2024-01-01T00:00:00Z')",
	"self.at > '2024'", "self.at - self.at > duration('1s')", "self.long < duration('1h')", "self.at + 1", "self.data == b'a'", "self.data == 'a'",
	"self.port == 1", "self.port == 'a'", "type(self.port) == int", "self.none == null", "self.name == null", "self == oldSelf",
	"self.items == oldSelf.items", "self.list + [1]", "self.list + ['a']", "self.list == ['a']", "self.list.sum() > 'a'", "self.name.foo",
	"self.list.foo", "self.?name.orValue('x') == 'y'", "self.?missing", "self.replicas % 2.0 == 0", "self.ratio % 2.0", "self.ratio * 2",
	"self.ratio * 2.0", "self.words.join(',') == 'a'", "self.words.exists_one(w, w == 'a')", "self.words.exists_one(w, w == 1)",
	"self.items.map(i, i.name).exists(n, n == 1)", "self.list.filter(i, i > 1).all(i, i == 'a')", "self.items.exists(i, i.nane == 'x')",
	"quantity(self.cpu).isLessThan(quantity('1'))", "quantity(self.replicas)", "self.metadata.name", "self.kind", "self.list[0] == 'a'",
	"self.list['0']", "self.list[self.replicas] > 1", "[1, 'a'][0] + 1", "{'a': 1}.a > 0", "self.name in ['a', 'b']", "self.name in [1]",
	"self.replicas in [1, 2]", "size(self.list) == '1'", "string(self.replicas) == 'a'", "int(self.name) == 'a'",
	"self.name.lowerAscii() == 1", "duration(self.name) > 1", "self.items.sortBy(i, i.count)[0].name == 1",
	"cel.bind(x, self.replicas, x == 'a')", "self.words.map(w, w.size() > 'a')",
}

// typeVectors: expression in; out what the compiler says where `self` has the types of a schema, "" for nothing.
func typeVectors(emit func(line)) {
	var schema spec.Schema
	if err := json.Unmarshal([]byte(celSchema), &schema); err != nil {
		log.Fatal(err)
	}
	emit(line{"schema": json.RawMessage(celSchema)})
	declared := common.SchemaDeclType(&openapi.Schema{Schema: &schema}, false).MaybeAssignTypeName("object")
	set := must(environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", declared.CelType()), cel.Variable("oldSelf", declared.CelType()), ext.Bindings(), ext.Math(),
		},
		DeclTypes: []*apiservercel.DeclType{declared},
	}))
	env := set.StoredExpressionsEnv()
	seen := map[string]bool{}
	for _, expression := range append(celExpressions(), typedExpressions...) {
		if seen[expression] {
			continue
		}
		seen[expression] = true
		if told, ok := compileError(env, expression); ok {
			emit(line{"expression": expression, "error": told})
		}
	}
}

// false: the compiler panics.
func compileError(env *cel.Env, expression string) (told string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if _, issues := env.Compile(expression); issues != nil && issues.Err() != nil {
		told = issues.Err().Error()
	}
	return told, true
}
