// typetable writes the table of built-in Kubernetes kinds that the embedded API server reads
// (local/apiserver/types/builtin_types.txt), from the Go sources of k8s.io/api and its companions:
// JSON and protobuf tags, patch strategies, and the +listType markers in comments.
//
//	cd tools/typetable && go run . > ../../local/apiserver/types/builtin_types.txt
//
// Output, one line each:
//
//	kind GROUP/VERSION/KIND TYPE
//	type TYPE [atomic] [union]
//	  JSONNAME PROTO TYPEEXPR [oe] [oz] [p] [in] [set] [map=K1,K2] [atomic] [pm=KEY] [ps=STRATEGIES] [def=JSON]
//
// TYPEEXPR: s string, b bool, i int32, l int64, n float64, y bytes, q quantity, t time, m microtime,
// d duration, o int-or-string, a anything, w list of strings that is a message in protobuf,
// []X list, {}X map, @TYPE a type of the table.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"reflect"
	"sort"
	"strings"
)

// A parsed package: its path, the prefix of its types, the kinds that it declares.
type source struct {
	module, dir, name, group, version string
}

var sources = []source{
	{"k8s.io/api", "core/v1", "core/v1", "", "v1"},
	{"k8s.io/api", "batch/v1", "batch/v1", "batch", "v1"},
	{"k8s.io/api", "apps/v1", "apps/v1", "apps", "v1"},
	{"k8s.io/api", "autoscaling/v1", "autoscaling/v1", "autoscaling", "v1"},
	{"k8s.io/api", "autoscaling/v2", "autoscaling/v2", "autoscaling", "v2"},
	{"k8s.io/api", "certificates/v1", "certificates/v1", "certificates.k8s.io", "v1"},
	{"k8s.io/api", "coordination/v1", "coordination/v1", "coordination.k8s.io", "v1"},
	{"k8s.io/api", "discovery/v1", "discovery/v1", "discovery.k8s.io", "v1"},
	{"k8s.io/api", "events/v1", "events/v1", "events.k8s.io", "v1"},
	{"k8s.io/api", "flowcontrol/v1", "flowcontrol/v1", "flowcontrol.apiserver.k8s.io", "v1"},
	{"k8s.io/api", "networking/v1", "networking/v1", "networking.k8s.io", "v1"},
	{"k8s.io/api", "node/v1", "node/v1", "node.k8s.io", "v1"},
	{"k8s.io/api", "policy/v1", "policy/v1", "policy", "v1"},
	{"k8s.io/api", "rbac/v1", "rbac/v1", "rbac.authorization.k8s.io", "v1"},
	{"k8s.io/api", "scheduling/v1", "scheduling/v1", "scheduling.k8s.io", "v1"},
	{"k8s.io/api", "storage/v1", "storage/v1", "storage.k8s.io", "v1"},
	{"k8s.io/api", "authentication/v1", "authentication/v1", "authentication.k8s.io", "v1"},
	{"k8s.io/api", "authorization/v1", "authorization/v1", "authorization.k8s.io", "v1"},
	{"k8s.io/api", "admission/v1", "admission/v1", "admission.k8s.io", "v1"},
	{"k8s.io/api", "admissionregistration/v1", "admissionregistration/v1", "admissionregistration.k8s.io", "v1"},
	{"k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1", "apiextensions/v1", "apiextensions.k8s.io", "v1"},
	{"k8s.io/kube-aggregator", "pkg/apis/apiregistration/v1", "apiregistration/v1", "apiregistration.k8s.io", "v1"},
	{"k8s.io/apimachinery", "pkg/apis/meta/v1", "meta/v1", "meta.k8s.io", "v1"},
	{"k8s.io/apimachinery", "pkg/runtime", "runtime", "", ""},
	{"k8s.io/apimachinery", "pkg/types", "types", "", ""},
}

var packageByImport = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource": "resource",
	"k8s.io/apimachinery/pkg/util/intstr":  "intstr",
}

// Types whose JSON differs from their Go fields.
var leaves = map[string]string{
	"resource.Quantity": "q", "intstr.IntOrString": "o",
	"meta/v1.Time": "t", "meta/v1.MicroTime": "m", "meta/v1.Duration": "d", "meta/v1.FieldsV1": "a",
	"runtime.RawExtension": "a", "runtime.Object": "a", "apiextensions/v1.JSON": "a",
	"meta/v1.Verbs": "w", "authentication/v1.ExtraValue": "w", "authorization/v1.ExtraValue": "w",
}

