package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

func testDiscovery(t *testing.T) {
	s := newSetup(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(s.config)
	s.run("version", func(s *setup) {
		version, err := client.ServerVersion()
		s.ok(err, "version")
		s.equal(version.Major, "1", "major")
	})
	s.run("groups and resources", func(s *setup) {
		groups, resources, err := client.ServerGroupsAndResources()
		s.ok(err, "groups and resources")
		if len(groups) < 10 || len(resources) < 10 {
			s.Fatalf("%d groups, %d lists of resources", len(groups), len(resources))
		}
	})
	s.run("legacy documents", func(s *setup) {
		legacy := *client
		legacy.UseLegacyDiscovery = true
		list, err := legacy.ServerResourcesForGroupVersion("apps/v1")
		s.ok(err, "resources of apps/v1")
		if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Name == "deployments/scale" && r.Kind == "Scale" && r.Group == "autoscaling"
		}) {
			s.Fatalf("no deployments/scale in %v", list.APIResources)
		}
	})
	s.run("preferred resources", func(s *setup) {
		lists, err := client.ServerPreferredNamespacedResources()
		s.ok(err, "preferred resources")
		kinds, err := discovery.GroupVersionResources(
			discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists))
		s.ok(err, "names of resources")
		if _, ok := kinds[schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}]; !ok {
			s.Fatalf("no jobs in %v", kinds)
		}
	})
	s.run("mapper", func(s *setup) {
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
		s.ok(err, "mapping of Deployment")
		s.equal(mapping.Resource.String(), "apps/v1, Resource=deployments", "resource")
		s.equal(mapping.Scope.Name(), meta.RESTScopeNameNamespace, "scope")
		expanded := restmapper.NewShortcutExpander(mapper, client, nil)
		resource, err := expanded.ResourceFor(schema.GroupVersionResource{Resource: "sts"})
		s.ok(err, "short name")
		s.equal(resource.Resource, "statefulsets", "resource of sts")
		_, err = mapper.RESTMapping(schema.GroupKind{Group: "none.berth.dev", Kind: "None"})
		s.refused(err, meta.IsNoMatchError, "mapping of an unknown kind")
	})
	s.run("timeout of a request", func(s *setup) {
		get := s.client.Discovery().RESTClient().Get
		err := get().AbsPath("/version").Param("timeout", "soon").Do(s.ctx).Error()
		s.refused(err, apierrors.IsBadRequest, "request with a bad timeout")
		for _, timeout := range []string{"0s", "3m", "1h0m0.5s"} {
			s.ok(get().AbsPath("/version").Param("timeout", timeout).Do(s.ctx).Error(), timeout)
		}
	})
	s.run("no table of a review", func(s *setup) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}}}
		err := s.client.AuthorizationV1().RESTClient().Post().Resource("selfsubjectaccessreviews").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Body(review).Do(s.ctx).Error()
		s.refused(err, apierrors.IsNotAcceptable, "review as a Table")
	})
	s.run("openapi v3", func(s *setup) {
		paths, err := client.OpenAPIV3().Paths()
		s.ok(err, "paths")
		document, ok := paths["apis/apps/v1"]
		s.equal(ok, true, "path of apps/v1")
		bytes, err := document.Schema("application/json")
		s.ok(err, "document of apps/v1")
		if !strings.Contains(string(bytes), "/apis/apps/v1/namespaces/{namespace}/deployments/{name}") {
			s.Fatal("no path of Deployments")
		}
	})
}

