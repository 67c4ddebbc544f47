// Idempotency: a POST repeated with the same key and body takes effect once and gets the same answer.
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import { allScopes, type Scope } from '../../services/users/scopes.ts'
import {
  send,
  requestFor,
  operationInfos,
  unrelatedScope,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import { recordChanges, type Changes } from '../support/server/changes.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const posts = operationInfos.filter(({ method, scopes }) => method === 'POST' && scopes !== null)
/** Read-only POSTs. They run again. */
const readOnlyPosts: OperationId[] = [
  'searchKnowledgeBase',
  'searchKnowledgeBases',
  'searchVectorStore',
  'createEmbeddings',
  'explainAccess',
  'introspectToken',
  'previewSubscription',
]
/** POSTs that bring an upload to the same state again. */
const uploadPosts: OperationId[] = ['completeUpload', 'signUploadParts']
/** No digest of a password, and no secret of a second factor, is stored for a repeated request. */
const passwordPosts: OperationId[] = [
  'changePassword',
  'requestEmailChange',
  'startTotp',
  'confirmTotp',
  'startPasskey',
]
const neverReplayed = [...readOnlyPosts, ...uploadPosts, ...passwordPosts]
const idempotentPosts = posts.filter(({ id }) => !neverReplayed.includes(id))
/** One of each kind, for what happens before the handler. */
const kinds = oneOfEachKind(idempotentPosts, pipelineKind).map(({ id }) => id)
const withIdempotencyKey = (key: string) => ({ headers: { 'idempotency-key': key } })

t.test('the other authenticated POSTs declare the Idempotency-Key', async (t) => {
  t.same(
    posts
      .filter(({ idempotent }) => !idempotent)
      .map(({ id }) => id)
      .sort(),
    [...neverReplayed].sort(),
  )
})

for (const id of readOnlyPosts) {
  t.test(`${id} runs again when it is repeated`, async (t) => {
    const request = await requestFor(server, id)
    const written = async (): Promise<Changes> => {
      // The tokens of embeddings are counted.
      const { ai_usage: _tokens, usage_counts: _counts, ...others } = await changes()
      return others
    }
    const before = await written()
    const first = await send(request, withIdempotencyKey('once'))
    t.equal(first.status, successStatus(id))
    t.same(await written(), before, 'no idempotency record is stored')
    const again = await send(request, withIdempotencyKey('once'))
    t.equal(again.text, first.text)
    t.equal(again.headers.get('idempotent-replayed'), null)
    const { secret } = await createApiKey(server, request.caller.id, { projectIds: [] })
    t.equal(
      (await send(request, { ...withIdempotencyKey('once'), key: secret })).status,
      operations[id].scopes?.length === 0 ? successStatus(id) : 403,
      'a repeated request still needs permission',
    )
  })
}

for (const { id, scopes, secretAnswer, needsSession } of idempotentPosts) {
  t.test(`${id} repeated answers the same and has no second effect`, async (t) => {
    const request = await requestFor(server, id)
    const first = await send(request, withIdempotencyKey('once'))
    t.equal(first.status, successStatus(id))
    t.equal(first.headers.get('idempotent-replayed'), null)
    const after = await changes()
    // An answer with a secret is replayed only to a key with at least the scopes of the first key.
    const { secret } = await createApiKey(server, request.caller.id, {
      scopes: secretAnswer ? [...allScopes] : (scopes as Scope[]),
    })
    const withSpare = await changes()
    for (const key of needsSession === true ? [request.caller.key] : [request.caller.key, secret]) {
      const again = await send(request, { ...withIdempotencyKey('once'), key })
      t.equal(again.status, first.status, 'another key of the same owner gets the same status')
      t.equal(again.text, first.text, 'the body is byte-identical')
      t.equal(again.headers.get('idempotent-replayed'), 'true')
      for (const name of ['location', 'etag', 'content-type'])
        t.equal(again.headers.get(name), first.headers.get(name), name)
      t.not(
        again.headers.get('x-request-id'),
        first.headers.get('x-request-id'),
        'the replay has a request id of its own',
      )
    }
    t.same(await changes(), withSpare, 'the replay writes nothing')
    const apart = { api_keys: 0, quota_changes: 0 }
    t.match({ ...withSpare, ...apart }, { ...after, ...apart })
    if (!secretAnswer) return
    const { secret: less } = await createApiKey(server, request.caller.id, { scopes: scopes as Scope[] })
    const withLess = await changes()
    t.match(
      await send(request, { ...withIdempotencyKey('once'), key: less }),
      { status: 403, body: { error: { details: { constraint: 'scope' } } } },
      'a key with fewer scopes does not get the secret',
    )
    t.same(await changes(), withLess, 'the rejected replay writes nothing')
  })

  if (!isLongForm && !kinds.includes(id)) continue

  t.test(`${id} stores no idempotency record when it is rejected`, async (t) => {
    const request = await requestFor(server, id)
    const { secret } = await createApiKey(server, request.caller.id, { scopes: [unrelatedScope(id)] })
    const before = await changes()
    t.equal((await send({ ...request, query: { surprise: '1' } }, withIdempotencyKey('later'))).status, 400)
    t.equal((await send(request, { ...withIdempotencyKey('later'), key: secret })).status, 403)
    t.equal((await send(request, { ...withIdempotencyKey('later'), key: null })).status, 401)
    t.same(await changes(), before, 'nothing is written to the database')
    const reply = await send(request, withIdempotencyKey('later'))
    t.equal(reply.status, successStatus(id), 'a valid request with the same idempotency key takes effect')
    t.equal(reply.headers.get('idempotent-replayed'), null)
  })

  t.test(`${id} treats the same idempotency key of another owner as a new request`, async (t) => {
    const [mine, theirs] = [await requestFor(server, id), await requestFor(server, id)]
    const first = await send(mine, withIdempotencyKey('shared'))
    const second = await send(
      theirs,
      withIdempotencyKey(theirs.caller.id === mine.caller.id ? 'another' : 'shared'),
    )
    t.equal(second.status, first.status)
    t.equal(second.headers.get('idempotent-replayed'), null)
    if (first.text !== '') t.not(second.text, first.text)
  })
}

t.test('an Idempotency-Key has 1 to 255 visible ASCII characters', async (t) => {
  for (const key of ['a', 'x'.repeat(255), '!"#$%&/()=?']) {
    t.equal(
      (await send(await requestFor(server, 'createProject'), withIdempotencyKey(key))).status,
      201,
      key.slice(0, 20),
    )
  }
  const request = await requestFor(server, 'createProject')
  for (const key of ['', 'x'.repeat(256), 'two words', 'é', 'a\tb']) {
    const reply = await send(request, withIdempotencyKey(key))
    t.equal(reply.status, 400, JSON.stringify(key.slice(0, 20)))
    t.match(
      reply.body.error.details.errors,
      [{ field: 'idempotency-key', location: 'header' }],
      JSON.stringify(key.slice(0, 20)),
    )
  }
})
