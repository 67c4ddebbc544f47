// What the reference page shows beside the contract: of each operation an example request, its answers and how it is called, and the catalogues of errors
// and events. It is a file of its own, so that the contract does not carry it.
import type { DeclaredCode } from './errors.ts'
import type { DeclaredEvent } from './events.ts'
import { exampleOf, repliesOf, requestOf } from './examples.ts'
import type { Operation } from './model.ts'
import { samplesOf } from './samples.ts'

type Json = any

/** @param client the name of the package of the typed client. */
export function emitCatalogue(
  document: Json,
  {
    operations,
    codes,
    events,
    client,
  }: { operations: Operation[]; codes: DeclaredCode[]; events: DeclaredEvent[]; client: string },
): string {
  const shown = operations.map((operation) => [
    operation.id,
    {
      request: requestOf(document, operation),
      replies: repliesOf(document, operation),
      samples: samplesOf(document, operation, client),
    },
  ])
  return `${JSON.stringify({ operations: Object.fromEntries(shown), errors: codes, events: events.map((event) => shownEvent(document, event)) }, null, 1)}\n`
}

function shownEvent(document: Json, { type, scope, audience, role, object, payload }: DeclaredEvent): Json {
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
    example: { ...whole, project_id: audience === 'project' ? whole.project_id : null, data },
  }
}
