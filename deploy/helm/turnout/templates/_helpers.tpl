{{- define "turnout.name" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "turnout.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "turnout.labels" -}}
{{ include "turnout.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "turnout.scheme" -}}
{{ if .Values.tls.existingSecret }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /* What would start and end again for ever, or let people in at one pod only, as far as `config` tells. */ -}}
{{- define "turnout.refusals" -}}
{{- $config := fromYaml .Values.config -}}
{{- $spark := default dict $config.spark -}}
{{- if and (gt (int .Values.replicas) 1) (not (and $config.bus $spark.checkpoints)) -}}
{{- fail "replicas: more than one needs `bus` and `spark.checkpoints` in config; each would lead by itself without a common bus, and none could go on from the checkpoints of another" -}}
{{- end -}}
{{- if and .Values.servers.replicas (not $config.bus) -}}
{{- fail "servers.replicas: servers need `bus` in config, a Kafka by which they follow the pod that leads; an embedded one is reached from its own pod only" -}}
{{- end -}}
{{- $auth := default dict (default dict $config.serve).auth -}}
{{- $logins := or $auth.tokens (default dict $auth.oidc).issuer -}}
{{- $variable := "TURNOUT_SERVE__AUTH__SESSION_KEY" -}}
{{- $key := or $auth.session_key (hasKey .Values.secretEnv $variable) (hasKey .Values.env $variable) -}}
{{- if and (or .Values.servers.replicas (gt (int .Values.replicas) 1)) $logins (not $key) -}}
{{- fail "replicas, servers.replicas: several pods with logins need one `serve.auth.session_key` in config, from a Secret (secretEnv); else a login at one is not known to the others, and servers have no directory to keep a key of their own in" -}}
{{- end -}}
{{- end }}

{{- /* Of a pod that leads or serves: `root` is the chart's scope. */ -}}
{{- define "turnout.podMetadata" -}}
labels:
  {{- include "turnout.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  # Another configuration is another pod.
  checksum/config: {{ .root.Values.config | sha256sum }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* The same, with the command that it runs: run or serve. */ -}}
{{- define "turnout.pod" -}}
automountServiceAccountToken: false
# Else Kubernetes sets TURNOUT_SERVICE_HOST and the like, which Turnout would take for its configuration.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: turnout
    image: "{{ .root.Values.image.repository }}:{{ default .root.Chart.AppVersion .root.Values.image.tag }}"
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: [{{ .command }}]
    securityContext: {{- toYaml .root.Values.securityContext | nindent 6 }}
    env:
      - name: TURNOUT_CONFIG
        value: /etc/turnout/turnout.yaml
      - name: TURNOUT_SERVE__PORT # of the probes and the service
        value: "8400"
      {{- range $variable, $key := .root.Values.secretEnv }}
      - name: {{ $variable }}
        valueFrom:
          secretKeyRef:
            name: {{ required "existingSecret: the Secret that secretEnv takes from" $.root.Values.existingSecret }}
            key: {{ $key }}
      {{- end }}
      {{- range $variable, $value := .root.Values.env }}
      - name: {{ $variable }}
        value: {{ $value | quote }}
      {{- end }}
    ports:
      - name: http
        containerPort: 8400
        protocol: TCP
    startupProbe:
      httpGet: {path: /healthz, port: http, scheme: {{ include "turnout.scheme" .root }}}
      periodSeconds: 2
      timeoutSeconds: 2
      failureThreshold: {{ div .root.Values.probes.startupSeconds 2 }}
    livenessProbe: # the process; not Kafka, which a restart would not help
      httpGet: {path: /healthz, port: http, scheme: {{ include "turnout.scheme" .root }}}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe: # a generation is live
      httpGet: {path: /readyz, port: http, scheme: {{ include "turnout.scheme" .root }}}
      periodSeconds: 5
      timeoutSeconds: 3
    resources: {{- toYaml (eq .command "run" | ternary .root.Values.resources .root.Values.servers.resources) | nindent 6 }}
    volumeMounts:
      - name: config
        mountPath: /etc/turnout
        readOnly: true
      {{- if eq .command "run" }}
      - name: state
        mountPath: /var/lib/turnout
      {{- end }}
      - name: tmp
        mountPath: /tmp
      {{- range $directory, $secret := .root.Values.secretFiles }}
      - name: secret-{{ $directory }}
        mountPath: /run/secrets/{{ $directory }}
        readOnly: true
      {{- end }}
      {{- if .root.Values.tls.existingSecret }}
      - name: tls
        mountPath: /run/secrets/tls
        readOnly: true
      {{- end }}
volumes:
  - name: config
    configMap:
      name: {{ include "turnout.name" .root }}
  - name: tmp
    emptyDir:
      sizeLimit: {{ .root.Values.scratch.sizeLimit }}
  {{- if and (eq .command "run") (not .root.Values.persistence.enabled) }}
  - name: state
    emptyDir:
      sizeLimit: {{ .root.Values.persistence.size }}
  {{- end }}
  {{- range $directory, $secret := .root.Values.secretFiles }}
  - name: secret-{{ $directory }}
    secret:
      secretName: {{ $secret }}
  {{- end }}
  {{- with .root.Values.tls.existingSecret }}
  - name: tls
    secret:
      secretName: {{ . }}
  {{- end }}
{{- end }}
