package main

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

var yamlScalars = []string{
	"", "~", "null", "Null", "NULL", "nUll", "y", "Y", "n", "N", "yes", "Yes", "YES", "yEs", "no", "No", "NO", "on", "On",
	"ON", "off", "Off", "OFF", "true", "True", "TRUE", "tRue", "false", "False", "FALSE", "0", "-0", "+0", "00", "007", "08", "0600",
	"-0600", "0o17", "0O17", "0b11", "0B11", "-0b11", "0xFF", "0XfF", "-0x10", "0x", "0b", "0o", "1_000", "_1", "1_", "1__0", "0_7",
	"1e3", "1E3", "1e+3", "1e-3", "1.", ".5", "-.5", "+.5", ".", "-", "+", "1.0", "1.50", "-1.5", "1e400", "-1e400", "1e-400", "1e21", "1e20",
	"123456789012345678901234567890", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
	"-9223372036854775808", "-9223372036854775809", "0x7fffffffffffffff", "0xffffffffffffffff", "1.7976931348623157e308",
	"12:30:45", "1:2", "190:20:30", "2026-01-01", "2026-11-20T07:03:22Z", "2026-11-20 07:03:22", "1.2.3", "1.2.3.4", "500m", "1Gi", "1000000000Gi",
	"50%", "0.1", "3.14159265358979", "a", "a b", "a:b", "a#b", "a #b", "-a", "?a", ":a", "=", "<<x", "<", ">x", "@x", "%x", "`x", "!x y", "&x y",
	"'single'", "'it''s'", `"double"`, `"tab\there"`, `"\u00e9\x41"`, `"a\
  b"`, "é", "日本", "0x1.8p1", "1e", "e3", "infinity", "nan", "Inf", "0.0", "-0.0", "1_0.5", "1,000", "[]", "{}", "[1, 2]", "{a: 1}", "!!str 5", "!!int \"5\"",
	"!!float 5", "!!bool \"yes\"", "!!null x", "!!str", "!!binary aGk=", "!local x", "|\n  x\n  y", "|-\n  x", "|+\n  x\n", ">\n  x\n  y", ">-\n  x\n\n  y", "|2\n    x",
}

var yamlDocuments = []string{
	"a: 1\nb: 2\n", "a:\n- 1\n- 2\n", "a:\n  - b: 1\n    c: 2\n  - d\n", "- a\n- - b\n  - c\n", "{a: [1, {b: c}]}", "a: &x 1\nb: *x\n",
	"x: &x {a: 1, b: 2}\nz: {<<: *x, b: 3}\n", "x: &x {a: 1}\nw: &w {a: 2, c: 3}\nz:\n  <<: [*x, *w]\n  d: 4\n", "z: {b: 1, <<: {b: 2, c: 3}}\n",
	"? a\n: b\n", "? [a]\n: b\n", "1: a\n2.5: b\ntrue: c\n", "y: 1\nn: 2\n", "~: 1\n", "a: 1\na: 2\n", "a:\n", "a: |\n  line\n\n  line\nb: x\n",
	"a: \"x\n  y\"\n", "a: 'x\n\n  y'\n", "a: x\n  y\n", "# c\na: 1 # d\n", "--- \na: 1\n", "---\na: 1\n...\n", "a: [1,\n 2]\n", "a: {b: 1,}\n", "[a, b, ]\n",
	"a: b: c\n", "a: [\n", "a: }\n", "\ta: 1\n", "a:\n\t- b\n", "a: *x\n", "a: &x [*x]\n", "\"a\": 1\n", "'a b': 1\n", "a b: 1\n", "a : 1\n", "a:1\n", "{\"a\":1}\n",
	"%YAML 1.1\n---\na: 1\n", "\ufeffa: 1\n", "a: \"\\ud83d\\ude00\"\n", "null\n", "plain\n", "- \n- a\n", "-\n", "a: -\n", "a: - b\n", "a: !!set {b}\n",
	"a: .inf\n", "a: -.Inf\n", "a: .NaN\n", "a: 1\n  b: 2\n", "a:\n  b: 1\n c: 2\n", "\"a\n", "a: @b\n", "a: `b\n", "a: %b\n", "a: b\n- c\n", "? a\n? b\n", "a: !<tag:yaml.org,2002:str> 5\n",
	"a: x\x01\n", "c: {d: ~, e: 1\x1F, \x14\x14: 1}\n", "a: \"\x14\"\n", "a: '\x7f'\n", "# \u0080\na: 1\n", "a: |\n  \u009f\n", "a: \ufffe\n",
	"a: \uffff\n", "a: \x00\n", "a: \"\\x01\\x7F\\ufffe\"\n", "a: x\tx\n", "a: \u00a0\u00ad\n", "a: x\ufeffx\n", "a: \U0001f600\n", "a: 1\r\nb: 2\r\n",
	"? " + strings.Repeat("k", 1500) + "\n: 1\n",
}