func testTypedClient(t *testing.T) {
	s := newSetup(t)
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	s.run("stale update", func(s *setup) {
		first := s.makeConfigMap("stale", map[string]string{"a": "1"})
		second := first.DeepCopy()
		second.Data["a"] = "2"
		_, err := maps.Update(s.ctx, second, metav1.UpdateOptions{})
		s.ok(err, "update")
		first.Data["a"] = "3"
		_, err = maps.Update(s.ctx, first, metav1.UpdateOptions{})
		s.refused(err, apierrors.IsConflict, "stale update")
		s.ok(retry.RetryOnConflict(retry.DefaultRetry, func() error {
			now, err := maps.Get(s.ctx, "stale", metav1.GetOptions{})
			if err != nil {
				return err
			}
			now.Data["a"] = "3"
			_, err = maps.Update(s.ctx, now, metav1.UpdateOptions{})
			return err
		}), "retried update")
	})
	s.run("errors", func(s *setup) {
		_, err := maps.Get(s.ctx, "none", metav1.GetOptions{})
		s.refused(err, apierrors.IsNotFound, "get")
		_, err = maps.Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "A_b"}}, metav1.CreateOptions{})
		s.refused(err, apierrors.IsInvalid, "create with a bad name")
		if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) {
			s.Fatalf("no cause in %v", err)
		}
		s.makeConfigMap("twice", nil)
		_, err = maps.Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "twice"}}, metav1.CreateOptions{})
		s.refused(err, apierrors.IsAlreadyExists, "second create")
		_, err = s.client.CoreV1().ConfigMaps("none").Create(s.ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		s.refused(err, apierrors.IsNotFound, "create in an unknown namespace")
	})
	s.run("preconditions", func(s *setup) {
		made := s.makeConfigMap("guarded", nil)
		err := maps.Delete(s.ctx, "guarded", *metav1.NewPreconditionDeleteOptions("other"))
		s.refused(err, apierrors.IsConflict, "delete with another uid")
		s.ok(maps.Delete(s.ctx, "guarded", *metav1.NewPreconditionDeleteOptions(string(made.UID))), "delete")
	})
	s.run("dry run", func(s *setup) {
		_, err := maps.Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dry"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		s.ok(err, "create")
		_, err = maps.Get(s.ctx, "dry", metav1.GetOptions{})
		s.refused(err, apierrors.IsNotFound, "get after a dry run")
	})
	s.run("selectors", func(s *setup) {
		for _, name := range []string{"red", "blue"} {
			made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"color": name}},
				Type: corev1.SecretType("berth.dev/" + name), StringData: map[string]string{"a": "b"}}
			_, err := s.client.CoreV1().Secrets(s.namespace).Create(s.ctx, made, metav1.CreateOptions{})
			s.ok(err, "create")
		}
		for _, options := range []metav1.ListOptions{{LabelSelector: "color in (red), color"},
			{FieldSelector: "type=berth.dev/red"}, {FieldSelector: "metadata.name=red"}} {
			found, err := s.client.CoreV1().Secrets(s.namespace).List(s.ctx, options)
			s.ok(err, "list")
			s.equal(len(found.Items), 1, fmt.Sprint(options))
			s.equal(string(found.Items[0].Data["a"]), "b", "data")
		}
	})
	s.run("delete collection", func(s *setup) {
		err := s.client.CoreV1().Secrets(s.namespace).DeleteCollection(s.ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: "color=red"})
		s.ok(err, "delete")
		found, err := s.client.CoreV1().Secrets(s.namespace).List(s.ctx, metav1.ListOptions{LabelSelector: "color"})
		s.ok(err, "list")
		s.equal(len(found.Items), 1, "what is left")
	})
	s.run("finalizer", func(s *setup) {
		made := s.makeConfigMap("held", nil)
		made.Finalizers = []string{"berth.dev/hold"}
		made, err := maps.Update(s.ctx, made, metav1.UpdateOptions{})
		s.ok(err, "update")
		s.ok(maps.Delete(s.ctx, "held", metav1.DeleteOptions{}), "delete")
		held, err := maps.Get(s.ctx, "held", metav1.GetOptions{})
		s.ok(err, "get")
		s.equal(held.DeletionTimestamp != nil, true, "marked")
		held.Finalizers = nil
		_, err = maps.Update(s.ctx, held, metav1.UpdateOptions{})
		s.ok(err, "update without the finalizer")
		_, err = maps.Get(s.ctx, "held", metav1.GetOptions{})
		s.refused(err, apierrors.IsNotFound, "get after the end")
	})
}

func testPatch(t *testing.T) {
	s := newSetup(t)
	deployments := s.client.AppsV1().Deployments(s.namespace)
	labels := map[string]string{"app": "patched"}
	_, err := deployments.Create(s.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "patched", Annotations: map[string]string{"a": "b"}},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: makePodTemplate(labels)}}, metav1.CreateOptions{})
	s.ok(err, "create")
	patch := func(s *setup, of types.PatchType, body string) *appsv1.Deployment {
		s.Helper()
		patched, err := deployments.Patch(s.ctx, "patched", of, []byte(body), metav1.PatchOptions{})
		s.ok(err, body)
		return patched
	}
	s.run("json", func(s *setup) {
		patched := patch(s, types.JSONPatchType, `[{"op":"test","path":"/metadata/annotations/a","value":"b"},
			{"op":"replace","path":"/metadata/annotations/a","value":"c"},{"op":"add","path":"/spec/paused","value":true}]`)
		s.equal(patched.Annotations["a"], "c", "annotation")
		s.equal(patched.Spec.Paused, true, "paused")
		_, err := deployments.Patch(s.ctx, "patched", types.JSONPatchType,
			[]byte(`[{"op":"test","path":"/metadata/annotations/a","value":"z"}]`), metav1.PatchOptions{})
		s.refused(err, apierrors.IsInvalid, "failed test")
	})
	s.run("merge", func(s *setup) {
		patched := patch(s, types.MergePatchType, `{"metadata":{"annotations":{"a":null,"d":"e"}}}`)
		_, left := patched.Annotations["a"]
		s.equal(left, false, "removed annotation")
		s.equal(patched.Annotations["d"], "e", "annotation")
	})
	s.run("strategic", func(s *setup) {
		patched := patch(s, types.StrategicMergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"none"}]}}}}`)
		s.equal(len(patched.Spec.Template.Spec.Containers), 2, "containers")
		patched = patch(s, types.StrategicMergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"second","$patch":"delete"}]}}}}`)
		s.equal(len(patched.Spec.Template.Spec.Containers), 1, "containers")
	})
	s.run("stale", func(s *setup) {
		_, err := deployments.Patch(s.ctx, "patched", types.MergePatchType,
			[]byte(`{"metadata":{"resourceVersion":"1"}}`), metav1.PatchOptions{})
		s.refused(err, apierrors.IsConflict, "patch with an old resourceVersion")
	})
}

