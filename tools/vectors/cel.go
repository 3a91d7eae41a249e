package main

import (
	_ "embed"
	"fmt"
	"log"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The variables of all expressions, as an API server reads them.
const celVariables = `{
  "self": {"name": "a", "replicas": 3, "ratio": 0.5, "ready": true, "none": null, "text": "é😀 abc",
    "list": [1, 2, 3], "words": ["b", "a", "c"], "empty": [], "nothing": {}, "time": "2024-05-01T12:34:56.789Z",
    "labels": {"app.kubernetes.io/name": "x", "plain": "y"}, "cpu": "1500m", "memory": "4Gi",
    "items": [{"name": "p", "count": 1}, {"name": "q"}, {"name": "r", "count": 5}],
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Failed", "status": "False"}]},
  "oldSelf": {"name": "a", "replicas": 2, "list": [1, 2]}
}`

// celVectors: expression in; out the value, the failure, or the first line of the compiler's error.
func celVectors(emit func(line)) {
	var variables map[string]any
	if err := json.Unmarshal([]byte(celVariables), &variables); err != nil {
		log.Fatal(err)
	}
	emit(line{"variables": variables})
	set := must(environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", cel.DynType), cel.Variable("oldSelf", cel.DynType),
			ext.Bindings(), ext.Math(),
		},
	}))
	env := set.StoredExpressionsEnv()
	seen := map[string]bool{}
	for _, expression := range celExpressions() {
		if seen[expression] {
			continue
		}
		seen[expression] = true
		result := line{"expression": expression}
		evaluate(env, expression, variables, result)
		if result["panics"] == nil {
			emit(result)
		}
	}
}

// Sets "refused", "failure" or "value". What the type checker alone refuses is evaluated without
// types: Berth has none.
func evaluate(env *cel.Env, expression string, variables map[string]any, result line) {
	// The evaluator panics on a few trees that the type checker refuses.
	defer func() {
		if recover() != nil {
			result["panics"] = true
		}
	}()
	tree, issues := env.Parse(expression)
	if issues.Err() != nil {
		result["refused"] = strings.SplitN(issues.Err().Error(), "\n", 2)[0]
		return
	}
	checked, issues := env.Check(tree)
	if issues.Err() == nil {
		tree = checked
	} else if message := strings.SplitN(issues.Err().Error(), "\n", 2)[0]; strings.Contains(message, "undeclared") {
		result["refused"] = message
		return
	} else {
		result["unchecked"] = true
	}
	program, err := env.Program(tree)
	if err != nil {
		// The evaluation of a constant part has failed already.
		result["failure"] = err.Error()
		return
	}
	value, _, err := program.Eval(variables)
	if err != nil {
		result["failure"] = err.Error()
		return
	}
	result["value"] = celText(value)
}

// The value as an unambiguous text.
func celText(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10) + "u"
	case types.Double:
		return "double(" + strconv.FormatFloat(float64(v), 'g', -1, 64) + ")"
	case types.String:
		return strconv.Quote(string(v))
	case types.Bytes:
		return fmt.Sprintf("bytes(%x)", []byte(v))
	case types.Duration, types.Timestamp:
		return value.Type().TypeName() + "(" + string(v.ConvertToType(types.StringType).(types.String)) + ")"
	case *types.Optional:
		if !v.HasValue() {
			return "optional.none()"
		}
		return "optional(" + celText(v.GetValue()) + ")"
	case ref.Type:
		return "type(" + v.TypeName() + ")"
	case traits.Lister:
		parts := []string{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			parts = append(parts, celText(it.Next()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case traits.Mapper:
		parts := []string{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			parts = append(parts, celText(key)+": "+celText(v.Get(key)))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case apiservercel.IP:
		return "ip(" + v.Addr.String() + ")"
	case apiservercel.CIDR:
		return "cidr(" + v.Prefix.String() + ")"
	case *apiservercel.Quantity:
		return "quantity(" + v.String() + ")"
	case apiservercel.Quantity:
		return "quantity(" + v.String() + ")"
	default:
		return value.Type().TypeName()
	}
}

// One operand of each kind.
var celOperands = []string{"1", "9223372036854775807", "2u", "1.5", "'a'", "b'a'", "true", "null", "[1]",
	"{'a': 1}", "duration('1m')", "timestamp('2024-05-01T00:00:00Z')", "optional.of(1)", "quantity('1Gi')", "int"}

// Expressions of every part of the language, one a line; some are none.
//
//go:embed cel.txt
var celWritten string

// Expressions of several lines.
var celLines = []string{"'''a\n'b''' + \"\"\"c\"\"\"", "1 +\n\n  zz", "'a\nb'", "1\n//c\n+2", "'''x\r\ny'''"}

// celExpressions: written ones, and tables of every operator and function with every kind.
func celExpressions() []string {
	all := append(strings.Split(strings.TrimSpace(celWritten), "\n"), celLines...)
	for _, operator := range []string{"+", "-", "*", "/", "%", "<", ">=", "==", "!=", "in", "&&", "||"} {
		for i, left := range celOperands {
			for j, right := range celOperands {
				// Half of the pairs of different kinds.
				if i != j && (i+j+len(operator))%2 == 0 {
					continue
				}
				all = append(all, fmt.Sprintf("dyn(%s) %s dyn(%s)", left, operator, right))
			}
		}
	}
	for i, operand := range celOperands {
		value := "dyn(" + operand + ")"
		for _, form := range []string{"!%s", "-%s", "%s ? 1 : 2", "%s[0]", "%s['a']", "%s.a", "has(%s.a)", "%s.?a", "%s[?0]",
			"%s.exists(x, true)", "%s.map(x, x)", "%s.optMap(x, x)", "type(%s)", "[%s]", "{'k': %s}", "{%s: 1}", "[?%s]", "{?'k': %s}"} {
			all = append(all, fmt.Sprintf(form, value))
		}
		for _, name := range []string{"size", "int", "uint", "double", "string", "bytes", "bool", "duration", "timestamp",
			"optional.of", "optional.ofNonZeroValue", "quantity", "isQuantity", "sign", "math.abs", "math.ceil", "math.greatest"} {
			all = append(all, name+"("+value+")")
		}
		for _, name := range []string{"size", "value", "hasValue", "lowerAscii", "trim", "isSorted", "min", "sum", "join",
			"getHours", "getFullYear", "isInteger", "asInteger", "asApproximateFloat", "first", "distinct", "sort", "flatten", "reverse"} {
			all = append(all, value+"."+name+"()")
		}
		other := "dyn(" + celOperands[(i+4)%len(celOperands)] + ")"
		for _, argument := range []string{"dyn('a')", other} {
			for _, name := range []string{"contains", "startsWith", "endsWith", "matches", "find", "findAll", "indexOf", "lastIndexOf",
				"charAt", "split", "substring", "orValue", "or", "join", "add", "sub", "compareTo", "isLessThan"} {
				all = append(all, value+"."+name+"("+argument+")")
			}
		}
	}
	return all
}