var yamlObjects = []string{
	`{"a":"x","b":1,"c":true,"d":null,"e":[],"f":{},"g":1.5}`, `{"a":["x",{"b":1,"c":[2]},[3,[4]],[],{}]}`,
	`{"a":"true","b":"5","c":"null","d":"~","e":"y","f":"1e3","g":"0x1","h":"2026-01-01","i":"1_0","j":"0600","k":"12:30"}`,
	`{"a":"x: y","b":"x #y","c":"- x","d":"#x","e":"'x'","f":"\"x\"","g":"x'y","h":"*x","i":"&x","j":"!x","k":"{x","l":"[x","m":"x:","n":"?","o":"? x","p":"-","q":"@x","r":"x, y"}`,
	`{"a":"l1\nl2\n","b":"l1\nl2","c":"l1\n\n","d":"\nl1","e":" l1\nl2","f":"x\ty","g":"x\u0001y","h":"","i":" ","j":"x ","k":"é","l":"<<","m":"="}`,
	`{"y":1,"5":2,"a b":3,"x: y":4,"":5,"null":6,"a/b.c-d":7}`,
	`{"apiVersion":"batch/v1","kind":"Job","metadata":{"annotations":{"k":"{\"a\":1}\n"},"creationTimestamp":null,"name":"j"},"spec":{"template":{"spec":{"containers":[{"args":["-c","echo hi; sleep 5"],"image":"busybox:1.36","name":"c"}]}}}}`,
	`{"a":"\u0014","b":"x\u001by","c":"l1\nl2\u0001","d":"l1\n\tl2","e":"x\ufeffy","f":"😀","g":"l1\n😀","h":"\u00a0\u00ad\ue000","\u0014":1,"k\tk":2,"i":"\n","j":"\n\n","\n":1}`,
	`{"` + strings.Repeat("k", 128) + `":1,"` + strings.Repeat("l", 129) + `":1,"` + strings.Repeat("é", 65) + `":{"x":[1]},"` + strings.Repeat(`\u0014`, 120) + `":"x"}`,
	`{"l":[{"a":1,"` + strings.Repeat("k", 129) + `":[1,[2],{"b":3,"c":"l1\nl2\n"}]},{"` + strings.Repeat("k", 130) + `":"l1\nl2"}],"k1\nk2":1,"k\n":[],"k\n\u0001":{}," k\nl":null}`,
}

// yamlVectors: text and its JSON, or null if the reader refuses it; and JSON and its text.
func yamlVectors(emit func(line)) {
	read := func(text string) {
		out, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			emit(line{"yaml": text, "error": err.Error()})
			return
		}
		emit(line{"yaml": text, "json": json.RawMessage(out)})
	}
	for _, scalar := range yamlScalars {
		read("a: " + scalar + "\n")
	}
	for _, document := range yamlDocuments {
		read(document)
	}
	for _, object := range yamlObjects {
		emit(line{"object": json.RawMessage(object), "text": string(must(yaml.JSONToYAML([]byte(object))))})
	}
}
