// What a document of an earlier version becomes.
import t from 'tap'
import { asOpenapi31 } from '../read.ts'

t.test('the media types of an operation of version 2.0 are its own, or those of the document', async (t) => {
  const responses = {
    200: { description: 'Done.', schema: { type: 'string' } },
    204: { description: 'Nothing.' },
    400: { $ref: '#/responses/Invalid' },
  }
  const { paths } = asOpenapi31({
    swagger: '2.0',
    info: { title: 'Pings', version: '1' },
    produces: ['application/json'],
    paths: {
      '/ping': { get: { produces: ['text/plain', 'text/csv'], responses } },
      '/pong': { get: { responses } },
    },
    responses: { Invalid: { description: 'Invalid.', schema: { type: 'object' } } },
  })
  const string = { schema: { type: 'string' } }
  const object = { schema: { type: 'object' } }
  t.same(paths['/ping'].get.responses, {
    200: { description: 'Done.', content: { 'text/plain': string, 'text/csv': string } },
    204: { description: 'Nothing.' },
    400: { description: 'Invalid.', content: { 'text/plain': object, 'text/csv': object } },
  })
  t.same(paths['/pong'].get.responses[200].content, { 'application/json': string })
})
