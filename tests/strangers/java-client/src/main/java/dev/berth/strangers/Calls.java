package dev.berth.strangers;

import io.kubernetes.client.custom.Quantity;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.AppsV1Api;
import io.kubernetes.client.openapi.apis.BatchV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.apis.RbacAuthorizationV1Api;
import io.kubernetes.client.openapi.apis.VersionApi;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1Container;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1DeploymentSpec;
import io.kubernetes.client.openapi.models.V1Job;
import io.kubernetes.client.openapi.models.V1JobSpec;
import io.kubernetes.client.openapi.models.V1LabelSelector;
import io.kubernetes.client.openapi.models.V1Namespace;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1PodSpec;
import io.kubernetes.client.openapi.models.V1PodTemplateSpec;
import io.kubernetes.client.openapi.models.V1ResourceRequirements;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.Watch;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.options.ListOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Calls of the Kubernetes client for Java; prints a line for each: its name, and what failed. */
public final class Calls {
  private static final String SPACE = "java";
  private static final long PATIENCE_SECONDS = 40;

  private final ApiClient client;
  private final CoreV1Api core;
  private final AppsV1Api apps;
  private final BatchV1Api batch;
  private final Map<String, Callable<Void>> calls = new LinkedHashMap<>();

  private Calls() throws Exception {
    client = Config.defaultClient();
    client.setReadTimeout(0); // watches stay open
    core = new CoreV1Api(client);
    apps = new AppsV1Api(client);
    batch = new BatchV1Api(client);
  }

  public static void main(String[] arguments) throws Exception {
    int failed = new Calls().run();
    System.exit(failed == 0 ? 0 : 1);
  }

  private int run() {
    addRequests();
    addPatches();
    addWatches();
    addEnd();
    int failed = 0;
    for (Map.Entry<String, Callable<Void>> call : calls.entrySet()) {
      String result = "ok";
      try {
        call.getValue().call();
      } catch (ApiException error) {
        result = "FAILED: " + error.getCode() + " " + error.getResponseBody();
      } catch (Throwable error) {
        result = "FAILED: " + error;
      }
      if (!result.equals("ok")) {
        failed++;
      }
      System.out.println(call.getKey() + ": " + result.replace('\n', ' '));
    }
    return failed;
  }

  private interface Action {
    void run() throws Exception;
  }

  private void add(String name, Action action) {
    calls.put(
        name,
        () -> {
          action.run();
          return null;
        });
  }

  private static void equal(Object got, Object want) {
    if (!want.equals(got)) {
      throw new AssertionError("got " + got + ", want " + want);
    }
  }

  private static V1ConfigMap configMap(String name) {
    return new V1ConfigMap()
        .metadata(new V1ObjectMeta().name(name).namespace(SPACE))
        .data(Map.of("a", "1"));
  }

  private static V1PodTemplateSpec template(Map<String, String> labels, String restart) {
    V1Container container =
        new V1Container()
            .name("c")
            .image("none")
            .resources(new V1ResourceRequirements().requests(Map.of("cpu", new Quantity("100m"))));
    return new V1PodTemplateSpec()
        .metadata(new V1ObjectMeta().labels(labels))
        .spec(new V1PodSpec().containers(List.of(container)).restartPolicy(restart));
  }

