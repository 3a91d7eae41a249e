// Reads a dashboard with Grafana's own types and rules: a field that Grafana does not have, a value of another type, a
// panel or a query with such a field, and a value out of bounds are errors.
//
//	grafana-board FILE        prints "N panels", or the errors
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// The package also returns empty lists of errors.
func some(err error) error {
	var list cog.BuildErrors
	if errors.As(err, &list) && len(list) == 0 {
		return nil
	}
	return err
}

func read(file string) (board dashboard.Dashboard, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = some(board.UnmarshalJSONStrict(text))
	}
	if err == nil {
		err = some(board.Validate())
	}
	return board, err
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: grafana-board FILE")
		os.Exit(2)
	}
	plugins.RegisterDefaultPlugins()
	board, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d panels\n", len(board.Panels))
}
