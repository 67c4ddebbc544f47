// Expands x-events: the enums of event types, a payload schema and a webhook for each type, and the generated
// table and types for services/events.
import { GenerateError } from './error.ts'
import { declaredOperations } from './implied-responses.ts'
import { componentOf, type Pool } from './schemas.ts'
import { banner } from './types.ts'

type Json = any

export interface DeclaredEvent {
  type: string
  scope: string
  audience: 'project' | 'organization' | 'user' | 'admins' | 'everyone'
  /** The field of the object with the project's id. */
  project: string | null
  /** The field of the object with the organization's id. */
  organization: string | null
  /** The lowest role that may read the event; `viewer` for every member of an organization. */
  role: string | null
  /** The component of `data.object`. */
  object: string
  /** The component of the whole event. */
  payload: string
}

/** Adds the enums, the payload schemas and the webhooks to `document`. */
export function addEvents(document: Json): DeclaredEvent[] {
  const declared = Object.entries<Json>(document['x-events'] ?? {})
  fillEnums(
    [document.paths, document.components],
    declared.map(([type]) => type),
  )
  const schemas = document.components?.schemas ?? {}
  const used = new Set(declaredOperations(document).map(({ operation }) => operation.operationId))
  for (const [type] of declared)
    if (used.has(webhookId(type)))
      throw new GenerateError(`The operationId ${webhookId(type)} is for the webhook of ${type}.`)
  return declared.map(
    ([type, { description, object: ref, scope, project, organization, role, audience }]) => {
      const object = objectInEvents(schemas, componentOf(ref)!)
      const payload = `${pascal(type)}Event`
      schemas[payload] = payloadOf(schemas, type, description, object)
      document.webhooks ??= {}
      document.webhooks[type] = {
        post: {
          operationId: webhookId(type),
          tags: ['webhooks'],
          summary: type,
          description: `${description} ${requirement(scope, role, organization)}`,
          // Deliveries are signed and carry no API key.
          security: [],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: `#/components/schemas/${payload}` } } },
          },
          responses: {
            '2XX': {
              description:
                'The delivery succeeded. 410 disables the endpoint; any other status is a failure ' +
                'and is retried.',
            },
          },
        },
      }
      return {
        type,
        scope,
        audience: audience ?? (project === undefined ? 'organization' : 'project'),
        project: project ?? null,
        organization: organization ?? null,
        role: audience === undefined ? (role ?? 'viewer') : null,
        object,
        payload,
      }
    },
  )
}

function requirement(scope: string, role: string | undefined, organization: string | undefined): string {
  const of = organization === undefined ? 'project' : 'organization'
  return role === undefined
    ? `Requires the scope \`${scope}\`.`
    : `Requires the scope \`${scope}\` and at least the ${of} role \`${role}\`.`
}

/** In TypeScript the event of any type is the union of the events of all types, discriminated by `type`. */
export function eventUnions(events: DeclaredEvent[]): Map<string, string[]> {
  return events.length === 0 ? new Map() : new Map([['PlatformEvent', events.map(({ payload }) => payload)]])
}

/**
 * Replaces `types` in every `x-event-types` by the declared types, and `prefixes` by `project.*` for each of
 * their objects, and makes the list the schema's enum.
 */
function fillEnums(node: Json, types: string[]): void {
  if (typeof node !== 'object' || node === null) return
  if (Array.isArray(node['x-event-types'])) {
    const prefixes = new Set(types.map((type) => `${type.split('.')[0]}.*`))
    const lists: Record<string, string[]> = { types, prefixes: [...prefixes] }
    node.enum = node['x-event-types'].flatMap((item: string) => lists[item] ?? [item])
    delete node['x-event-types']
  }
  for (const value of Object.values(node)) fillEnums(value, types)
}

/** The component, or a copy without the fields with `x-in-events: false`, which depend on the reader. */
function objectInEvents(schemas: Json, name: string): string {
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

const previousDescription =
  'The previous values of the changed fields. Empty unless the event reports an update.'

function payloadOf(schemas: Json, type: string, description: string, object: string): Json {
  const previous = `${object}Before`
  schemas[previous] ??= {
    type: 'object',
    description: previousDescription,
    properties: schemas[object].properties,
  }
  if (schemas.PlatformEvent === undefined)
    throw new GenerateError('x-events needs the schema PlatformEvent with the fields of all events.')
  const { data, ...properties } = schemas.PlatformEvent.properties
  return {
    type: 'object',
    description,
    required: schemas.PlatformEvent.required,
    properties: {
      ...properties,
      type: { const: type, description: 'The type of the event.' },
      data: {
        type: 'object',
        description: 'The resource that the event is about.',
        required: data.required,
        properties: {
          object: {
            $ref: `#/components/schemas/${object}`,
            description: 'The resource after the change.',
          },
          previous_attributes: {
            $ref: `#/components/schemas/${previous}`,
            description: previousDescription,
          },
        },
      },
    },
  }
}

/** `api_key.created` → `onApiKeyCreated` */
function webhookId(type: string): string {
  return `on${pascal(type)}`
}

/** `api_key.created` → `ApiKeyCreated` */
function pascal(type: string): string {
  return type.replace(/(^|[._])(.)/g, (_, _before, letter) => letter.toUpperCase())
}

/** The table and the types of events, for services/events. */
export function emitEvents(events: DeclaredEvent[], objects: Pool, payloads: Pool): string {
  const quoted = (value: string | null): string => (value === null ? 'null' : `'${value}'`)
  const add = (pool: Pool, name: string): string => pool.add({ $ref: `#/components/schemas/${name}` }, name)
  const rows = events.map(({ type, scope, audience, project, organization, role, object, payload }) => {
    const fields = [
      `scope: '${scope}'`,
      `audience: '${audience}'`,
      `project: ${quoted(project)}`,
      `organization: ${quoted(organization)}`,
      `role: ${quoted(role)}`,
      `serializer: '${add(objects, object)}'`,
      `payload: '${add(payloads, payload)}'`,
    ]
    return `  '${type}': { ${fields.join(', ')} }`
  })
  return `${banner}import type { components } from './types.ts'

/** The type of \`data.object\` for each event type. */
export interface EventObjects {
${events.map(({ type, object }) => `  '${type}': components['schemas']['${object}']`).join('\n')}
}

export type EventType = keyof EventObjects

/**
 * The declaration of an event type. \`project\` and \`organization\` are the fields of the object with their
 * ids, \`serializer\` writes the object, and \`payload\` validates the whole event.
 */
export interface EventInfo {
  scope: string
  audience: 'project' | 'organization' | 'user' | 'admins' | 'everyone'
  project: string | null
  organization: string | null
  role: 'viewer' | 'editor' | 'admin' | 'owner' | null
  serializer: string
  payload: string
}

export const eventTypes: Record<EventType, EventInfo> = {
${rows.join(',\n')},
}
`
}
