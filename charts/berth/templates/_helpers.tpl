{{/* Refuses what the chart cannot do. */}}
{{- define "berth.check" -}}
{{- range $name := list .Values.nameOverride .Values.fullnameOverride -}}
{{- if and $name (ne $name "kueue") -}}
{{- fail (printf "nameOverride and fullnameOverride: %q is not possible: the controller finds its webhooks and its Secret by names that begin with kueue" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.page.actions (not (include "berth.hasPage" .)) -}}
{{- fail "page.actions: the page is off; set page.enabled to true" -}}
{{- end -}}
{{- if ((.Values.page).openId).issuer -}}
{{- if not (include "berth.hasPage" .) -}}
{{- fail "page.openId.issuer: the page is off; set page.enabled to true" -}}
{{- end -}}
{{- if not .Values.page.openId.clientID -}}
{{- fail "page.openId.clientID: name the page's client at the provider" -}}
{{- end -}}
{{- if not .Values.page.openId.ca -}}
{{- fail "page.openId.ca: name a ConfigMap whose key ca.crt has the authorities of the provider's certificate; the image has none" -}}
{{- end -}}
{{- end -}}
{{- if ((.Values.page).ledger).claim -}}
{{- if not (include "berth.hasPage" .) -}}
{{- fail "page.ledger.claim: the page is off; set page.enabled to true" -}}
{{- end -}}
{{- if gt (int .Values.controllerManager.replicas) 1 -}}
{{- fail "page.ledger.claim: several replicas cannot write one ledger; set controllerManager.replicas to 1, or leave the claim out" -}}
{{- end -}}
{{- end -}}
{{- if .Values.enableVisibilityAPF -}}
{{- fail "enableVisibilityAPF: the chart has no FlowSchema for the visibility API; set it to false" -}}
{{- end -}}
{{- end -}}

{{/* "true" where the page is served: by its own value, or where Kueue's chart would install KueueViz. */}}
{{- define "berth.hasPage" -}}
{{- if or .Values.page.enabled .Values.enableKueueViz -}}true{{- end -}}
{{- end -}}

{{/* The Configuration: the text of the value, or with other fields where other values require it. */}}
{{- define "berth.configuration" -}}
{{- $text := .Values.managerConfig.controllerManagerConfigYaml -}}
{{- $gates := .Values.controllerManager.featureGates -}}
{{- if or $gates .Values.enableCertManager (ne .Release.Namespace "kueue-system") -}}
{{- $configuration := fromYaml $text -}}
{{- with index $configuration "Error" -}}
{{- fail (printf "managerConfig.controllerManagerConfigYaml: %s" .) -}}
{{- end -}}
{{- if ne .Release.Namespace "kueue-system" -}}
{{- $_ := set $configuration "namespace" .Release.Namespace -}}
{{- end -}}
{{- if .Values.enableCertManager -}}
{{- $_ := set $configuration "internalCertManagement" (dict "enable" false) -}}
{{- end -}}
{{- if $gates -}}
{{- $all := default dict $configuration.featureGates -}}
{{- range $gates }}{{ $_ := set $all .name .enabled }}{{ end -}}
{{- $_ := set $configuration "featureGates" $all -}}
{{- end -}}
{{- toYaml $configuration -}}
{{- else -}}
{{- $text | trim -}}
{{- end -}}
{{- end -}}

{{/* A file of manifests/ for the release's namespace. */}}
{{- define "berth.file" -}}
{{- .root.Files.Get .path | replace "kueue-system" .root.Release.Namespace -}}
{{- end -}}

{{/* "true" where the Configuration queues objects by their pods: Deployments and the like. */}}
{{- define "berth.managesServing" -}}
{{- $configuration := fromYaml .Values.managerConfig.controllerManagerConfigYaml -}}
{{- $frameworks := dig "integrations" "frameworks" list $configuration -}}
{{- range $name := list "deployment" "statefulset" "leaderworkerset.x-k8s.io/leaderworkerset" -}}
{{- if has $name $frameworks -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" where the Configuration queues pods themselves: integrations.frameworks has pod, or a kind of the above. */}}
{{- define "berth.managesPods" -}}
{{- $configuration := fromYaml .Values.managerConfig.controllerManagerConfigYaml -}}
{{- if has "pod" (dig "integrations" "frameworks" list $configuration) -}}true{{- end -}}
{{- include "berth.managesServing" . -}}
{{- end -}}

{{/* "true" where the Configuration queues the clusters or jobs of Dask. */}}
{{- define "berth.managesDask" -}}
{{- $configuration := fromYaml .Values.managerConfig.controllerManagerConfigYaml -}}
{{- $frameworks := dig "integrations" "frameworks" list $configuration -}}
{{- if or (has "kubernetes.dask.org/daskcluster" $frameworks) (has "kubernetes.dask.org/daskjob" $frameworks) -}}true{{- end -}}
{{- end -}}

{{/* Sets cert-manager's annotation in .object, which gets its CA. */}}
{{- define "berth.injectCa" -}}
{{- $annotations := default dict .object.metadata.annotations -}}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/kueue-serving-cert" .root.Release.Namespace) -}}
{{- $_ := set .object.metadata "annotations" $annotations -}}
{{- end -}}
