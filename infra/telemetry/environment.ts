// The variables of OpenTelemetry (OTEL_*), which its SDKs share.
import { ConfigError } from '../config/setting.ts'

export type Environment = Record<string, string | undefined>

export type Signal = 'TRACES' | 'METRICS' | 'LOGS'

/** Whether a signal is exported: its exporter is named, or an endpoint is. */
export function isExported(env: Environment, signal: Signal): boolean {
  const exporter = env[`OTEL_${signal}_EXPORTER`]?.trim()
  if (env.OTEL_SDK_DISABLED === 'true' || exporter === 'none') return false
  const endpoint = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] || env.OTEL_EXPORTER_OTLP_ENDPOINT
  if (!exporter && !endpoint) return false
  if (exporter && exporter !== 'otlp')
    throw new ConfigError(`OTEL_${signal}_EXPORTER must be otlp or none, not \`${exporter}\`.`)
  const protocol =
    env[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/json'
  if (protocol !== 'http/json')
    throw new ConfigError(`OTEL_EXPORTER_OTLP_PROTOCOL must be http/json, not \`${protocol}\`.`)
  return true
}

export function numberOf(env: Environment, name: string): number | undefined {
  const text = env[name]?.trim()
  if (!text) return undefined
  if (!/^\d+(\.\d+)?$/.test(text)) throw new ConfigError(`${name} must be a number, not \`${text}\`.`)
  return Number(text)
}
