// The conventions of the source document, on each of its 30 operations, and the errors that it describes.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { requestFor, send, successStatus } from '../support/operations/operation-fixtures.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)

const operationIds: OperationId[] = [
  'getProfile',
  'updateProfile',
  'getSettings',
  'updateSettings',
  'uploadAvatar',
  'listProjects',
  'createProject',
  'getProject',
  'updateProject',
  'deleteProject',
  'listMembers',
  'addMember',
  'listFiles',
  'uploadFile',
  'getFile',
  'deleteFile',
  'downloadFile',
  'createChat',
  'streamChat',
  'listSessions',
  'createSession',
  'getSession',
  'deleteSession',
  'createKnowledgeBase',
  'createDocument',
  'listOrders',
  'createOrder',
  'getOrder',
  'createCheckout',
  'listSubscriptions',
]

t.test('each operation succeeds with the headers of the source document', async (t) => {
  t.equal(operationIds.length, 30)
  for (const id of operationIds) {
    const reply = await send(await requestFor(server, id), {
      headers: { accept: 'application/json', 'x-request-id': 'source-document-1' },
    })
    t.equal(reply.status, successStatus(id), `${id} ${reply.status >= 400 ? reply.text : ''}`)
    t.equal(reply.headers.get('x-request-id'), 'source-document-1', id)
  }
})

t.test('an id that cannot exist is 404, after the other problems of the request', async (t) => {
  const { client } = await server.person()
  for (const path of ['/projects/12345', '/projects/usr_01jd6y8m5qe8btc4y5w1r0n3fz', '/storage/files/x'])
    t.match(await client.get(path), { status: 404, body: { error: { code: 'NOT_FOUND' } } }, path)
  t.match(await client.put('/projects/12345', { name: '' }), {
    status: 400,
    body: { error: { details: { field: 'name', constraint: 'required' } } },
  })
})

t.test(
  'null for a required value is a missing value; for an optional one it has the wrong type',
  async (t) => {
    const { client } = await server.person()
    const problems = async (path: string, body: object): Promise<string[]> =>
      (await client.post(path, body)).body.error.details.errors.map(
        ({ constraint, message }: { constraint: string; message: string }) => `${constraint}: ${message}`,
      )
    t.same(await problems('/projects', { name: null, tags: null, metadata: { a: null } }), [
      'required: name is required',
      'type: tags must be an array',
      'type: metadata.a must be a string',
    ])
    t.same(await problems('/payments/orders', { items: [{ price_id: null, quantity: 'x' }] }), [
      'required: items[0].price_id is required',
      'type: items[0].quantity must be an integer',
    ])
  },
)

t.test('a reference in the body that does not exist is named', async (t) => {
  const { client } = await server.person()
  const details = async (method: 'post' | 'put' | 'get', path: string, body?: object): Promise<unknown> => {
    const { status, body: answer } = await client[method](path, body as object)
    const { request_id: _id, reason: _reason, ...rest } = answer.error.details
    return { status, ...rest }
  }
  const price = 'prc_01jd6y8m5qe8btc4y5w1r0n3fz'
  t.same(await details('post', '/payments/orders', { items: [{ price_id: price }] }), {
    status: 404,
    field: 'items[0].price_id',
    constraint: 'exists',
  })
  t.same(await details('post', '/ai/chat', { message: 'x', session_id: 'cs_01jd6y8m5qe8btc4y5w1r0n3fz' }), {
    status: 404,
    field: 'session_id',
    constraint: 'exists',
  })
  t.same(await details('put', '/user/settings', { default_project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' }), {
    status: 404,
    field: 'default_project_id',
    constraint: 'exists',
  })
  const other = await server.person()
  const { body: project } = await other.client.post('/projects', { name: 'of another user' })
  t.same(await details('post', '/ai/sessions', { project_id: project.id }), {
    status: 403,
    field: 'project_id',
    constraint: 'role',
  })
  t.same(await details('get', `/storage/files?project_id=${project.id}`), {
    status: 403,
    field: 'project_id',
    constraint: 'role',
  })
  t.same(await details('get', `/projects/${project.id}`), { status: 403, constraint: 'role' })
})

t.test('messages are sentences for people', async (t) => {
  const { client } = await server.person()
  const message = async (path: string): Promise<string> => (await client.get(path)).body.error.message
  t.equal(await message('/projects?limit=101'), 'limit must be between 1 and 100')
  t.equal(await message('/projects?page=1&page=2'), 'page can be given only once')
  t.equal(await message('/projects?surprise=red'), 'Unknown parameter: surprise')
  t.equal(await message('/projects?category='), 'category must not be empty: leave it out instead')
  const { body } = await client.post('/projects', {
    name: 'x',
    description: 1,
    tags: ['a', 'a'],
    surprise: 'red',
  })
  t.same(body.error.details.errors.map((problem: { message: string }) => problem.message).sort(), [
    'Unknown field: surprise',
    'description must be a string or null',
    'tags contains the same value twice',
  ])
})