func testApply(t *testing.T) {
	s := newSetup(t)
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	make := func(value string) *coreapply.ConfigMapApplyConfiguration {
		return coreapply.ConfigMap("applied", s.namespace).WithData(map[string]string{"a": value})
	}
	s.run("create and no change", func(s *setup) {
		first, err := maps.Apply(s.ctx, make("1"), metav1.ApplyOptions{FieldManager: "one"})
		s.ok(err, "apply")
		again, err := maps.Apply(s.ctx, make("1"), metav1.ApplyOptions{FieldManager: "one"})
		s.ok(err, "apply again")
		s.equal(again.ResourceVersion, first.ResourceVersion, "resourceVersion")
	})
	s.run("conflict", func(s *setup) {
		_, err := maps.Apply(s.ctx, make("2"), metav1.ApplyOptions{FieldManager: "two"})
		s.refused(err, apierrors.IsConflict, "apply of another manager")
		if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
			s.Fatalf("no cause in %v", err)
		}
	})
	s.run("force", func(s *setup) {
		forced, err := maps.Apply(s.ctx, make("2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
		s.ok(err, "forced apply")
		s.equal(forced.Data["a"], "2", "data")
		mine, err := coreapply.ExtractConfigMap(forced, "one")
		s.ok(err, "extract the fields of one")
		s.equal(len(mine.Data), 0, "data that the first manager owns")
	})
	s.run("what nobody owns goes", func(s *setup) {
		applied, err := maps.Apply(s.ctx, coreapply.ConfigMap("applied", s.namespace), metav1.ApplyOptions{FieldManager: "two"})
		s.ok(err, "apply without data")
		s.equal(len(applied.Data), 0, "data")
	})
	s.run("lists by key", func(s *setup) {
		deployments := s.client.AppsV1().Deployments(s.namespace)
		labels := map[string]string{"app": "applied"}
		apply := func(container, manager string) *appsv1.Deployment {
			applied, err := deployments.Apply(s.ctx, appsapply.Deployment("applied", s.namespace).WithSpec(
				appsapply.DeploymentSpec().WithReplicas(0).WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
					WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(coreapply.PodSpec().WithContainers(
						coreapply.Container().WithName(container).WithImage("none"))))),
				metav1.ApplyOptions{FieldManager: manager})
			s.ok(err, "apply as "+manager)
			return applied
		}
		apply("a", "one")
		s.equal(len(apply("b", "two").Spec.Template.Spec.Containers), 2, "containers of both managers")
		s.equal(apply("c", "two").Spec.Template.Spec.Containers[1].Name, "c", "the second manager's container")
	})
	s.run("status", func(s *setup) {
		apply := coreapply.Namespace(s.namespace).WithStatus(coreapply.NamespaceStatus().WithConditions(
			coreapply.NamespaceCondition().WithType("berth.dev/Tested").WithStatus(corev1.ConditionTrue)))
		applied, err := s.client.CoreV1().Namespaces().ApplyStatus(s.ctx, apply, metav1.ApplyOptions{FieldManager: "one"})
		s.ok(err, "apply of the status")
		s.equal(len(applied.Status.Conditions), 1, "conditions")
	})
}

