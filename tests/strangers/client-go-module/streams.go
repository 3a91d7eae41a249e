package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

// upperServer answers what it gets in upper case, on port 8080 of its pod.
const upperServer = `
import socket, threading
server = socket.create_server(("0.0.0.0", 8080))
print("listening", flush=True)
def serve(peer):
    while data := peer.recv(65536):
        peer.sendall(data.upper())
    peer.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
`

// runPod makes a pod of one real process and waits for it to run.
func (s *setup) runPod(name string, edit func(*corev1.Container), command ...string) {
	s.Helper()
	container := corev1.Container{Name: "c", Image: "sh:1", Command: command}
	if edit != nil {
		edit(&container)
	}
	pods := s.client.CoreV1().Pods(s.namespace)
	_, err := pods.Create(s.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}}}, metav1.CreateOptions{})
	s.ok(err, "create the pod "+name)
	s.eventually("the pod "+name+" runs", func() (bool, error) {
		now, err := pods.Get(s.ctx, name, metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.PodRunning, err
	})
}

// sizes is a terminal that changes its size once.
type sizes struct{ left []remotecommand.TerminalSize }

func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(s.left) == 0 {
		return nil
	}
	size := s.left[0]
	s.left = s.left[1:]
	return &size
}

// stream runs a request for streams of the pod over SPDY; the options say which streams it has.
func (s *setup) stream(pod, subresource string, options remotecommand.StreamOptions, command ...string) error {
	s.Helper()
	request := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(s.namespace).Name(pod).
		SubResource(subresource)
	in, out, problems := options.Stdin != nil, options.Stdout != nil, options.Stderr != nil
	if subresource == "exec" {
		request.VersionedParams(&corev1.PodExecOptions{Command: command, TTY: options.Tty,
			Stdin: in, Stdout: out, Stderr: problems}, scheme.ParameterCodec)
	} else {
		request.VersionedParams(&corev1.PodAttachOptions{TTY: options.Tty,
			Stdin: in, Stdout: out, Stderr: problems}, scheme.ParameterCodec)
	}
	executor, err := remotecommand.NewSPDYExecutor(s.config, http.MethodPost, request.URL())
	s.ok(err, "make an executor")
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return executor.StreamWithContext(ctx, options)
}

func testSpdyStreams(t *testing.T) {
	s := newSetup(t)
	s.runPod("p", nil, "sh", "-c", "sleep 1000")
	s.run("output of both kinds and exit code", func(s *setup) {
		var out, problems bytes.Buffer
		err := s.stream("p", "exec", remotecommand.StreamOptions{Stdout: &out, Stderr: &problems},
			"sh", "-c", "echo out; echo err >&2; exit 3")
		var exit exec.ExitError
		s.equal(errors.As(err, &exit) && exit.ExitStatus() == 3, true, fmt.Sprintf("exit code of %v", err))
		s.equal(out.String()+problems.String(), "out\nerr\n", "output")
	})
	s.run("input and its end", func(s *setup) {
		sent := strings.Repeat("line of input\n", 200_000)
		var out bytes.Buffer
		s.ok(s.stream("p", "exec", remotecommand.StreamOptions{Stdin: strings.NewReader(sent), Stdout: &out}, "cat"), "cat")
		s.equal(out.String() == sent, true, fmt.Sprintf("echo of %d bytes, got %d", len(sent), out.Len()))
		out.Reset()
		s.ok(s.stream("p", "exec", remotecommand.StreamOptions{Stdin: strings.NewReader("12345"), Stdout: &out},
			"sh", "-c", "wc -c; echo done"), "wc")
		s.equal(strings.Join(strings.Fields(out.String()), " "), "5 done", "count")
	})
	s.run("large output without a loss", func(s *setup) {
		for range 5 {
			var out bytes.Buffer
			s.ok(s.stream("p", "exec", remotecommand.StreamOptions{Stdout: &out}, "sh", "-c", "yes | head -c 3000000"), "yes")
			s.equal(out.Len(), 3_000_000, "bytes")
		}
	})
	s.run("terminal", func(s *setup) {
		var out bytes.Buffer
		err := s.stream("p", "exec", remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: &out, Tty: true,
			TerminalSizeQueue: &sizes{[]remotecommand.TerminalSize{{Width: 80, Height: 24}, {Width: 101, Height: 31}}}},
			"sh", "-c", "until stty size | grep 101; do sleep 0.05; done")
		s.ok(err, "stty")
		s.equal(strings.Contains(out.String(), "31 101"), true, fmt.Sprintf("size of the terminal in %q", out.String()))
	})
	s.run("refusals", func(s *setup) {
		var out bytes.Buffer
		options := remotecommand.StreamOptions{Stdout: &out}
		s.equal(strings.Contains(fmt.Sprint(s.stream("none", "exec", options, "true")), `pods "none" not found`), true, "no pod")
		s.equal(s.stream("p", "exec", options, "/no/such/program") != nil, true, "no program")
		s.equal(strings.Contains(fmt.Sprint(s.stream("p", "exec", remotecommand.StreamOptions{}, "true")),
			"at least 1 of stdin, stdout, stderr"), true, "no streams")
	})
	s.run("attach", func(s *setup) {
		s.runPod("q", func(c *corev1.Container) { c.Stdin, c.StdinOnce = true, true },
			"sh", "-c", "while read line; do echo got $line; done; sleep 1000")
		out, in := io.Pipe()
		input, send := io.Pipe()
		go func() {
			err := s.stream("q", "attach", remotecommand.StreamOptions{Stdin: input, Stdout: in})
			in.CloseWithError(err)
		}()
		fmt.Fprintln(send, "one")
		got := make([]byte, len("got one\n"))
		_, err := io.ReadFull(out, got)
		s.ok(err, "read")
		s.equal(string(got), "got one\n", "answer")
		send.Close()
		out.Close()
	})
}