// Types that are a union in JSON, and a struct in protobuf.
var unions = map[string]bool{
	"apiextensions/v1.JSONSchemaPropsOrBool":        true,
	"apiextensions/v1.JSONSchemaPropsOrArray":       true,
	"apiextensions/v1.JSONSchemaPropsOrStringArray": true,
}

var basic = map[string]string{
	"string": "s", "bool": "b", "int32": "i", "int64": "l", "int": "l", "uint8": "i", "byte": "i",
	"float64": "n", "float32": "n", "uint32": "l", "uint64": "l", "int16": "i", "uint16": "i",
}

type typeDecl struct {
	pkg     string  // the same as in source.name
	spec    *ast.TypeSpec
	doc     string
	imports map[string]string // local name → package name of the table
}

var (
	decls = map[string]*typeDecl{} // "core/v1.PodSpec"
	used  = map[string]bool{}
	queue []string
)

func moduleDir(module string) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		log.Fatalf("go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

func readPackage(s source) {
	dir := path.Join(moduleDir(s.module), s.dir)
	noTests := func(info fs.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go") && info.Name() != "generated.pb.go"
	}
	packages, err := parser.ParseDir(token.NewFileSet(), dir, noTests, parser.ParseComments)
	if err != nil {
		log.Fatalf("%s: %v", dir, err)
	}
	for _, p := range packages {
		for _, file := range p.Files {
			readFile(s.name, file)
		}
	}
}

func readFile(pkg string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		target := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = packageByImport[target]
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			typeSpec := spec.(*ast.TypeSpec)
			doc := general.Doc.Text()
			if typeSpec.Doc != nil {
				doc = typeSpec.Doc.Text()
			}
			// Doc.Text() drops marker lines that look like directives; read the raw comment.
			for _, group := range []*ast.CommentGroup{general.Doc, typeSpec.Doc} {
				doc += rawText(group)
			}
			decls[pkg+"."+typeSpec.Name.Name] = &typeDecl{pkg, typeSpec, doc, imports}
		}
	}
}

func rawText(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	var lines []string
	for _, comment := range group.List {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")))
	}
	return strings.Join(lines, "\n") + "\n"
}

