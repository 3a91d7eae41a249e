// crd writes custom objects as pruned, defaulted and validated by Kubernetes' own libraries.
//
//	cd tools/vectors && go run ./crd > ../../tests/local/apiserver/testdata/crd.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"math/rand"
	"os"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

type schema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func parseSchema(text string) schema {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal([]byte(text), &v1); err != nil {
		log.Fatal(text, err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		log.Fatal(err)
	}
	structural := must(structuralschema.NewStructural(&internal))
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		log.Fatal(err)
	}
	return schema{structural, validator}
}

func parse(text string) map[string]any {
	var object map[string]any
	if err := utiljson.Unmarshal([]byte(text), &object); err != nil {
		log.Fatal(text, err)
	}
	return object
}

func run(emit func(any), fieldText, value, old string) {
	s := parseSchema(spec(fieldText))
	object := parse(objectText(value))
	unknown := pruning.PruneWithOptions(object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	var errs field.ErrorList
	if old == "" {
		errs = validation.ValidateCustomResource(nil, object, s.validator)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	} else {
		before := parse(objectText(old))
		errs = validation.ValidateCustomResourceUpdate(nil, object, before, s.validator,
			validation.WithRatcheting(common.NewCorrelatedObject(object, before, &model.Structural{Structural: s.structural})))
		now := listtype.ValidateListSetsAndMaps(nil, s.structural, object)
		if len(now) > 0 && len(listtype.ValidateListSetsAndMaps(nil, s.structural, before)) == 0 {
			errs = append(errs, now...)
		}
	}
	causes := []string{}
	for _, err := range errs {
		causes = append(causes, string(err.Type)+" "+err.Error())
	}
	sort.Strings(causes) // the library walks maps in random order
	line := map[string]any{"field": json.RawMessage(fieldText), "value": json.RawMessage(value),
		"spec": object["spec"]}
	if len(unknown) > 0 {
		line["unknown"] = unknown
	}
	if len(causes) > 0 {
		line["causes"] = causes
	}
	if old != "" {
		line["old"] = json.RawMessage(old)
	}
	emit(line)
}

func objectText(value string) string {
	return `{"apiVersion":"x.dev/v1","kind":"W","metadata":{"name":"w"},"spec":{"a":` + value + `}}`
}

func spec(a string) string {
	return `{"type":"object","properties":{"spec":{"type":"object","properties":{"a":` + a + `}}}}`
}

// Schemas of one field, with the values to test.
var fields = []string{
	`{"type":"string"}`, `{"type":"string","nullable":true}`, `{"type":"string","default":"d"}`,
	`{"type":"string","nullable":true,"default":"d"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`,
	`{"type":"integer","format":"int32"}`, `{"type":"integer","format":"int64"}`, `{"type":"number","format":"double"}`,
	`{"type":"integer","format":"foo"}`,
	`{"type":"integer","minimum":1,"maximum":3}`,
	`{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":true,"multipleOf":2}`,
	`{"type":"number","minimum":0.5,"maximum":2.5,"multipleOf":0.5}`,
	`{"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-z]*$"}`, `{"type":"string","enum":["x","y","2"]}`,
	`{"type":"integer","enum":[1,2]}`, `{"type":"string","nullable":true,"enum":["x"]}`,
	`{"type":"string","format":"date-time"}`, `{"type":"string","format":"date"}`, `{"type":"string","format":"duration"}`,
	`{"type":"string","format":"byte"}`, `{"type":"string","format":"uuid"}`, `{"type":"string","format":"ipv4"}`,
	`{"type":"string","format":"cidr"}`, `{"type":"string","format":"unknown"}`,
	`{"x-kubernetes-int-or-string":true}`,
	`{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"pattern":"^[0-9]+%?$"}`,
	`{"x-kubernetes-preserve-unknown-fields":true}`,
	`{"type":"object"}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
	`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"b":{"type":"object","properties":{"c":{"type":"string"}}}}}`,
	`{"type":"object","additionalProperties":{"type":"string"},"minProperties":1,"maxProperties":2}`,
	`{"type":"object","additionalProperties":true}`,
	`{"type":"object","additionalProperties":{"type":"object","properties":{"b":{"type":"integer","default":3}}}}`,
	`{"type":"object","required":["b"],"properties":{"b":{"type":"string"},"c":{"type":"integer","default":1}}}`,
	`{"type":"object","default":{},"properties":{"b":{"type":"string","default":"x"}}}`,
	`{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2}`,
	`{"type":"array","items":{"type":"string","default":"x"}}`,
	`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`,
	`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["b"],"items":{"type":"object","required":["b"],"properties":{"b":{"type":"string"},"c":{"type":"integer","maximum":2}}}}`,
	`{"type":"string","anyOf":[{"minLength":3},{"enum":["x"]}]}`, `{"type":"string","oneOf":[{"minLength":1},{"maxLength":2}]}`,
	`{"type":"string","allOf":[{"minLength":2},{"maxLength":3}]}`, `{"type":"string","not":{"enum":["x"]}}`,
	`{"type":"object","properties":{"b":{"type":"string"},"c":{"type":"string"}},"oneOf":[{"required":["b"]},{"required":["c"]}]}`,
}

var values = []string{
	`null`, `"x"`, `"abc"`, `"AB"`, `""`, `"2"`, `1`, `2`, `5`, `2.5`, `2.0`, `3000000000`, `-1`, `true`, `[]`, `{}`,
	`"2026-11-20T07:03:22Z"`, `"2026-11-20"`, `"1h30m"`, `"10.0.0.1"`, `"10.0.0.0/8"`, `"aGk="`, `"123e4567-e89b-12d3-a456-426614174000"`,
	`"50%"`, `["x"]`, `["x","y","x"]`, `[1,null]`, `[null]`, `{"b":"x"}`, `{"b":1}`, `{"b":null,"c":null}`, `{"b":"x","c":"y","d":"z"}`,
	`{"b":{"c":"x","d":1},"e":[{"f":1}]}`, `[{"b":"x","c":1},{"b":"x","c":9}]`, `[{"b":"x"},{"c":1}]`, `[{"b":{}},[]]`,
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	emit := func(line any) {
		if err := encoder.Encode(line); err != nil {
			log.Fatal(err)
		}
	}
	random := rand.New(rand.NewSource(3))
	for _, a := range fields {
		for _, value := range values {
			// All pairs are too many; each schema gets its likely values and a third of the rest.
			if random.Intn(4) != 0 && len(value) > 3 {
				continue
			}
			run(emit, a, value, "")
			if random.Intn(4) == 0 {
				run(emit, a, value, value)
			}
			if random.Intn(6) == 0 {
				run(emit, a, value, values[random.Intn(len(values))])
			}
		}
	}
}
