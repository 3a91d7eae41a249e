package main

import (
	"encoding/json"
	"log"
	"slices"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
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

// The same with limits, for estimates of costs.
const boundedSchema = `{"type": "object", "properties": {
  "name": {"type": "string", "maxLength": 63}, "replicas": {"type": "integer"}, "ratio": {"type": "number"}, "ready": {"type": "boolean"},
  "none": {"type": "string", "nullable": true, "enum": ["a", "long", "longer"]}, "text": {"type": "string", "maxLength": 5},
  "list": {"type": "array", "maxItems": 7, "items": {"type": "integer"}}, "words": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}},
  "empty": {"type": "array", "items": {"type": "string", "maxLength": 3}}, "nothing": {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "string"}},
  "time": {"type": "string"}, "at": {"type": "string", "format": "date-time"}, "long": {"type": "string", "format": "duration"},
  "data": {"type": "string", "format": "byte", "maxLength": 11}, "port": {"x-kubernetes-int-or-string": true, "maxLength": 6},
  "labels": {"type": "object", "maxProperties": 9, "additionalProperties": {"type": "string", "maxLength": 63}}, "cpu": {"type": "string", "maxLength": 8}, "memory": {"type": "string"},
  "items": {"type": "array", "maxItems": 16, "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 12}, "count": {"type": "integer"}}}},
  "nested": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}, "my-field": {"type": "string", "maxLength": 2}}},
  "conditions": {"type": "array", "items": {"type": "object", "required": ["type", "status"], "properties": {"type": {"type": "string", "maxLength": 30}, "status": {"type": "string"}}}}}}`

// Expressions whose costs matter.
var costlyExpressions = []string{
	"self.words.all(w, w.startsWith('a'))", "self.words.all(w, w.contains(self.name))", "self.words.exists(w, self.words.exists(v, v == w))",
	"self.words.all(i, w, w.size() > i)", "self.labels.all(k, v, k == v)", "self.labels.all(k, self.labels[k].size() > 1)",
	"self.words.map(w, w.size() > 1, w).join('-').size() < 9", "self.words.map(w, w + self.name).exists(x, x == self.text)",
	"self.words.filter(w, w != 'a').all(w, w.startsWith(self.name))", "self.items.all(i, i.name == self.name && i.count > 1)",
	"self.items.all(i, self.items.exists_one(j, j.name == i.name))", "self.items.map(i, i.name).sort().size() > 1",
	"self.items.sortBy(i, i.name).size() > 1", "self.items.sortBy(i, i.count).size() > 1", "self.words.distinct().size() == self.words.size()",
	"self.words.flatten().size() > 0", "[self.words, self.words].flatten().exists(w, w == 'a')", "self.list.slice(1, 3).size() == 2",
	"lists.range(5).all(i, i < 5)", "lists.range(self.replicas).all(i, i < 5)", "self.list.reverse()[0] > 1", "self.name.split('-').size() > 1",
	"self.name.split('-')[0] == 'a'", "self.name.split('-', 2).all(p, p.startsWith('a'))", "self.name.replace('a', 'bcd').size() < 9",
	"self.name.replace('', self.text) == 'a'", "self.name.replace('abc', '') == self.text", "self.name.substring(1).trim() == 'a'",
	"self.name.find('[a-z]+') == 'a'", "self.name.findAll('[a-z]').size() > 1", "self.name.matches('^[a-z]+$')", "matches(self.name, '^[a-z]+$')",
	"self.name.lowerAscii().upperAscii() == self.name", "self.name.indexOf('a') > 1", "self.words.indexOf('a') > 1", "self.list.lastIndexOf(1) > 1",
	"self.words.isSorted()", "self.list.isSorted()", "self.list.sum() > 1", "self.list.max() > self.list.min()", "self.words.max() == 'z'",
	"self.name in self.words", "self.name in self.labels", "self.name in ['a', 'b']", "self.port in [dyn(1), dyn('a')]", "self.labels[self.name] == 'a'",
	"self.labels.foo == self.name", "self.labels['foo'] == self.name", "self.?labels.foo.orValue('') == 'x'", "self.labels[?'a'].orValue('') == self.name",
	"self.?text.optMap(t, t.size() > 1).orValue(true)", "self.?nested.?a.?b.optFlatMap(b, optional.of(b + 1)).value() > 1",
	"cel.bind(n, self.name, n == self.text || n.startsWith('a'))", "cel.bind(l, self.words, l.all(w, w == 'a'))",
	"cel.bind(l, [self.name, self.text], l.exists(w, w == 'abc'))", "quantity(self.cpu).compareTo(quantity(self.memory)) < 0",
	"quantity(self.cpu) == quantity(self.memory)", "quantity(self.cpu) != quantity(self.memory)", "isQuantity(self.cpu) && quantity(self.cpu).isInteger()",
	"isIP(self.name) && ip(self.name).family() == 4", "ip(self.name) == ip(self.text)", "ip.isCanonical(self.name)", "isCIDR(self.name)",
	"cidr(self.name).containsIP('10.0.0.1')", "cidr(self.name).containsIP(ip(self.text))", "cidr(self.name).containsCIDR(cidr(self.text))",
	"cidr(self.name).containsCIDR(self.text)", "cidr(self.name).ip() == ip('10.0.0.1')", "url(self.name).getHost() == self.text", "isURL(self.name)",
	"url(self.name) == url(self.text)", "semver(self.name).isLessThan(semver('1.0.0'))", "isSemver(self.name)", "!format.dns1123Label().validate(self.name).hasValue()",
	"format.named('uuid').value().validate(self.text).orValue([]).size() == 0", "format.date() == format.uuid()", "sets.contains(self.words, ['a', 'b'])",
	"sets.equivalent(self.words, self.words)", "sets.intersects([1, 2], self.list)", "string(self.data) == self.name", "bytes(self.name) == self.data",
	"string(self.replicas) == self.name", "string(self.port) == 'a'", "strings.quote(self.name) == self.text", "'%s-%d'.format([self.name, self.replicas]) == self.text",
	"self.name + self.text == 'abc'", "self.words + self.words == self.words", "(self.words + [self.name]).all(w, w == 'a')", "self.port == 'abc'",
	"type(self.port) == int ? self.port > 1 : self.port.matches('^[0-9]+$')", "self.none == self.name", "self.name < self.text", "self.at > timestamp('2024-01-01T00:00:00Z')",
	"self.at == self.at", "self.long < duration('1h')", "self == oldSelf", "self.items == oldSelf.items", "self.labels == oldSelf.labels", "self.data == b'abc'",
	"has(self.name) && has(self.nested.a)", "self.ready ? self.name == 'a' : self.text == 'b'", "(self.ready ? self.words : self.empty).all(w, w == 'a')",
	"(self.ready ? self.name : self.text).startsWith(self.name)", "self.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
	"self.conditions.filter(c, c.type == 'Ready').map(c, c.status)[0] == 'True'", "self.items.all(i, self.words.all(w, w != i.name))",
	"self.words.transformList(i, w, w + 'a').size() > 1", "self.words.transformList(i, w, i > 1, w).all(x, x == self.name)",
	"self.labels.transformMap(k, v, v + 'a').size() > 1", "self.labels.transformMap(k, v, k == 'a', v)['a'] == 'b'",
	"self.labels.transformMapEntry(k, v, {v: k}).size() > 1", "{'a': self.name}['a'] == 'b'", "{'a': self.name, 'b': self.text}.all(k, k.startsWith(self.name))",
	"[self.name, 'abc'][0] == 'b'", "[[self.name]].all(l, l.all(x, x == 'abc'))", "self.words.map(w, [w, w]).all(l, l[0] == 'a')",
	"math.greatest(self.replicas, 1, 2) > 1", "math.least(self.list) > 1", "math.abs(self.ratio) > 1.0", "dyn(self.words).all(w, w == 'a')", "dyn(self.name) == 'abcdef'",
	"self.words.first().orValue('') == 'a'", "self.words.last().value() == 'a'", "self.nested.my__dash__field == 'ab'", "-self.replicas < 1 && !self.ready",
	"self.words.exists_one(w, w == 'a') || self.words.exists(w, w == 'b')", "self.name.size() <= 63 && self.name.charAt(0) == 'a'",
	"self.items.all(i, i.name.split('.').all(p, p.size() < 9))", "self.words.join() == self.name", "self.words.map(w, w.size()).sum() < 99",
	"self.items.exists(i, i.name.startsWith(self.name) && i.name.endsWith(self.text))", "jsonpatch.escapeKey(self.name) == 'a'",
}

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

// typeVectors: expression in; out what the compiler says where `self` has the types of a schema, "" for nothing, and
// the estimated costs with its sizes and with those of another schema.
func typeVectors(emit func(line)) {
	emit(line{"schema": json.RawMessage(celSchema), "bounded": json.RawMessage(boundedSchema)})
	env := typedEnvironment(celSchema)
	bounded := typedEnvironment(boundedSchema)
	seen := map[string]bool{}
	for _, expression := range slices.Concat(celExpressions(), typedExpressions, costlyExpressions) {
		if seen[expression] {
			continue
		}
		seen[expression] = true
		if told, ok := compileError(env.env, expression); ok {
			out := line{"expression": expression, "error": told}
			if told == "" {
				out["cost"] = env.cost(expression)
				out["boundedCost"] = bounded.cost(expression)
			}
			emit(out)
		}
	}
}

type typed struct {
	env  *cel.Env
	root *apiservercel.DeclType
}

// cost: the estimate as text, since JSON's numbers end at 2^53.
func (t typed) cost(expression string) string {
	ast, issues := t.env.Compile(expression)
	if issues.Err() != nil {
		return ""
	}
	estimate, err := t.env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: &sizes{t.root}})
	if err != nil {
		log.Fatal(expression, err)
	}
	return strconv.FormatUint(estimate.Max, 10)
}

// sizes estimates as apiextensions-apiserver does for rules.
type sizes struct{ root *apiservercel.DeclType }

func (s *sizes) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return nil
}

func (s *sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	at := s.root
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			at = at.ElemType
		case "@keys":
			at = at.KeyType
		default:
			if field, ok := at.Fields[name]; ok {
				at = field.Type
			} else {
				at = nil
			}
		}
		if at == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(at.MaxElements)}
}

func typedEnvironment(text string) typed {
	var schema spec.Schema
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		log.Fatal(err)
	}
	declared := common.SchemaDeclType(&openapi.Schema{Schema: &schema}, false).MaybeAssignTypeName("object")
	set := must(environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", declared.CelType()), cel.Variable("oldSelf", declared.CelType()), ext.Bindings(), ext.Math(),
		},
		DeclTypes: []*apiservercel.DeclType{declared},
	}))
	return typed{set.StoredExpressionsEnv(), declared}
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
