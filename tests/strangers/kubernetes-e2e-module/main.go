// Kubernetes' own end-to-end specs of sig-api-machinery, sig-apps and sig-auth, without its other suites and the
// programs of its cloud providers. Flags are those of Kubernetes' e2e.test, and:
//
//	--specs FILE    runs the specs whose full names stand in FILE, one a line
//	--results FILE  writes a line of JSON for each: name, state, seconds, failure
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"k8s.io/component-base/logs"
	commontest "k8s.io/kubernetes/test/e2e/common"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	e2enode "k8s.io/kubernetes/test/e2e/framework/node"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	e2etestingmanifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	testfixtures "k8s.io/kubernetes/test/fixtures"

	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/auth"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/utils/format"
)

var (
	specs   = flag.String("specs", "", "file with the full names of the specs to run")
	results = flag.String("results", "", "file for a line of JSON about each spec that ran")
)

// outcome is one line of the results.
type outcome struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Failure string  `json:"failure,omitempty"`
	Place   string  `json:"place,omitempty"`
}

// failedSuite stands in for testing.T.
type failedSuite struct{}

func (failedSuite) Fail() {}

var _ = ginkgo.BeforeSuite(func(ctx context.Context) {
	commontest.CurrentSuite = commontest.E2E
	client, err := framework.LoadClientset()
	framework.ExpectNoError(err, "load a client")
	nodes, err := e2enode.GetReadySchedulableNodes(ctx, client)
	framework.ExpectNoError(err, "list nodes")
	framework.TestContext.CloudConfig.NumNodes = len(nodes.Items)
})

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(e2etestingmanifests.GetE2ETestingManifestsFS())
	testfiles.AddFileSource(testfixtures.GetTestFixturesFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	logs.InitLogs()
	defer logs.FlushLogs()

	suite, reporter := framework.CreateGinkgoConfig()
	if *specs != "" {
		chosen, err := readNames(*specs)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		suite.FocusStrings, suite.SkipStrings = chosen, nil
	}
	if *results != "" {
		file, err := os.Create(*results)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		defer file.Close()
		reportTo(file)
	}
	gomega.RegisterFailHandler(framework.Fail)
	if !ginkgo.RunSpecs(failedSuite{}, "Kubernetes e2e suite", suite, reporter) {
		os.Exit(1)
	}
}

// readNames makes an expression for each line of the file.
func readNames(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var names []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			names = append(names, regexp.QuoteMeta(name)+"$")
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no spec", path)
	}
	return names, lines.Err()
}

func reportTo(file *os.File) {
	var mutex sync.Mutex
	encoder := json.NewEncoder(file)
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		if report.State == types.SpecStateSkipped && report.RunTime == 0 && report.NumAttempts == 0 {
			return // not chosen
		}
		mutex.Lock()
		defer mutex.Unlock()
		line := outcome{Name: report.FullText(), State: report.State.String(), Seconds: report.RunTime.Seconds(),
			Failure: report.FailureMessage()}
		if line.Failure != "" {
			line.Place = report.FailureLocation().String()
		}
		_ = encoder.Encode(line)
	})
}