func markers(text, name string) []string {
	var values []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if value, ok := strings.CutPrefix(line, "+"+name+"="); ok {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

func marker(text, name string) string {
	if values := markers(text, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// expression gives TYPEEXPR of a Go type, and whether it is a pointer.
func expression(d *typeDecl, e ast.Expr) (string, bool) {
	switch t := e.(type) {
	case *ast.StarExpr:
		text, _ := expression(d, t.X)
		return text, true
	case *ast.ArrayType:
		if id, ok := t.Elt.(*ast.Ident); ok && (id.Name == "byte" || id.Name == "uint8") {
			return "y", false
		}
		text, _ := expression(d, t.Elt)
		return "[]" + text, false
	case *ast.MapType:
		text, _ := expression(d, t.Value)
		return "{}" + text, false
	case *ast.InterfaceType:
		return "a", false
	case *ast.Ident:
		if text, ok := basic[t.Name]; ok {
			return text, false
		}
		return named(d.pkg + "." + t.Name), false
	case *ast.SelectorExpr:
		pkg, ok := d.imports[t.X.(*ast.Ident).Name]
		if !ok || pkg == "" {
			log.Fatalf("%s: unknown package %s", d.spec.Name.Name, t.X.(*ast.Ident).Name)
		}
		return named(pkg + "." + t.Sel.Name), false
	}
	log.Fatalf("%s: cannot read %T", d.spec.Name.Name, e)
	return "", false
}

func named(name string) string {
	if text, ok := leaves[name]; ok {
		return text
	}
	d, ok := decls[name]
	if !ok {
		log.Fatalf("no type %s", name)
	}
	if _, isStruct := d.spec.Type.(*ast.StructType); isStruct {
		if !used[name] {
			used[name] = true
			queue = append(queue, name)
		}
		return "@" + name
	}
	text, _ := expression(d, d.spec.Type)
	return text
}

func fieldLine(d *typeDecl, field *ast.Field) (string, bool) {
	if field.Tag == nil {
		return "", false
	}
	tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
	parts := strings.Split(tag.Get("json"), ",")
	name := parts[0]
	inline := len(field.Names) == 0 && name == ""
	if name == "-" || (name == "" && !inline) {
		if tag.Get("protobuf") == "" || !unions[d.pkg+"."+d.spec.Name.Name] {
			return "", false
		}
	}
	number := "0"
	if proto := strings.Split(tag.Get("protobuf"), ","); len(proto) > 1 {
		number = proto[1]
		if name == "" || name == "-" {
			for _, part := range proto {
				if text, ok := strings.CutPrefix(part, "name="); ok {
					name = text
				}
			}
		}
	}
	text, pointer := expression(d, field.Type)
	if inline && name == "" {
		name = text[strings.LastIndex(text, ".")+1:]
	}
	words := []string{name, number, text}
	for _, option := range parts[1:] {
		switch option {
		case "omitempty":
			words = append(words, "oe")
		case "omitzero":
			words = append(words, "oz")
		}
	}
	if pointer {
		words = append(words, "p")
	}
	if inline {
		words = append(words, "in")
	}
	words = append(words, fieldMarks(tag, rawText(field.Doc))...)
	return strings.Join(words, " "), true
}

func fieldMarks(tag reflect.StructTag, doc string) []string {
	var words []string
	switch marker(doc, "listType") {
	case "set":
		words = append(words, "set")
	case "map":
		keys := markers(doc, "listMapKey")
		sort.Strings(keys)
		words = append(words, "map="+strings.Join(keys, ","))
	}
	if marker(doc, "structType") == "atomic" || marker(doc, "mapType") == "atomic" {
		words = append(words, "atomic")
	}
	if key := tag.Get("patchMergeKey"); key != "" {
		words = append(words, "pm="+key)
	}
	if strategy := tag.Get("patchStrategy"); strategy != "" {
		words = append(words, "ps="+strategy)
	}
	if value := marker(doc, "default"); json.Valid([]byte(value)) && value != "" {
		words = append(words, "def="+value)
	}
	return words
}

func isKind(d *typeDecl) bool {
	structType, ok := d.spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, field := range structType.Fields.List {
		if len(field.Names) > 0 {
			continue
		}
		if text, ok := embedded(d, field.Type); ok && text == "meta/v1.TypeMeta" {
			return true
		}
	}
	return false
}

func embedded(d *typeDecl, e ast.Expr) (string, bool) {
	switch t := e.(type) {
	case *ast.Ident:
		return d.pkg + "." + t.Name, true
	case *ast.SelectorExpr:
		return d.imports[t.X.(*ast.Ident).Name] + "." + t.Sel.Name, true
	}
	return "", false
}

func main() {
	for _, s := range sources {
		if s.module == "k8s.io/api" {
			packageByImport["k8s.io/api/"+s.dir] = s.name
		} else {
			packageByImport[s.module+"/"+s.dir] = s.name
		}
	}
	for _, s := range sources {
		readPackage(s)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "# Built-in kinds, generated by tools/typetable from k8s.io/api v0.36.3 (Apache-2.0).")
	fmt.Fprintln(out, "# The format stands at the top of tools/typetable/main.go.")
	for _, s := range sources {
		if s.version == "" {
			continue
		}
		var kinds []string
		for name, d := range decls {
			if d.pkg == s.name && isKind(d) {
				kinds = append(kinds, name)
			}
		}
		sort.Strings(kinds)
		for _, name := range kinds {
			named(name)
			fmt.Fprintf(out, "kind %s/%s/%s %s\n", s.group, s.version, decls[name].spec.Name.Name, name)
		}
	}
	lines := map[string][]string{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		d := decls[name]
		head := "type " + name
		if marker(d.doc, "structType") == "atomic" {
			head += " atomic"
		}
		if unions[name] {
			head += " union"
		}
		lines[name] = []string{head}
		for _, field := range d.spec.Type.(*ast.StructType).Fields.List {
			if line, ok := fieldLine(d, field); ok {
				lines[name] = append(lines[name], " "+line)
			}
		}
	}
	var names []string
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, line := range lines[name] {
			fmt.Fprintln(out, line)
		}
	}
}
