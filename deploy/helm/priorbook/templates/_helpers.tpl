{{- define "priorbook.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "priorbook.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "priorbook.labels" -}}
{{ include "priorbook.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "priorbook.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "priorbook.account" -}}
{{ .Values.serviceAccount.name | default (include "priorbook.name" .) }}
{{- end -}}

{{/* What the pods that serve the API are called. */}}
{{- define "priorbook.server" -}}
{{ eq .Values.mode "cluster" | ternary "api" "single" }}
{{- end -}}

{{/*
One set of pods, each with a volume of its own. Takes root, part (single, recorder or api), role, upstream, records (it
writes a tape: liveness, credentials of venues) and serves (it answers the API).
*/}}
{{- define "priorbook.pods" -}}
{{- $root := .root -}}
{{- $values := index $root.Values .part -}}
{{- $name := printf "%s-%s" (include "priorbook.name" $root) .part -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels:
    {{- include "priorbook.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  serviceName: {{ $name }}
  replicas: {{ $values.replicas | default 1 }}
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "priorbook.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
  template:
    metadata:
      labels:
        {{- include "priorbook.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .part }}
        {{- with $root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $root.Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "priorbook.account" $root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      # A recorder that stops in order hands over and sends its last commits.
      terminationGracePeriodSeconds: 60
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: { type: RuntimeDefault }
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: priorbook
          image: {{ include "priorbook.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [serve]
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          env:
            - name: PRIORBOOK_DATA
              value: /data
            - name: PRIORBOOK_ROLE
              value: {{ .role }}
            - name: PRIORBOOK_UPSTREAM
              value: {{ .upstream }}
            - name: PRIORBOOK_OPS_HOST
              value: 0.0.0.0
            {{- if .records }}
            - name: PRIORBOOK_RECORDER
              valueFrom: { fieldRef: { fieldPath: metadata.name } }
            {{- end }}
            {{- if .serves }}
            - name: PRIORBOOK_API_HOST
              value: 0.0.0.0
            {{- with $values.workers }}
            - name: PRIORBOOK_API_WORKERS
              value: {{ . | quote }}
            {{- end }}
            {{- end }}
            {{- if eq $root.Values.mode "cluster" }}
            - name: PRIORBOOK_STORE
              valueFrom:
                secretKeyRef:
                  name: {{ required "store.existingSecret: a cluster needs a secret with the address of its database" $root.Values.store.existingSecret }}
                  key: {{ $root.Values.store.key }}
            {{- if $root.Values.redis.existingSecret }}
            - name: PRIORBOOK_REDIS
              valueFrom:
                secretKeyRef:
                  name: {{ $root.Values.redis.existingSecret }}
                  key: {{ $root.Values.redis.key }}
            {{- end }}
            {{- end }}
            {{- with $root.Values.s3 }}
            {{- if .address }}
            - name: PRIORBOOK_COLD_ADDRESS
              value: {{ .address | quote }}
            {{- end }}
            {{- if .endpoint }}
            - name: AWS_ENDPOINT_URL_S3
              value: {{ .endpoint | quote }}
            {{- end }}
            {{- if .region }}
            - name: AWS_REGION
              value: {{ .region | quote }}
            {{- end }}
            {{- end }}
            {{- range $variable, $value := $root.Values.settings }}
            - name: {{ $variable }}
              value: {{ $value | quote }}
            {{- end }}
          {{- $names := $root.Values.secrets.all }}
          {{- if .records }}
          {{- $names = concat $names $root.Values.secrets.recorder }}
          {{- end }}
          {{- with $names }}
          envFrom:
            {{- range . }}
            - secretRef: { name: {{ . }} }
            {{- end }}
          {{- end }}
          ports:
            {{- if .serves }}
            - { name: http, containerPort: 8780 }
            {{- end }}
            - { name: ops, containerPort: 9464 }
          # A first start may migrate a tape, or fetch a copy of it.
          startupProbe:
            httpGet: { path: /status, port: ops }
            periodSeconds: 5
            failureThreshold: 720
          livenessProbe:
            httpGet: { path: /status, port: ops }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            {{- if .serves }}
            httpGet: { path: /v3/health, port: http }
            {{- else }}
            httpGet: { path: /status, port: ops }
            {{- end }}
            periodSeconds: 5
            timeoutSeconds: 5
          {{- with $values.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 1Gi }
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if $values.affinity }}
      affinity:
        {{- toYaml $values.affinity | nindent 8 }}
      {{- else if ne .part "single" }}
      # Two of a kind on one machine would die with it.
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "priorbook.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ .part }}
      {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $values.persistence.size }}
{{- end -}}
