// The schemas of generated/schemas.json, by the names in generated/operations.ts and generated/events.ts.
// They have no annotations, and refer to components by `spec:NAME`.
type Json = any

export interface Schemas {
  /** By `spec:NAME`. */
  components: Record<string, Json>
  /** Path, query and header parameters, each as one object. */
  parameters: Record<string, Json>
  bodies: Record<string, Json>
  responses: Record<string, Json>
  /** Whole events. */
  payloads: Record<string, Json>
  /** The components and responses whose alternatives a serializer needs as nested conditions. */
  serialized: Record<string, Json>
}
