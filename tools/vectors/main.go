// vectors writes test data for the embedded API server's engines: inputs, with the results of
// Kubernetes' own libraries. One JSON object per line.
//
//	cd tools/vectors && go run . protobuf  > ../../tests/local/apiserver/testdata/protobuf.jsonl
//	                    go run . strategic > ../../tests/local/apiserver/testdata/strategic.jsonl
//	                    go run . apply     > ../../tests/local/apiserver/testdata/apply.jsonl
//	                    go run . quantity  > ../../tests/local/apiserver/testdata/quantity.jsonl
//	                    go run . yaml      > ../../tests/api/yaml/testdata/yaml.jsonl
//	                    go run . cel       > ../../tests/cel/testdata/cel.jsonl
//	                    go run . types     > ../../tests/local/apiserver/testdata/types.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
)

type line = map[string]any

func main() {
	commands := map[string]func(emit func(line)){
		"protobuf":  protobufVectors,
		"strategic": strategicVectors,
		"apply":     applyVectors,
		"quantity":  quantityVectors,
		"yaml":      yamlVectors,
		"cel":       celVectors,
		"types":     typeVectors,
	}
	if len(os.Args) != 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: vectors protobuf|strategic|apply|quantity|yaml|cel")
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	commands[os.Args[1]](func(l line) {
		if err := encoder.Encode(l); err != nil {
			log.Fatal(err)
		}
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
