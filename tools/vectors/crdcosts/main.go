// crdcosts writes what Kubernetes says of the costs of rules in CEL of custom kinds (x-kubernetes-validations).
//
//	cd tools/vectors && go run ./crdcosts > ../../tests/local/apiserver/testdata/crd_costs.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// Each is the whole schema of a kind.
var schemas = []string{
	// Texts in a list: without limits, with one, with both.
	list(`{"type":"string"}`, ``, `self.all(w, w.startsWith('a'))`),
	list(`{"type":"string"}`, `"maxItems":10,`, `self.all(w, w.startsWith('a'))`),
	list(`{"type":"string","maxLength":10}`, `"maxItems":10,`, `self.all(w, self.all(v, v != w))`),
	list(`{"type":"string"}`, ``, `self.all(w, self.all(v, v != w))`),
	list(`{"type":"string"}`, `"maxItems":100,`, `self.all(w, self.all(v, v != w))`),
	list(`{"type":"string"}`, `"maxItems":64,`, `self.all(w, w.contains('abc'))`),
	list(`{"type":"string"}`, `"maxItems":22,`, `self.all(w, w.matches('^[a-z]+$'))`),
	list(`{"type":"string","enum":["a","bcdef"]}`, `"maxItems":1000,`, `self.all(w, w.matches('^[a-z]+$'))`),
	list(`{"type":"integer"}`, ``, `self.all(x, self.exists_one(y, x == y))`),
	list(`{"type":"integer"}`, `"maxItems":1024,`, `self.all(x, self.exists_one(y, x == y))`),
	list(`{"type":"integer"}`, `"maxItems":1300,`, `self.all(x, self.exists_one(y, x == y))`),
	list(`{"type":"object","required":["name","other"],"properties":{"name":{"type":"string"},"other":{"type":"integer"}}}`, ``, `self.all(x, self.all(y, y.other > 1))`),
	list(`{"type":"object","required":["name"],"properties":{"name":{"type":"string","default":"x"}}}`, ``, `self.exists(x, x.name == 'b')`),
	list(`{"x-kubernetes-int-or-string":true}`, ``, `self.exists(x, x == 'b' || x == 1)`),
	list(`{"x-kubernetes-int-or-string":true}`, `"maxItems":100,`, `self.all(x, type(x) == int || x.matches('[0-9]+%'))`),
	// Rules of items and of entries.
	of(`{"type":"array","items":{"type":"string","x-kubernetes-validations":[{"rule":"self.startsWith('a')"}]}}`),
	of(`{"type":"array","items":{"type":"string","x-kubernetes-validations":[{"rule":"self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"}]}}`),
	of(`{"type":"array","maxItems":32,"items":{"type":"string","maxLength":63,"x-kubernetes-validations":[{"rule":"self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"}]}}`),
	of(`{"type":"object","additionalProperties":{"type":"string","x-kubernetes-validations":[{"rule":"self.contains('abc')"}]}}`),
	of(`{"type":"object","maxProperties":16,"additionalProperties":{"type":"string","x-kubernetes-validations":[{"rule":"self.contains('abc')"}]}}`),
	of(`{"type":"object","maxProperties":16,"additionalProperties":{"type":"array","maxItems":16,"items":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}}}}`),
	of(`{"type":"object","maxProperties":1600,"additionalProperties":{"type":"array","maxItems":1600,"items":{"type":"array","maxItems":100,"items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1 && self < 9"}]}}}}`),
	of(`{"type":"object","x-kubernetes-validations":[{"rule":"self.all(k, k.startsWith('a') && self[k].size() < 9)"}],"additionalProperties":{"type":"string"}}`),
	of(`{"type":"object","additionalProperties":{"type":"object","required":["at","on","long","bytes","flag"],"x-kubernetes-validations":[{"rule":"self.at.size() > 1 || self.flag"}],
	  "properties":{"at":{"type":"string"},"on":{"type":"string","format":"date"},"long":{"type":"string","format":"duration"},"bytes":{"type":"string","format":"byte"},"flag":{"type":"boolean"},"when":{"type":"string","format":"date-time"}}}}`),
	// Messages, old values, whole objects.
	of(`{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"}},
	  "x-kubernetes-validations":[{"rule":"self.n > 1","messageExpression":"self.words.map(w, w + 'x').join('-')"}]}`),
	of(`{"type":"object","properties":{"words":{"type":"array","maxItems":9,"items":{"type":"string","maxLength":9}},"n":{"type":"integer"}},
	  "x-kubernetes-validations":[{"rule":"self.n > 1","messageExpression":"self.words.map(w, w + 'x').join('-')"}]}`),
	of(`{"type":"object","properties":{"words":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}},"x-kubernetes-validations":[{"rule":"oldSelf.words.all(w, w in self.words)"}]}`),
	of(`{"type":"object","properties":{"words":{"type":"array","x-kubernetes-list-type":"set","maxItems":200,"items":{"type":"string","maxLength":20}}},
	  "x-kubernetes-validations":[{"rule":"!oldSelf.hasValue() || oldSelf.value().words.all(w, w in self.words)","optionalOldSelf":true}]}`),
	`{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name.matches('^[a-z]+$') && self.kind == 'W'"}]}`,
	`{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name.matches('^[a-z]+$')"}],"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":63}}}}}`,
	`{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name.matches('^[a-z]+$')"}],
	  "properties":{"kind":{"type":"string"},"apiVersion":{"type":"string"},"metadata":{"type":"object","properties":{"generateName":{"type":"string"},"name":{"type":"string","maxLength":63}}}}}`,
	of(`{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-validations":[{"rule":"self.metadata.name.startsWith('a')"}]}}`),
	// The total: rules that are cheap enough alone.
	many(25), many(20),
}

func of(spec string) string { return `{"type":"object","properties":{"spec":` + spec + `}}` }

func list(items, limits, rule string) string {
	return of(`{"type":"array",` + limits + `"items":` + items + `,"x-kubernetes-validations":[{"rule":` + quote(rule) + `}]}`)
}

// many makes lists of words that cost 0.6 to 9.4 million each, and a cheaper one.
func many(count int) string {
	properties := []string{`"cheap":{"type":"array","maxItems":100,"items":{"type":"string","maxLength":100,"x-kubernetes-validations":[{"rule":"self.startsWith('a')"}]}}`}
	for i := range count {
		name := string(rune('a' + i))
		properties = append(properties, quote(name)+`:{"type":"array","maxItems":`+strconv.Itoa(i%15+1)+`,"items":{"type":"string","x-kubernetes-validations":[{"rule":"self.contains('0123456789abcde')"}]}}`)
	}
	return of(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
}

func quote(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, schema := range schemas {
		var crd apiextensionsv1.CustomResourceDefinition
		text := `{"metadata":{"name":"ws.x.dev"},"spec":{"group":"x.dev","scope":"Namespaced","names":{"plural":"ws","singular":"w","kind":"W","listKind":"WList"},
		  "conversion":{"strategy":"None"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` + schema + `}}]},"status":{"storedVersions":["v1"]}}`
		if err := json.Unmarshal([]byte(text), &crd); err != nil {
			log.Fatal(schema, err)
		}
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &internal, nil); err != nil {
			log.Fatal(err)
		}
		causes := []string{}
		for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
			causes = append(causes, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "spec.validation."), "spec.versions[0].schema."))
		}
		sort.Strings(causes) // the library walks maps in random order
		if err := encoder.Encode(map[string]any{"schema": json.RawMessage(schema), "causes": causes}); err != nil {
			log.Fatal(err)
		}
	}
}
