// crdrules writes the rules in CEL of custom kinds (x-kubernetes-validations) as Kubernetes' own
// libraries evaluate them.
//
//	cd tools/vectors && go run ./crdrules > ../../tests/local/apiserver/testdata/crd_rules.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

type vector struct {
	schema string  // the schema of spec
	values []string
	olds   []string // each before each value; none: creates only
}

var vectors = []vector{
	{`{"type":"object","x-kubernetes-validations":[{"rule":"self.min <= self.max","message":"min above max"}],
	   "properties":{"min":{"type":"integer"},"max":{"type":"integer"}}}`,
		[]string{`{"min":1,"max":2}`, `{"min":3,"max":2}`, `{"min":1}`, `{}`, `{"min":-9223372036854775808,"max":9223372036854775807}`},
		[]string{`{"min":3,"max":2}`, `{"min":1,"max":2}`}},
	{`{"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":" field is immutable "}]}}}`,
		[]string{`{"a":"x"}`, `{"a":"y"}`, `{}`}, []string{`{"a":"x"}`, `{}`}},
	{`{"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"oldSelf.orValue('') == '' || self == oldSelf.value()","optionalOldSelf":true,"reason":"FieldValueForbidden"}]}}}`,
		[]string{`{"a":"x"}`, `{"a":"y"}`, `{"a":""}`}, []string{`{"a":"x"}`, `{}`, `{"a":""}`}},
	{`{"type":"object","x-kubernetes-validations":[{"rule":"!has(self.a) || has(self.b)","fieldPath":".b","reason":"FieldValueRequired","message":"b belongs to a"}],
	   "properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
		[]string{`{"a":"x"}`, `{"a":"x","b":"y"}`, `{"b":"y"}`}, nil},
	{`{"type":"object","x-kubernetes-validations":[{"rule":"self.n < 5","messageExpression":"'n is ' + string(self.n) + ', not below 5'","message":"never"},
	     {"rule":"self.n != 7","messageExpression":"self.n == 7 ? ' ' : 'x'"},{"rule":"self.n != 8","messageExpression":"string(self.m)"}],
	   "properties":{"n":{"type":"integer"},"m":{"type":"integer"}}}`,
		[]string{`{"n":4}`, `{"n":6}`, `{"n":7}`, `{"n":8}`}, []string{`{"n":6}`}},
	{`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"},{"rule":"self >= oldSelf"}]}}}}`,
		[]string{`{"m":{"a":1,"b":2}}`, `{"m":{"a":0,"b":-1}}`, `{"m":{"a":2}}`}, []string{`{"m":{"a":1,"b":-1}}`, `{"m":{"a":3}}`}},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
	     "items":{"type":"object","required":["k"],"x-kubernetes-validations":[{"rule":"self.v == oldSelf.v","message":"v stays"},{"rule":"self.v < 9"}],
	     "properties":{"k":{"type":"string"},"v":{"type":"integer"}}}}}}`,
		[]string{`{"l":[{"k":"a","v":1},{"k":"b","v":2}]}`, `{"l":[{"k":"b","v":1},{"k":"a","v":10}]}`, `{"l":[{"k":"c","v":10}]}`},
		[]string{`{"l":[{"k":"a","v":1},{"k":"b","v":2}]}`, `{"l":[{"k":"c","v":10}]}`}},
	{`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","x-kubernetes-validations":[{"rule":"self.v < 9"}],"properties":{"v":{"type":"integer"}}}}}}`,
		[]string{`{"l":[{"v":1},{"v":10}]}`, `{"l":[{"v":10}]}`}, []string{`{"l":[{"v":1},{"v":10}]}`, `{"l":[{"v":2}]}`}},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(x, x.startsWith('a'))"},{"rule":"self.size() <= 2","message":"two at most"}]}}}`,
		[]string{`{"l":["a","ab"]}`, `{"l":["b"]}`, `{"l":["a","b","c"]}`, `{"l":[]}`}, []string{`{"l":["b"]}`}},
	{`{"type":"object","properties":{"q":{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"type(self) == int ? self > 0 : self.matches('^[0-9]+%$')"}]},
	     "p":{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"self.size() > 1"}]}}}`,
		[]string{`{"q":1}`, `{"q":0}`, `{"q":"5%"}`, `{"q":"x"}`, `{"p":"ab"}`, `{"p":7}`}, nil},
	{`{"type":"object","properties":{"t":{"type":"string","format":"date-time","x-kubernetes-validations":[{"rule":"self > timestamp('2026-01-01T00:00:00Z')"}]},
	     "d":{"type":"string","format":"duration","x-kubernetes-validations":[{"rule":"self <= duration('1h')","messageExpression":"'at most an hour, not ' + string(self)"}]},
	     "b":{"type":"string","format":"byte","x-kubernetes-validations":[{"rule":"self == b'hi'"}]},
	     "y":{"type":"string","format":"date","x-kubernetes-validations":[{"rule":"self.getFullYear() == 2026"}]}}}`,
		[]string{`{"t":"2026-11-20T07:03:22Z"}`, `{"t":"2020-11-20T07:03:22Z"}`, `{"d":"30m"}`, `{"d":"2h"}`, `{"b":"aGk="}`, `{"b":"aGkh"}`, `{"y":"2026-11-20"}`, `{"y":"2025-11-20"}`}, nil},
	{`{"type":"object","x-kubernetes-validations":[{"rule":"self.f * 2.0 < 5.0"}],"properties":{"f":{"type":"number"}}}`,
		[]string{`{"f":1}`, `{"f":2.5}`, `{"f":1.5}`}, nil},
	{`{"type":"object","x-kubernetes-validations":[{"rule":"self.__namespace__ == 'n' && self.a__dash__b > 1 && self.c__dot__d"}],
	   "properties":{"namespace":{"type":"string"},"a-b":{"type":"integer"},"c.d":{"type":"boolean"}}}`,
		[]string{`{"namespace":"n","a-b":2,"c.d":true}`, `{"namespace":"m","a-b":2,"c.d":true}`, `{"namespace":"n","c.d":true}`}, nil},
	{`{"type":"object","properties":{"n":{"type":"string","nullable":true,"x-kubernetes-validations":[{"rule":"self == 'x'"}]}},
	   "x-kubernetes-validations":[{"rule":"!has(self.n) || self.n != 'y'"}]}`,
		[]string{`{"n":null}`, `{"n":"x"}`, `{"n":"y"}`, `{}`}, []string{`{"n":null}`, `{"n":"z"}`}},
	{`{"type":"object","properties":{"i":{"type":"integer","x-kubernetes-validations":[{"rule":"10 / self > 1","message":"too large"},{"rule":"self % 2 == 0"}]},
	     "s":{"type":"string","x-kubernetes-validations":[{"rule":"self.split('-')[1] == 'x'"}]}}}`,
		[]string{`{"i":0}`, `{"i":4}`, `{"i":11}`, `{"s":"a-x"}`, `{"s":"a"}`}, []string{`{"i":0}`, `{"i":11}`, `{"s":"a"}`}},
	{`{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"},{"rule":"self < 9"}]},"b":{"type":"integer"}}}`,
		[]string{`{"a":1}`, `{"a":10,"b":2}`}, []string{`{"a":2}`, `{"a":10,"b":1}`}},
	{`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"self == oldSelf","reason":"FieldValueDuplicate"}]}}}`,
		[]string{`{"a":{"x":1,"y":[1,2]}}`, `{"a":{"x":2}}`}, []string{`{"a":{"y":[1,2],"x":1}}`}},
	{`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer"}}}},"o":{"type":"array","items":{"type":"integer"}}},
	   "x-kubernetes-validations":[{"rule":"!has(self.l) || self.l == oldSelf.l","message":"l"},{"rule":"!has(self.m) || self.m == oldSelf.m","message":"m"},{"rule":"!has(self.o) || self.o == oldSelf.o","message":"o"}]}`,
		[]string{`{"l":["a","b"],"m":[{"k":"a","v":1},{"k":"b","v":2}],"o":[1,2]}`, `{"l":["b","a"],"m":[{"k":"b","v":2},{"k":"a","v":1}],"o":[2,1]}`, `{"l":["a"],"m":[{"k":"a","v":1}]}`},
		[]string{`{"l":["a","b"],"m":[{"k":"a","v":1},{"k":"b","v":2}],"o":[1,2]}`}},
	{`{"type":"object","x-kubernetes-validations":[{"rule":"self.l.exists_one(x, x == 1) && self.l.map(x, x * 2).sum() < 20 && self.l.filter(x, x > 1).size() > 0"}],"properties":{"l":{"type":"array","items":{"type":"integer"}}}}`,
		[]string{`{"l":[1,2]}`, `{"l":[1,1]}`, `{"l":[1,2,9]}`, `{}`}, nil},
}

