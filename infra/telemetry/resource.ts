// The OpenTelemetry resource of this process: its service, version and instance.
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources'
import { version } from '../version.ts'

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win. */
export function createResource(serviceName: string): Resource {
  const own = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
}