func testSpdyPortForward(t *testing.T) {
	s := newSetup(t)
	s.runPod("p", nil, "python3", "-u", "-c", upperServer)
	s.eventually("the server listens", func() (bool, error) {
		log, err := s.client.CoreV1().Pods(s.namespace).GetLogs("p", &corev1.PodLogOptions{}).DoRaw(s.ctx)
		return strings.Contains(string(log), "listening"), err
	})
	transport, upgrader, err := spdy.RoundTripperFor(s.config)
	s.ok(err, "make a transport")
	url := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(s.namespace).Name("p").
		SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:8080", "0:8081"}, stop, ready,
		io.Discard, io.Discard)
	s.ok(err, "make a forwarder")
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		s.Fatalf("forward: %v", err)
	}
	ports, err := forwarder.GetPorts()
	s.ok(err, "ports")
	talk := func(port uint16, text string) (string, error) {
		peer, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), patience)
		if err != nil {
			return "", err
		}
		defer peer.Close()
		if err := peer.SetDeadline(time.Now().Add(patience)); err != nil {
			return "", err
		}
		go func() {
			_, _ = io.WriteString(peer, text)
			_ = peer.(*net.TCPConn).CloseWrite()
		}()
		answer, err := io.ReadAll(peer)
		return string(answer), err
	}
	s.run("connections side by side", func(s *setup) {
		results := make(chan error, 8)
		for number := range cap(results) {
			go func() {
				text := strings.Repeat(fmt.Sprintf("line %d ", number), 50_000)
				answer, err := talk(ports[0].Local, text)
				if err == nil && answer != strings.ToUpper(text) {
					err = fmt.Errorf("%d bytes in place of %d", len(answer), len(text))
				}
				results <- err
			}()
		}
		for range cap(results) {
			s.ok(<-results, "talk")
		}
	})
	s.run("protocol", func(s *setup) {
		_, _, err := dialer.Dial("portforward.v9")
		s.equal(err != nil && strings.Contains(err.Error(), "X-Stream-Protocol-Version: portforward.k8s.io is needed"), true,
			fmt.Sprint(err))
		connection, protocol, err := dialer.Dial("portforward.v9", portforward.PortForwardProtocolV1Name)
		s.ok(err, "dial")
		defer connection.Close()
		s.equal(protocol, portforward.PortForwardProtocolV1Name, "protocol")
		headers := http.Header{}
		headers.Set(corev1.StreamType, "no type")
		_, err = connection.CreateStream(headers)
		s.equal(err != nil, true, "a stream of no type")
	})
	s.run("a port where nobody listens", func(s *setup) {
		answer, _ := talk(ports[1].Local, "anybody?")
		s.equal(answer, "", "answer")
		select { // client-go gives up all ports
		case err := <-ended:
			s.equal(errors.Is(err, portforward.ErrLostConnectionToPod), true, fmt.Sprint(err))
		case <-time.After(patience):
			s.Fatal("the client does not hear of it")
		}
	})
}