func parse(text string) any {
	var object any
	if err := utiljson.Unmarshal([]byte(text), &object); err != nil {
		log.Fatal(text, err)
	}
	return object
}

func structural(text string) *structuralschema.Structural {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal([]byte(text), &v1); err != nil {
		log.Fatal(text, err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		log.Fatal(err)
	}
	out, err := structuralschema.NewStructural(&internal)
	if err != nil {
		log.Fatal(text, err)
	}
	return out
}

func object(spec string) any {
	return parse(`{"apiVersion":"x.dev/v1","kind":"W","metadata":{"name":"w"},"spec":` + spec + `}`)
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, each := range vectors {
		schema := structural(`{"type":"object","properties":{"spec":` + each.schema + `}}`)
		validator := cel.NewValidator(schema, true, celconfig.PerCallLimit)
		for _, value := range each.values {
			for _, old := range append([]string{""}, each.olds...) {
				now := object(value)
				var before any
				options := []cel.Option{}
				if old != "" {
					before = object(old)
					options = append(options, cel.WithRatcheting(common.NewCorrelatedObject(now, before, &model.Structural{Structural: schema})))
				}
				errs, _ := validator.Validate(context.Background(), nil, schema, now, before, celconfig.RuntimeCELCostBudget, options...)
				causes := []string{}
				for _, err := range errs {
					causes = append(causes, string(err.Type)+" "+err.Error())
				}
				sort.Strings(causes) // the library walks maps in random order
				line := map[string]any{"schema": json.RawMessage(each.schema), "value": json.RawMessage(value), "causes": causes}
				if old != "" {
					line["old"] = json.RawMessage(old)
				}
				if err := encoder.Encode(line); err != nil {
					log.Fatal(err)
				}
			}
		}
	}
}
