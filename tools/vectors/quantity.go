package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantityVectors: text in, canonical text or null out.
func quantityVectors(emit func(line)) {
	numbers := []string{"0", "00", "1", "5", "8", "10", "100", "512", "1000", "1023", "1024", "1025", "1500",
		"2048", "10000", "123456789", "999999999999", "9223372036854775807", "9223372036854775808",
		"0.1", "0.5", "0.25", "1.5", "1.500", "1.0", "12.3456", "0.0001", "0.0000000001", "1.", ".5", "007",
		"100.001", "1000.000", "1048576", "1073741824"}
	suffixes := []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
		"e0", "e1", "e2", "e3", "E6", "e-1", "e-3", "e-6", "e+2", "e12", "x", "Kib", "e", " "}
	for _, sign := range []string{"", "-", "+"} {
		for _, number := range numbers {
			for i, suffix := range suffixes {
				if sign != "" && i%3 != 0 {
					continue
				}
				text := fmt.Sprint(sign, number, suffix)
				quantity, err := resource.ParseQuantity(text)
				if err != nil {
					emit(line{"text": text, "want": nil})
					continue
				}
				// The text after one trip through JSON.
				bytes := must(quantity.MarshalJSON())
				want := string(bytes[1 : len(bytes)-1])
				// The library loses suffixes without a letter (1000E becomes "1"): excluded.
				if again, err := resource.ParseQuantity(want); err != nil || again.Cmp(quantity) != 0 {
					continue
				}
				emit(line{"text": text, "want": want})
			}
		}
	}
}
