// From x-events to what follows of it: the enums of event types, a webhook with the whole payload for each type, and the
// table and types that emitting reads.
import { GenerateError } from './error.ts'
import { componentOf, type Pool } from './schemas.ts'
import { banner } from './types.ts'

type Json = any

export interface DeclaredEvent {
  type: string
  scope: string
  audience: 'project' | 'user' | 'admins' | 'everyone'
  /** The field of the object that holds the project's id. */
  project: string | null
  /** The least role that may read it. */
  role: string | null
  /** The component that describes `data.object`, and the one of the whole event. */
  object: string
  payload: string
}

/** Writes the enums, the payloads and the webhooks into `document`. */
export function addEvents(document: Json): DeclaredEvent[] {
  const declared = Object.entries<Json>(document['x-events'] ?? {})
  fillEnums(
    [document.paths, document.components],
    declared.map(([type]) => type),
  )
  const schemas = document.components?.schemas ?? {}
  return declared.map(([type, { description, object: ref, scope, project, role, audience }]) => {
    const object = asTold(schemas, componentOf(ref)!)
    const payload = `${pascal(type)}Event`
    schemas[payload] = payloadOf(schemas, type, description, object)
    document.webhooks ??= {}
    document.webhooks[type] = {
      post: {
        tags: ['webhooks'],
        summary: type,
        description: `${description} ${readersOf(scope, role)}`,
        // What comes in is signed; it carries no key.
        security: [],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: `#/components/schemas/${payload}` } } },
        },
        responses: {
          '2XX': {
            description:
              'The endpoint accepted the event. A response with status 410 disables the endpoint. ' +
              'All other responses are failures, and the delivery is retried.',
          },
        },
      },
    }
    return {
      type,
      scope,
      audience: project === undefined ? audience : 'project',
      project: project ?? null,
      role: project === undefined ? null : (role ?? 'viewer'),
      object,
      payload,
    }
  })
}

function readersOf(scope: string, role: string | undefined): string {
  const key = `Requires an API key with the scope \`${scope}\``
  return role === undefined
    ? `${key}.`
    : `${key}, whose owner has at least the role \`${role}\` in the project.`
}

/** A schema with `x-event-types`, wherever it stands, has the declared types as its enum, among what it lists itself. */
function fillEnums(node: Json, types: string[]): void {
  if (typeof node !== 'object' || node === null) return
  if (Array.isArray(node['x-event-types'])) {
    node.enum = node['x-event-types'].flatMap((item: string) => (item === 'types' ? types : [item]))
    delete node['x-event-types']
  }
  for (const value of Object.values(node)) fillEnums(value, types)
}

/** The component itself, or, where fields of it depend on who reads it, a copy without them. */
function asTold(schemas: Json, name: string): string {
  const { properties = {}, required = [], ...rest } = schemas[name]
  const hidden = Object.keys(properties).filter((property) => properties[property]['x-in-events'] === false)
  if (hidden.length === 0) return name
  const without = `${name}InEvents`
  schemas[without] ??= {
    ...rest,
    required: required.filter((property: string) => !hidden.includes(property)),
    properties: Object.fromEntries(
      Object.entries(properties).filter(([property]) => !hidden.includes(property)),
    ),
    examples: undefined,
  }
  return without
}

function payloadOf(schemas: Json, type: string, description: string, object: string): Json {
  const previous = `${object}Before`
  schemas[previous] ??= {
    type: 'object',
    additionalProperties: false,
    description: 'The previous values of the fields that changed. Empty unless the event is about an update.',
    properties: schemas[object].properties,
  }
  if (schemas.Event === undefined)
    throw new GenerateError('x-events needs the schema Event, which says what every event has.')
  const { data, ...properties } = schemas.Event.properties
  return {
    type: 'object',
    additionalProperties: false,
    description,
    required: schemas.Event.required,
    properties: {
      ...properties,
      type: { const: type, description: 'The event type.' },
      data: {
        type: 'object',
        description: 'The resource that the event is about, and its previous values.',
        additionalProperties: false,
        required: data.required,
        properties: {
          object: {
            $ref: `#/components/schemas/${object}`,
            description:
              'The resource after the event. Deleted resources are as they were before the deletion.',
          },
          previous_attributes: { $ref: `#/components/schemas/${previous}` },
        },
      },
    },
  }
}

/** `api_key.created` → `ApiKeyCreated` */
function pascal(type: string): string {
  return type.replace(/(^|[._])(.)/g, (_, _before, letter) => letter.toUpperCase())
}

/** The table and the types of events, for services/events. */
export function emitEvents(events: DeclaredEvent[], objects: Pool, payloads: Pool): string {
  const rows = events.map(
    ({ type, scope, audience, project, role, object, payload }) =>
      `  '${type}': { scope: '${scope}', audience: '${audience}', project: ${project === null ? 'null' : `'${project}'`}, role: ${role === null ? 'null' : `'${role}'`}, serializer: '${objects.add({ $ref: `#/components/schemas/${object}` }, object)}', payload: '${payloads.add({ $ref: `#/components/schemas/${payload}` }, payload)}' }`,
  )
  return `${banner}import type { components } from './types.ts'

/** What \`data.object\` of each type of event is. */
export interface EventObjects {
${events.map(({ type, object }) => `  '${type}': components['schemas']['${object}']`).join('\n')}
}

export type EventType = keyof EventObjects

/** What the spec declares of each type of event: who may read it, where its project stands, and what writes and checks it. */
export interface EventInfo {
  scope: string
  audience: 'project' | 'user' | 'admins' | 'everyone'
  project: string | null
  role: 'viewer' | 'editor' | 'admin' | 'owner' | null
  serializer: string
  payload: string
}

export const eventTypes: Record<EventType, EventInfo> = {
${rows.join(',\n')},
}
`
}