  private void addRequests() {
    add("version", () -> equal(new VersionApi(client).getCode().execute().getMajor(), "1"));
    add(
        "create namespace",
        () ->
            core.createNamespace(new V1Namespace().metadata(new V1ObjectMeta().name(SPACE)))
                .execute());
    add("list nodes", () -> core.listNode().execute().getItems().forEach(node -> node.getStatus()));
    add("list namespaces", () -> core.listNamespace().execute());
    add("list pods", () -> core.listPodForAllNamespaces().execute());
    add("list services", () -> core.listServiceForAllNamespaces().execute());
    add("list events", () -> core.listEventForAllNamespaces().execute());
    add(
        "list roles",
        () -> new RbacAuthorizationV1Api(client).listClusterRole().execute());
    add(
        "create config map",
        () -> core.createNamespacedConfigMap(SPACE, configMap("one")).execute());
    add(
        "create again",
        () -> {
          try {
            core.createNamespacedConfigMap(SPACE, configMap("one")).execute();
          } catch (ApiException error) {
            equal(error.getCode(), 409);
            return;
          }
          throw new AssertionError("created twice");
        });
    add(
        "replace config map",
        () -> {
          V1ConfigMap now = core.readNamespacedConfigMap("one", SPACE).execute();
          now.setData(Map.of("a", "2"));
          equal(
              core.replaceNamespacedConfigMap("one", SPACE, now).execute().getData().get("a"), "2");
        });
    add(
        "pages",
        () -> {
          for (int i = 0; i < 7; i++) {
            core.createNamespacedConfigMap(SPACE, configMap("page-" + i)).execute();
          }
          int seen = 0;
          String more = null;
          do {
            V1ConfigMapList page =
                core.listNamespacedConfigMap(SPACE).limit(3)._continue(more).execute();
            seen += page.getItems().size();
            more = page.getMetadata().getContinue();
          } while (more != null);
          equal(seen, core.listNamespacedConfigMap(SPACE).execute().getItems().size());
        });
    add(
        "create deployment",
        () -> {
          Map<String, String> labels = Map.of("app", "web");
          V1Deployment deployment =
              new V1Deployment()
                  .metadata(new V1ObjectMeta().name("web"))
                  .spec(
                      new V1DeploymentSpec()
                          .replicas(0)
                          .selector(new V1LabelSelector().matchLabels(labels))
                          .template(template(labels, null)));
          apps.createNamespacedDeployment(SPACE, deployment).execute();
          equal(
              apps.readNamespacedDeploymentScale("web", SPACE).execute().getSpec().getReplicas(),
              0);
        });
    add(
        "create job",
        () -> {
          V1Job job =
              new V1Job()
                  .metadata(new V1ObjectMeta().name("work"))
                  .spec(new V1JobSpec().suspend(true).template(template(null, "Never")));
          batch.createNamespacedJob(SPACE, job).execute();
          equal(batch.readNamespacedJobStatus("work", SPACE).execute().getKind(), "Job");
        });
    add(
        "delete job",
        () ->
            batch.deleteNamespacedJob("work", SPACE).propagationPolicy("Background").execute());
    add(
        "dynamic",
        () -> {
          DynamicKubernetesApi maps = new DynamicKubernetesApi("", "v1", "configmaps", client);
          equal(maps.get(SPACE, "one").throwsApiException().getObject().getKind(), "ConfigMap");
          equal(
              maps.list(SPACE, new ListOptions())
                      .throwsApiException()
                      .getObject()
                      .getItems()
                      .size()
                  > 7,
              true);
        });
    add(
        "generic",
        () -> {
          GenericKubernetesApi<V1ConfigMap, V1ConfigMapList> maps =
              new GenericKubernetesApi<>(
                  V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", client);
          maps.create(configMap("generic")).throwsApiException();
          maps.delete(SPACE, "generic").throwsApiException();
          equal(maps.get(SPACE, "generic").getHttpStatusCode(), 404);
        });
  }

  private V1ConfigMap patch(String body, String format) throws ApiException {
    return PatchUtils.patch(
        V1ConfigMap.class,
        () ->
            core.patchNamespacedConfigMap("one", SPACE, new V1Patch(body))
                .fieldManager("java")
                .force(format.equals(V1Patch.PATCH_FORMAT_APPLY_YAML) ? true : null)
                .buildCall(null),
        format,
        client);
  }

  private void addPatches() {
    add(
        "json patch",
        () ->
            equal(
                patch(
                        "[{\"op\":\"replace\",\"path\":\"/data/a\",\"value\":\"3\"}]",
                        V1Patch.PATCH_FORMAT_JSON_PATCH)
                    .getData()
                    .get("a"),
                "3"));
    add(
        "merge patch",
        () ->
            equal(
                patch("{\"data\":{\"b\":\"4\"}}", V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH)
                    .getData()
                    .size(),
                2));
    add(
        "strategic patch",
        () ->
            equal(
                patch(
                        "{\"data\":{\"b\":null}}",
                        V1Patch.PATCH_FORMAT_STRATEGIC_MERGE_PATCH)
                    .getData()
                    .size(),
                1));
    add(
        "apply",
        () ->
            equal(
                patch(
                        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\"},"
                            + "\"data\":{\"a\":\"5\"}}",
                        V1Patch.PATCH_FORMAT_APPLY_YAML)
                    .getData()
                    .get("a"),
                "5"));
  }

  private void addWatches() {
    add(
        "watch",
        () -> {
          String from =
              core.listNamespacedConfigMap(SPACE).execute().getMetadata().getResourceVersion();
          core.createNamespacedConfigMap(SPACE, configMap("seen")).execute();
          core.deleteNamespacedConfigMap("seen", SPACE).execute();
          List<String> types = new ArrayList<>();
          try (Watch<V1ConfigMap> watch =
              Watch.createWatch(
                  client,
                  core.listNamespacedConfigMap(SPACE)
                      .watch(true)
                      .resourceVersion(from)
                      .fieldSelector("metadata.name=seen")
                      .timeoutSeconds((int) PATIENCE_SECONDS)
                      .buildCall(null),
                  new com.google.gson.reflect.TypeToken<Watch.Response<V1ConfigMap>>() {}
                      .getType())) {
            for (Watch.Response<V1ConfigMap> event : watch) {
              types.add(event.type);
              if (types.size() == 2) {
                break;
              }
            }
          }
          equal(types, List.of("ADDED", "DELETED"));
        });
    add("informer", this::runInformer);
  }

  private void runInformer() throws Exception {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    GenericKubernetesApi<V1ConfigMap, V1ConfigMapList> maps =
        new GenericKubernetesApi<>(
            V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", client);
    SharedIndexInformer<V1ConfigMap> informer =
        factory.sharedIndexInformerFor(maps, V1ConfigMap.class, 1000, SPACE);
    CountDownLatch seen = new CountDownLatch(3);
    informer.addEventHandler(
        new ResourceEventHandler<V1ConfigMap>() {
          @Override
          public void onAdd(V1ConfigMap object) {
            count(object);
          }

          @Override
          public void onUpdate(V1ConfigMap before, V1ConfigMap after) {
            if (!before
                .getMetadata()
                .getResourceVersion()
                .equals(after.getMetadata().getResourceVersion())) {
              count(after);
            }
          }

          @Override
          public void onDelete(V1ConfigMap object, boolean isStale) {
            count(object);
          }

          private void count(V1ConfigMap object) {
            if ("informed".equals(object.getMetadata().getName())) {
              seen.countDown();
            }
          }
        });
    factory.startAllRegisteredInformers();
    try {
      for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
          !informer.hasSynced();
          Thread.sleep(20)) {
        equal(System.nanoTime() < end, true);
      }
      V1ConfigMap made = core.createNamespacedConfigMap(SPACE, configMap("informed")).execute();
      made.setData(Map.of("a", "9"));
      core.replaceNamespacedConfigMap("informed", SPACE, made).execute();
      core.deleteNamespacedConfigMap("informed", SPACE).execute();
      equal(seen.await(PATIENCE_SECONDS, TimeUnit.SECONDS), true);
    } finally {
      factory.stopAllRegisteredInformers();
    }
  }

  private void addEnd() {
    add("delete namespace", () -> core.deleteNamespace(SPACE).execute());
  }
}
