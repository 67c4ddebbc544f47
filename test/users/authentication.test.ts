// Refreshing the principal of work that outlives its request: it is rejected for the same reasons as a new
// request.
import t from 'tap'
import type { ApiError } from '../../infra/errors.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('refreshing a principal', async (t) => {
  const first = await startServer(t)
  const second = await startServer(t, { databaseUrl: first.databaseUrl })
  const { principals } = second.services
  const held = (key: string) => principals.authenticate(`Bearer ${key}`)
  const refusal = async (work: Promise<unknown>) =>
    await work.then(
      () => null,
      (error: ApiError) => `${error.status} ${error.details.reason}`,
    )
  await waitUntil(() => first.services.principals.listening && principals.listening)

  t.test('runs no statement while nothing has changed', async (t) => {
    const person = await first.person()
    const principal = await held(person.key)
    second.statements.length = 0
    for (let i = 0; i < 10; i++) t.equal(await principals.refresh(principal), principal)
    t.same(
      second.statements.filter((text) => text.includes('api_keys')),
      [],
    )
  })

  t.test('throws after the key was revoked on another server', async (t) => {
    const person = await first.person()
    const made = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
    const principal = await held(made.body.key)
    t.equal((await person.client.delete(`/user/api-keys/${made.body.id}`)).status, 204)
    t.equal(await refusal(principals.refresh(principal)), '401 revoked')
    t.equal(await refusal(principals.refresh(principal)), '401 revoked', 'the second time, too')
  })

  t.test('throws after the key has expired', async (t) => {
    const expiresAt = new Date(Date.now() + 1_000)
    const principal = await held((await first.person({ expiresAt })).key)
    t.equal(await principals.refresh(principal), principal)
    await waitUntil(() => Date.now() > expiresAt.getTime())
    t.equal(await refusal(principals.refresh(principal)), '401 expired')
  })

  t.test('applies changes of the owner: demoted, disabled, enabled, deleted', async (t) => {
    const person = await first.person({ role: 'admin' })
    const principal = await held(person.key)
    t.ok(principal.scopes.has('admin'))
    await first.admin.client.put(`/users/${person.id}`, { role: 'user' })
    t.notOk((await principals.refresh(principal)).scopes.has('admin'))
    await first.admin.client.put(`/users/${person.id}`, { status: 'disabled' })
    t.equal(await refusal(principals.refresh(principal)), '401 disabled')
    await first.admin.client.put(`/users/${person.id}`, { status: 'active' })
    const back = await principals.refresh(principal)
    t.equal(back.credentialId, principal.credentialId)
    t.equal(await principals.refresh(back), back, 'a refreshed principal can be refreshed again')
    await first.admin.client.delete(`/users/${person.id}`)
    t.equal(await refusal(principals.refresh(back)), '401 unknown')
  })

  t.test('reads the key from the database while notifications cannot be received', async (t) => {
    const principal = await held((await first.person()).key)
    await second.services.listener.close()
    second.statements.length = 0
    t.same(await principals.refresh(principal), principal)
    t.equal(second.statements.filter((text) => text.includes('api_keys')).length, 1)
  })

  t.test('throws for a principal that authenticate() did not return', async (t) => {
    const principal = await held((await first.person()).key)
    t.equal(await refusal(principals.refresh({ ...principal })), '401 unknown')
  })
})
