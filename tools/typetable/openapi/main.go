// openapi writes the schemas of built-in Kubernetes kinds that the embedded API server publishes
// (local/apiserver/http/openapi_definitions.txt), from the OpenAPI v3 documents of Kubernetes' source
// (Apache-2.0).
//
//	cd tools/typetable && go run ./openapi > ../../local/apiserver/http/openapi_definitions.txt
//
// Output: a line a schema, "NAME JSON", in the form of OpenAPI v3, sorted by name: those of the kinds
// in builtin_types.txt, and those that they refer to.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

const (
	table = "../../local/apiserver/types/builtin_types.txt"
	// The module that pins Kubernetes' source.
	pinned = "../../tests/cluster/kubernetes"
)

var reference = regexp.MustCompile(`"#/components/schemas/([^"]+)"`)

// kinds returns the lines of the type table that name kinds: "batch/v1/Job".
func kinds() map[string]bool {
	text, err := os.ReadFile(table)
	if err != nil {
		log.Fatal(err)
	}
	found := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "kind" {
			found[words[1]] = true
		}
	}
	return found
}

func definitions() map[string]json.RawMessage {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	list.Dir = pinned
	folder, err := list.Output()
	if err != nil {
		log.Fatalf("go list -m k8s.io/kubernetes in %s: %v", pinned, err)
	}
	files, err := filepath.Glob(path.Join(strings.TrimSpace(string(folder)), "api/openapi-spec/v3/*.json"))
	if err != nil || len(files) == 0 {
		log.Fatalf("no documents of OpenAPI v3 in %s: %v", folder, err)
	}
	// Types that every group has, such as DeleteOptions, name the kinds of their own document: those of
	// the core group, which is the first one by name, count.
	sort.Strings(files)
	found := map[string]json.RawMessage{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		var document struct {
			Components struct {
				Schemas map[string]json.RawMessage `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
		for name, schema := range document.Components.Schemas {
			if _, known := found[name]; !known {
				found[name] = schema
			}
		}
	}
	return found
}

func main() {
	wanted, all := kinds(), definitions()
	var queue []string
	for name, schema := range all {
		var kind struct {
			Names []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(schema, &kind); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		for _, one := range kind.Names {
			if wanted[one.Group+"/"+one.Version+"/"+one.Kind] {
				queue = append(queue, name)
			}
		}
	}
	sort.Strings(queue)
	lines := map[string]string{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if lines[name] != "" {
			continue
		}
		schema, ok := all[name]
		if !ok {
			log.Fatalf("no schema %s", name)
		}
		for _, match := range reference.FindAllSubmatch(schema, -1) {
			queue = append(queue, string(match[1]))
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, schema); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		lines[name] = compact.String()
	}
	var names []string
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, name := range names {
		fmt.Fprintln(out, name, lines[name])
	}
}
