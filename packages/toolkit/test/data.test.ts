// Values of `enum` and `const`, and examples, are data: no tool reads them as schemas.
import t from 'tap'
import { createValidation } from '@platform-api/contract/validation.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { discriminatedIn } from '@platform-api/openapi/discriminators.ts'

const choice = {
  oneOf: [{ $ref: '#/nowhere' }],
  discriminator: { propertyName: 'kind', mapping: { a: '#/nowhere' } },
}
const form = { type: 'object', properties: { name: { type: 'string' } } }
const content = { 'application/json': { schema: { $ref: '#/components/schemas/Form' }, example: choice } }
const document = {
  openapi: '3.1.0',
  info: { title: 'Forms', version: '1' },
  paths: {
    '/forms': {
      post: {
        operationId: 'addForm',
        requestBody: { content },
        responses: { '200': { description: 'Added.', content } },
      },
    },
  },
  components: { schemas: { Form: { enum: [choice, form], default: choice } } },
}

t.test('a value that looks like a schema with a discriminator stays a value', async (t) => {
  t.same(discriminatedIn(document), [])
  const mock = await createMock({ document })
  t.teardown(() => mock.close())
  for (const payload of [choice, form]) {
    const answer = await mock.inject({ method: 'POST', url: '/forms', payload })
    t.equal(answer.statusCode, 200, answer.body)
  }
})

t.test('a value that looks like an object schema is not closed', async (t) => {
  const { answered } = createValidation(document, { closed: true })
  t.same(answered('#/components/schemas/Form', form), [])
})
