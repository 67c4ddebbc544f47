{{- define "platform.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "platform.labels" -}}
app.kubernetes.io/name: platform-api
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "platform.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "platform.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
{{- end }}

{{- define "platform.env" -}}
- name: MIGRATE
  value: 'false'
- name: WORKER
  value: 'false'
- name: PORT
  value: {{ .Values.server.port | quote }}
- name: SHUTDOWN_DELAY
  value: {{ .Values.shutdownDelay | quote }}
- name: SHUTDOWN_TIMEOUT
  value: {{ .Values.shutdownTimeout | quote }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