func testSubresources(t *testing.T) {
	s := newSetup(t)
	labels := map[string]string{"app": "sub"}
	_, err := s.client.AppsV1().Deployments(s.namespace).Create(s.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "sub"},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: makePodTemplate(labels)}}, metav1.CreateOptions{})
	s.ok(err, "create")
	pods := s.client.CoreV1().Pods(s.namespace)
	s.run("scale", func(s *setup) {
		client := discovery.NewDiscoveryClientForConfigOrDie(s.config)
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
		scales, err := scale.NewForConfig(s.config, mapper, dynamicPath, scale.NewDiscoveryScaleKindResolver(client))
		s.ok(err, "client of scales")
		resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
		// The controller writes the status of the Deployment meanwhile.
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			found, err := scales.Scales(s.namespace).Get(s.ctx, resource, "sub", metav1.GetOptions{})
			s.ok(err, "get")
			s.equal(found.Status.Selector, "app=sub", "selector")
			found.Spec.Replicas = 1
			_, err = scales.Scales(s.namespace).Update(s.ctx, resource, found, metav1.UpdateOptions{})
			return err
		})
		s.ok(err, "update")
		applied, err := s.client.AppsV1().Deployments(s.namespace).GetScale(s.ctx, "sub", metav1.GetOptions{})
		s.ok(err, "get again")
		s.equal(applied.Spec, autoscalingv1.ScaleSpec{Replicas: 1}, "scale")
	})
	s.run("status and generation", func(s *setup) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: makePodTemplate(nil).Spec}
		s.eventually("a pod may be created", func() (bool, error) {
			_, err := pods.Create(s.ctx, pod, metav1.CreateOptions{})
			return err == nil, nil // the ServiceAccount comes a moment after the namespace
		})
		body := `{"status":{"conditions":[{"type":"berth.dev/Gate","status":"True"}]},"spec":{"nodeName":"ignored"}}`
		patched, err := pods.Patch(s.ctx, "p", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
		s.ok(err, "patch of the status")
		s.equal(patched.Spec.NodeName, "", "node name")
		s.equal(slices.ContainsFunc(patched.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == "berth.dev/Gate"
		}), true, "condition")
	})
	s.run("eviction", func(s *setup) {
		err := pods.EvictV1(s.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: s.namespace}})
		s.ok(err, "evict")
		s.eventually("the pod is gone", func() (bool, error) {
			_, err := pods.Get(s.ctx, "p", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	})
	s.run("reviews", func(s *setup) {
		accounts := s.client.CoreV1().ServiceAccounts(s.namespace)
		_, err := accounts.Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "me"}}, metav1.CreateOptions{})
		s.ok(err, "create a ServiceAccount")
		token, err := accounts.CreateToken(s.ctx, "me", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}, metav1.CreateOptions{})
		s.ok(err, "token")
		review, err := s.client.AuthenticationV1().TokenReviews().Create(s.ctx,
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}, metav1.CreateOptions{})
		s.ok(err, "review of the token")
		user := "system:serviceaccount:" + s.namespace + ":me"
		s.equal(review.Status.User.Username, user, "user of the token")
		access, err := s.client.AuthorizationV1().SubjectAccessReviews().Create(s.ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: s.namespace, Verb: "get", Resource: "pods"}}}, metav1.CreateOptions{})
		s.ok(err, "review of a right")
		s.equal(access.Status.Allowed, false, "allowed")
	})
}

func testPages(t *testing.T) {
	s := newSetup(t)
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	const count = 25
	want := map[string]bool{}
	for i := range count {
		name := fmt.Sprintf("page-%02d", i)
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"in": "pages"}}}
		_, err := maps.Create(s.ctx, made, metav1.CreateOptions{})
		s.ok(err, "create")
		want[name] = true
	}
	s.run("continue", func(s *setup) {
		options := metav1.ListOptions{Limit: 10, LabelSelector: "in=pages"}
		got := map[string]bool{}
		for {
			page, err := maps.List(s.ctx, options)
			s.ok(err, "page")
			for _, item := range page.Items {
				got[item.Name] = true
			}
			if page.Continue == "" {
				break
			}
			s.equal(len(page.Items), 10, "size of a page")
			options.Continue = page.Continue
		}
		s.equal(got, want, "names")
	})
	s.run("remaining items", func(s *setup) {
		page, err := s.client.CoreV1().ConfigMaps(s.namespace).List(s.ctx, metav1.ListOptions{Limit: 10})
		s.ok(err, "page")
		all, err := s.client.CoreV1().ConfigMaps(s.namespace).List(s.ctx, metav1.ListOptions{})
		s.ok(err, "list")
		s.equal(*page.RemainingItemCount, len(all.Items)-10, "remaining items")
	})
	s.run("pager", func(s *setup) {
		seen := 0
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, options)
		})
		pages.PageSize = 7
		s.ok(pages.EachListItem(s.ctx, metav1.ListOptions{LabelSelector: "in=pages"}, func(runtime.Object) error {
			seen++
			return nil
		}), "walk")
		s.equal(seen, count, "items")
	})
	s.run("bad token", func(s *setup) {
		_, err := maps.List(s.ctx, metav1.ListOptions{Limit: 10, Continue: "none"})
		s.refused(err, apierrors.IsBadRequest, "list")
	})
	s.run("metadata of a list", func(s *setup) {
		list, err := maps.List(s.ctx, metav1.ListOptions{ResourceVersion: "0"})
		s.ok(err, "list")
		bytes, err := json.Marshal(list.ListMeta)
		s.ok(err, "encode")
		s.equal(list.ResourceVersion != "" && list.ResourceVersion != "0", true, string(bytes))
	})
}
