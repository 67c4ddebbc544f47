// A `oneOf` of `required` lists becomes a union of whole schemas in the published contract.
import t from 'tap'
import published from '../../../generated/openapi.json' with { type: 'json' }
import { withWholeAlternatives } from '../alternatives.ts'

type Json = any

const text = { type: 'string' }
const choice = {
  type: 'object',
  description: 'A choice.',
  additionalProperties: false,
  required: [],
  oneOf: [{ required: ['text'] }, { required: ['file_id'] }],
  dependentRequired: { language: ['text'] },
  properties: { text, file_id: text, language: text, name: text },
}
const expand = (schema: Json, excludedAs: 'omitted' | 'never' = 'omitted'): Json =>
  withWholeAlternatives({ components: { schemas: { Choice: schema } } }, excludedAs).components.schemas.Choice

t.test('each alternative has its own properties and the common ones', async (t) => {
  const common = { type: 'object', additionalProperties: false }
  t.same(expand(choice), {
    description: 'A choice.',
    oneOf: [
      { ...common, required: ['text'], properties: { text, language: text, name: text } },
      { ...common, required: ['file_id'], properties: { file_id: text, name: text } },
    ],
  })
})

t.test('for types, an alternative has the schema false for what it must not have', async (t) => {
  const [, byFile] = expand(choice, 'never').oneOf
  t.same(byFile.properties, { text: false, file_id: text, language: false, name: text })
})

t.test('an alternative keeps the dependencies that it does not express', async (t) => {
  const dependentRequired = { language: ['text', 'name'], name: ['unit'] }
  const [byText, byFile] = expand({ ...choice, dependentRequired }).oneOf
  t.same(byText.dependentRequired, dependentRequired)
  t.same(byFile.dependentRequired, { name: ['unit'] })
})

t.test('other schemas stay as they are', async (t) => {
  const whole = {
    oneOf: [
      { type: 'object', properties: { text } },
      { type: 'object', required: ['name'] },
    ],
  }
  t.same(expand(whole), whole)
  t.same(expand({ items: choice }).items, expand(choice), 'and a choice inside is expanded')
})

t.test('the published contract has whole schemas', async (t) => {
  const schemas: Record<string, Json> = published.components.schemas
  for (const name of ['ChatRequest', 'MemberAdd', 'DocumentCreate', 'CheckoutCreate', 'TestClockAdvance'])
    t.ok(
      schemas[name].oneOf.length === 2 && schemas[name].oneOf.every(({ properties }: Json) => properties),
      name,
    )
})
