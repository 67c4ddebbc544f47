// The code of serializers depends on the schemas alone, so that the loop and `npm run generate` write the
// same bytes.
import t from 'tap'
import { compileSerializers } from '../../scripts/compile/serializers.ts'
import { plainSchemas } from '../../scripts/generate/schemas.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const kind = (value: string) => ({
  type: 'object',
  properties: { kind: { type: 'string', const: value }, [value]: { type: 'string' } },
})
const mapping = { link: ref('Link').$ref, list: ref('List').$ref }
const Content = {
  oneOf: [ref('Link'), ref('List')],
  discriminator: { propertyName: 'kind', mapping },
}
const document = { components: { schemas: { Link: kind('link'), List: kind('list'), Content } } }
const inline = { ...Content, description: 'What a note shows.' }
const note = { type: 'object', properties: { title: { type: 'string' }, content: inline } }
const page = { type: 'object', properties: { data: { type: 'array', items: inline } } }

const compiled = (responses: object): string =>
  compileSerializers(plainSchemas(document, { responses: new Map(Object.entries(responses)) }))

t.test('serializers are the same bytes again, in any order and beside others', async (t) => {
  const first = compiled({ note, page })
  t.match(first, /__fjs_merged_[0-9]/, 'the schemas are numbered')
  t.equal(compiled({ note, page }), first)
  const lineOf = (code: string, name: string): string | undefined =>
    new RegExp(`^  get ${name} [^]*?return module\\.exports \\}\\) \\}`, 'm').exec(code)?.[0]
  const others = compiled({ page, other: note, note })
  for (const name of ['note', 'page']) t.equal(lineOf(others, name), lineOf(first, name), name)
})
