// An operation for the mini spec that accepts JSON or a form, each with its own schema, and its handler.
import type { MiniProject } from '../generator/mini-project.ts'

const eitherPath = `paths:
  either:
    post:
      operationId: addEither
      tags: [edge]
      summary: A file, or what is said of it
      security: []
      requestBody:
        required: true
        content:
          application/json: { schema: { $ref: '#/components/schemas/LabelBody' } }
          multipart/form-data:
            schema:
              type: object
              additionalProperties: false
              required: [file]
              properties:
                file: { type: string, format: binary }
                label: { type: string, minLength: 3, examples: [Lamp] }
      responses: { '200': { $ref: '#/components/responses/Given' } }
`
const eitherHandler = `import type { Handlers } from '../services/handler.ts'

export const edge = {
  async addEither ({ body }) {
    if (!('file' in body)) return { status: 200, body: \`JSON \${body.name}\` }
    const bytes = (await body.file.content.toArray()).join('')
    return { status: 200, body: \`form \${body.fields().label} \${bytes}\` }
  },
  ...others(['postAlias', 'getMerged', 'postStrict', 'postOptional', 'getNumber', 'getBatch'])
} satisfies Handlers<'edge'>

function others<Id extends string> (ids: Id[]): Record<Id, () => Promise<{ status: 200, body: string }>> {
  return Object.fromEntries(ids.map((id) => [id, async () => ({ status: 200, body: '' })])) as never
}
`

export async function addEither(project: MiniProject): Promise<void> {
  await project.write('handlers/edge.ts', eitherHandler)
  const edge = await project.read('spec/edge.yaml')
  await project.write('spec/edge.yaml', edge.replace('paths:\n', eitherPath))
  const root = await project.read('spec/openapi.yaml')
  await project.write(
    'spec/openapi.yaml',
    root.replace('paths:\n', "paths:\n  /either: { $ref: 'edge.yaml#/paths/either' }\n"),
  )
}
