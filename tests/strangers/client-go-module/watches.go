package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
)

// next returns the next event, which must come within the patience.
func next(s *setup, from watch.Interface) watch.Event {
	s.Helper()
	select {
	case event, open := <-from.ResultChan():
		if !open {
			s.Fatal("the watch ended")
		}
		return event
	case <-time.After(patience):
		s.Fatal("no event")
	}
	panic("unreachable")
}

func testWatch(t *testing.T) {
	s := newSetup(t)
	maps := s.client.CoreV1().ConfigMaps(s.namespace)
	old := s.makeConfigMap("old", nil)
	s.run("changes in order", func(s *setup) {
		watching, err := maps.Watch(s.ctx, metav1.ListOptions{ResourceVersion: old.ResourceVersion,
			FieldSelector: "metadata.name=seen"})
		s.ok(err, "watch")
		defer watching.Stop()
		made := s.makeConfigMap("seen", nil)
		made.Data = map[string]string{"a": "b"}
		_, err = maps.Update(s.ctx, made, metav1.UpdateOptions{})
		s.ok(err, "update")
		s.ok(maps.Delete(s.ctx, "seen", metav1.DeleteOptions{}), "delete")
		for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			event := next(s, watching)
			s.equal(event.Type, want, "event")
			s.equal(event.Object.(*corev1.ConfigMap).Name, "seen", "name")
		}
	})
	s.run("initial events", func(s *setup) {
		watching, err := maps.Watch(s.ctx, metav1.ListOptions{SendInitialEvents: ptr.To(true),
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
		s.ok(err, "watch")
		defer watching.Stop()
		names := map[string]bool{}
		event := next(s, watching)
		for ; event.Type == watch.Added; event = next(s, watching) {
			names[event.Object.(*corev1.ConfigMap).Name] = true
		}
		s.equal(names["old"], true, "the present object")
		s.equal(event.Type, watch.Bookmark, "event after the present objects")
		s.equal(event.Object.(*corev1.ConfigMap).Annotations[metav1.InitialEventsAnnotationKey], "true", "annotation")
	})
	s.run("an old revision", func(s *setup) {
		watching, err := maps.Watch(s.ctx, metav1.ListOptions{ResourceVersion: "1"})
		if err == nil { // allowed: the first event is the error
			defer watching.Stop()
			event := next(s, watching)
			if event.Type != watch.Error {
				return // the history reaches back to the beginning
			}
			err = apierrors.FromObject(event.Object)
		}
		s.equal(apierrors.IsResourceExpired(err) || apierrors.IsGone(err), true, "error "+err.Error())
	})
	s.run("until", func(s *setup) {
		ctx, cancel := watchtools.ContextWithOptionalTimeout(s.ctx, patience)
		defer cancel()
		done := make(chan error, 1)
		lister := cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "configmaps", s.namespace, fieldsOf("late"))
		go func() {
			_, err := watchtools.UntilWithSync(ctx, lister, &corev1.ConfigMap{}, nil, func(event watch.Event) (bool, error) {
				return event.Type == watch.Modified, nil
			})
			done <- err
		}()
		made := s.makeConfigMap("late", nil)
		s.eventually("an update is noticed", func() (bool, error) {
			made.Data = map[string]string{"at": time.Now().String()}
			var err error
			if made, err = maps.Update(s.ctx, made, metav1.UpdateOptions{}); err != nil {
				return false, err
			}
			select {
			case err := <-done:
				return true, err
			default:
				return false, nil
			}
		})
	})
	s.run("retry watcher", func(s *setup) {
		list, err := maps.List(s.ctx, metav1.ListOptions{})
		s.ok(err, "list")
		watcher, err := watchtools.NewRetryWatcherWithContext(s.ctx, list.ResourceVersion, &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.TimeoutSeconds = ptr.To[int64](1) // ends again and again
				return maps.Watch(ctx, options)
			}})
		s.ok(err, "watcher")
		defer watcher.Stop()
		for _, name := range []string{"again-1", "again-2"} {
			time.Sleep(1200 * time.Millisecond) // longer than one watch
			s.makeConfigMap(name, nil)
			event := next(s, watcher)
			s.equal(event.Object.(*corev1.ConfigMap).Name, name, "name")
		}
	})
}

