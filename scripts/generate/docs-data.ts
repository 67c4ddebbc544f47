// Writes generated/docs.json for the reference page: example requests, responses and code samples of each
// operation, and the catalogs of errors and events. The OpenAPI document stays free of them.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import compactJson from 'json-stringify-pretty-compact'
import { clientNames } from './client-names.ts'
import type { DeclaredCode } from './errors.ts'
import type { DeclaredEvent } from './events.ts'
import { exampleOf, repliesOf, requestOf } from './examples.ts'
import type { Operation } from './model.ts'
import { samplesOf } from './samples.ts'
import { guideSamples } from './samples/guides.ts'

type Json = any

/**
 * @param client the name of the client's npm package.
 * @param guides the Markdown of docs/guides by name.
 */
export function emitDocsData(
  document: Json,
  {
    operations,
    codes,
    events,
    client,
    guides,
  }: {
    operations: Operation[]
    codes: DeclaredCode[]
    events: DeclaredEvent[]
    client: string
    guides: Record<string, string>
  },
): string {
  const names = clientNames(document, operations)
  const samples = operations.map((operation) => [
    operation.id,
    {
      request: requestOf(document, operation),
      replies: repliesOf(document, operation),
      samples: samplesOf(document, operation, { client, method: names.get(operation.id) }),
    },
  ])
  const data = {
    operations: Object.fromEntries(samples),
    guides: Object.fromEntries(
      Object.entries(guides).map(([name, markdown]) => [
        name,
        guideSamples(commandBlocks(markdown), { operations, names, client }),
      ]),
    ),
    errors: codes,
    events: events.map((event) => eventData(document, event)),
  }
  return `${compactJson(data, { indent: 1, maxLength: 110 })}\n`
}

/** The Markdown of docs/guides by name. */
export function readGuides(root: string): Record<string, string> {
  const folder = join(root, 'docs/guides')
  if (!existsSync(folder)) return {}
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((file) => [file.replace(/\.md$/, ''), readFileSync(join(folder, file), 'utf8')]),
  )
}

/** The blocks of commands of a guide. */
const commandBlocks = (markdown: string): string[] =>
  [...markdown.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block]) => block)

function eventData(document: Json, { type, scope, audience, role, object, payload }: DeclaredEvent): Json {
  const { description, example = {} } = document['x-events'][type]
  const whole = exampleOf(document, { $ref: `#/components/schemas/${payload}` })
  const data = {
    object: { ...exampleOf(document, { $ref: `#/components/schemas/${object}` }), ...example.object },
    previous_attributes: { ...example.previous_attributes },
  }
  return {
    type,
    description,
    scope,
    audience,
    role,
    object,
    example: {
      ...whole,
      project_id: audience === 'project' ? whole.project_id : null,
      ...('organization_id' in whole && {
        organization_id: audience === 'organization' ? whole.organization_id : null,
      }),
      data,
    },
  }
}