func testInformers(t *testing.T) {
	s := newSetup(t)
	s.makeConfigMap("before", nil)
	const resync = time.Second
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, resync, informers.WithNamespace(s.namespace))
	maps := factory.Core().V1().ConfigMaps()
	var added, updated, deleted, resynced atomic.Int32
	_, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) },
		UpdateFunc: func(before, after any) {
			if before.(*corev1.ConfigMap).ResourceVersion == after.(*corev1.ConfigMap).ResourceVersion {
				resynced.Add(1)
			} else {
				updated.Add(1)
			}
		},
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	s.ok(err, "handler")
	// Every kind that the factory knows and many operators watch.
	others := []cache.SharedIndexInformer{
		factory.Core().V1().Pods().Informer(), factory.Core().V1().Secrets().Informer(),
		factory.Core().V1().Services().Informer(), factory.Core().V1().Events().Informer(),
		factory.Core().V1().Endpoints().Informer(), factory.Core().V1().ServiceAccounts().Informer(),
		factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Core().V1().Nodes().Informer(),
		factory.Core().V1().Namespaces().Informer(), factory.Core().V1().ResourceQuotas().Informer(),
		factory.Core().V1().LimitRanges().Informer(), factory.Apps().V1().Deployments().Informer(),
		factory.Apps().V1().ReplicaSets().Informer(), factory.Apps().V1().StatefulSets().Informer(),
		factory.Apps().V1().DaemonSets().Informer(), factory.Apps().V1().ControllerRevisions().Informer(),
		factory.Batch().V1().Jobs().Informer(), factory.Batch().V1().CronJobs().Informer(),
		factory.Policy().V1().PodDisruptionBudgets().Informer(), factory.Coordination().V1().Leases().Informer(),
		factory.Discovery().V1().EndpointSlices().Informer(), factory.Rbac().V1().Roles().Informer(),
		factory.Rbac().V1().ClusterRoles().Informer(), factory.Rbac().V1().RoleBindings().Informer(),
		factory.Rbac().V1().ClusterRoleBindings().Informer(), factory.Scheduling().V1().PriorityClasses().Informer(),
		factory.Node().V1().RuntimeClasses().Informer(),
	}
	ctx, cancel := context.WithCancel(s.ctx)
	factory.StartWithContext(ctx)
	s.Cleanup(func() {
		cancel() // Shutdown waits for the end of the informers
		factory.Shutdown()
	})
	s.run("sync", func(s *setup) {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		if result := factory.WaitForCacheSyncWithContext(ctx); result.Err != nil {
			s.Fatal(result.Err)
		}
		s.equal(len(others), 27, "other informers")
	})
	s.run("events", func(s *setup) {
		made := s.makeConfigMap("during", map[string]string{"a": "1"})
		made.Data["a"] = "2"
		_, err := s.client.CoreV1().ConfigMaps(s.namespace).Update(s.ctx, made, metav1.UpdateOptions{})
		s.ok(err, "update")
		s.eventually("the informer has the update", func() (bool, error) {
			cached, err := maps.Lister().ConfigMaps(s.namespace).Get("during")
			return err == nil && cached.Data["a"] == "2", nil
		})
		s.ok(s.client.CoreV1().ConfigMaps(s.namespace).Delete(s.ctx, "during", metav1.DeleteOptions{}), "delete")
		s.eventually("the informer has the end", func() (bool, error) {
			return deleted.Load() == 1 && updated.Load() >= 1, nil
		})
		cached, err := maps.Lister().List(labels.Everything())
		s.ok(err, "list of the cache")
		real, err := s.client.CoreV1().ConfigMaps(s.namespace).List(s.ctx, metav1.ListOptions{})
		s.ok(err, "list")
		s.equal(len(cached), len(real.Items), "objects")
	})
	s.run("resync", func(s *setup) {
		s.eventually("objects come again without a change", func() (bool, error) { return resynced.Load() >= 2, nil })
	})
}

// candidate takes part in an election until it is ended or its lease is lost.
type candidate struct {
	leads   atomic.Bool
	stopped chan struct{}
	end     context.CancelFunc
	done    sync.WaitGroup
}

func newCandidate(s *setup, name string) *candidate {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &candidate{end: cancel, stopped: make(chan struct{})}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, s.namespace, "election",
		s.client.CoreV1(), s.client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
	s.ok(err, "lock")
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 200 * time.Millisecond,
		ReleaseOnCancel: true, Name: name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { c.leads.Store(true) },
			OnStoppedLeading: func() {
				c.leads.Store(false)
				close(c.stopped)
			},
		}})
	s.ok(err, "elector")
	c.done.Add(1)
	go func() {
		defer c.done.Done()
		elector.Run(ctx)
	}()
	return c
}

func testLeaderElection(t *testing.T) {
	s := newSetup(t)
	leases := s.client.CoordinationV1().Leases(s.namespace)
	first := newCandidate(s, "first")
	s.eventually("the first leads", func() (bool, error) { return first.leads.Load(), nil })
	second := newCandidate(s, "second")
	defer func() {
		second.end()
		second.done.Wait()
	}()
	s.run("released", func(s *setup) {
		s.equal(second.leads.Load(), false, "the second leads")
		first.end()
		first.done.Wait()
		s.eventually("the second leads", func() (bool, error) { return second.leads.Load(), nil })
		lease, err := leases.Get(s.ctx, "election", metav1.GetOptions{})
		s.ok(err, "lease")
		s.equal(*lease.Spec.HolderIdentity, "second", "holder")
	})
	s.run("lost", func(s *setup) {
		s.eventually("the lease is taken", func() (bool, error) {
			lease, err := leases.Get(s.ctx, "election", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			now := metav1.NowMicro()
			lease.Spec.HolderIdentity, lease.Spec.RenewTime = ptr.To("thief"), &now
			lease.Spec.LeaseDurationSeconds = ptr.To[int32](3600)
			_, err = leases.Update(s.ctx, lease, metav1.UpdateOptions{})
			if apierrors.IsConflict(err) {
				return false, nil
			}
			return err == nil, err
		})
		select {
		case <-second.stopped:
		case <-time.After(patience):
			s.Fatal("the second goes on without the lease")
		}
		s.equal(second.leads.Load(), false, "the second leads")
	})
}
