// Limits of a person are a person's: organizations share the limits of use of an owner until an operator
// gives one limits of its own.
import t from 'tap'
import { setLimits } from '../../services/organizations/organizations.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { acquaint } from '../support/database/db-fixtures.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'

const server = await startServer(t, {
  env: { AI_TOKENS_PER_DAY: '400', RATE_LIMIT_WRITE: '100', RATE_LIMIT_AI: '1000' },
})
const { database } = server.services

interface Organization {
  id: string
  project: string
  robot: Client
}

/** An organization with a project and a service account. */
async function organizationOf(
  { client }: Pick<Person, 'client'>,
  on: TestServer = server,
): Promise<Organization> {
  const { body: organization } = await client.post('/organizations', { name: 'Acme' })
  const { body: project } = await client.post('/projects', { name: 'P', organization_id: organization.id })
  const fields = { name: 'CI', organization_id: organization.id, role: 'admin' }
  const { body: account } = await client.post('/service-accounts', fields)
  const { body: key } = await client.post(`/service-accounts/${account.id}/api-keys`, {
    name: 'k',
    scopes: ['user:read', 'projects:write', 'projects:read', 'ai:read', 'ai:write'],
  })
  return { id: organization.id, project: project.id, robot: createClient(on.url, key.key) }
}

async function limitOf(client: Client, name: string): Promise<{ used: number; limit: number }> {
  const { body } = await client.get('/user/limits')
  return body.limits.find((one: { name: string }) => one.name === name)
}

/** Asks until the tokens of the day are used. @returns those of the answers */
async function spend(client: Client, fields: object): Promise<number[]> {
  const tokens: number[] = []
  for (;;) {
    const reply = await client.post('/ai/chat', {
      message: 'What do the documents say? '.repeat(3),
      ...fields,
    })
    if (reply.status === 429) return tokens
    t.equal(reply.status, 200, reply.text)
    tokens.push(reply.body.usage.total_tokens)
  }
}

const sum = (tokens: number[]): number => tokens.reduce((a, b) => a + b, 0)

t.test('three organizations and their owner together spend the tokens of one user', async (t) => {
  const owner = await server.person()
  const organizations = [
    await organizationOf(owner),
    await organizationOf(owner),
    await organizationOf(owner),
  ]
  const spent = (
    await Promise.all([
      spend(owner.client, {}),
      ...organizations.map(({ robot, project }) => spend(robot, { project_id: project })),
    ])
  ).flat()
  t.ok(sum(spent) - spent.at(-1)! < 400 + Math.max(...spent), `${spent}: an answer begins below the limit`)
  t.ok(sum(spent) >= 400)
  for (const { client } of [owner, ...organizations.map(({ robot }) => ({ client: robot }))])
    t.match(await limitOf(client, 'tokens_per_day'), { limit: 400, used: sum(spent) })
  const other = await server.person()
  t.equal((await limitOf(other.client, 'tokens_per_day')).used, 0, 'another user has their own')
})

t.test('an operator gives an organization limits of its own, and takes them back', async (t) => {
  const owner = await server.person()
  const [first, second] = [await organizationOf(owner), await organizationOf(owner)]
  const spent = sum(await spend(owner.client, {}))
  t.same(await spend(first.robot, { project_id: first.project }), [])
  t.equal(await setLimits(database, first.id, 'own'), null)
  const own = sum(await spend(first.robot, { project_id: first.project }))
  t.ok(own >= 400)
  t.same(await spend(second.robot, { project_id: second.project }), [], 'the other still shares')
  t.equal((await limitOf(owner.client, 'tokens_per_day')).used, spent)
  t.equal((await limitOf(first.robot, 'tokens_per_day')).used, own)
  t.equal(await setLimits(database, first.id, 'shared'), owner.id)
  t.equal((await limitOf(owner.client, 'tokens_per_day')).used, spent, 'what was used stays where it counted')
  await t.rejects(setLimits(database, 'org_01jd6y8m5qe8btc4y5w1r0n3fz', 'own'), /organization/)
})

t.test('the rate limits of an organization are those of its owner', async (t) => {
  const owner = await server.person()
  const organizations = [await organizationOf(owner), await organizationOf(owner)]
  const before = (await limitOf(owner.client, 'requests_write')).used
  const requests: Array<Promise<{ status: number }>> = []
  for (let i = 0; i < 80; i++) {
    const { robot, project } = organizations[i % 2]
    requests.push(robot.put(`/projects/${project}`, { description: `${i}` }))
    requests.push(owner.client.put(`/projects/${project}`, { description: `${i}, too` }))
  }
  const statuses = (await Promise.all(requests)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 100 - before)
  t.equal(statuses.filter((status) => status === 429).length, 160 - (100 - before))
})

t.test('when the owner leaves, the organization shares the limits of the next one', async (t) => {
  const [owner, next, last] = [await server.person(), await server.person(), await server.person()]
  const { id, robot } = await organizationOf(owner)
  const path = `/organizations/${id}/members`
  for (const { id: userId, client } of [next, last]) {
    const { body } = await owner.client.post(path, { user_id: userId, role: 'owner' })
    t.equal((await client.post(`${path}/${body.id}/accept`)).status, 200)
  }
  const sharesWith = async () =>
    (await database.prisma.organization.findUniqueOrThrow({ where: { id } })).limitsOfId
  const { prisma } = database
  const idOf = async ({ id: userId }: Person): Promise<string> =>
    (await prisma.organizationMember.findFirstOrThrow({ where: { organizationId: id, userId } })).id
  t.equal(await sharesWith(), owner.id)
  await spend(owner.client, {})
  t.equal((await robot.post('/ai/chat', { message: 'Hi', knowledge_base_ids: [] })).status, 429)
  t.equal((await next.client.put(`${path}/${await idOf(owner)}`, { role: 'admin' })).status, 200)
  t.equal(await sharesWith(), next.id, 'the longest-standing owner')
  t.not((await robot.post('/ai/chat', { message: 'Hi', knowledge_base_ids: [] })).status, 429)
  t.equal((await server.admin.client.delete(`/users/${next.id}`)).status, 204)
  t.equal(await sharesWith(), last.id, 'and after a deleted user, too')
  t.equal((await last.client.delete(`/organizations/${id}/members/${await idOf(owner)}`)).status, 204)
  t.equal(await sharesWith(), last.id)
})

t.test('a user pays for an organization only after agreeing to be its owner', async (t) => {
  const [attacker, victim] = [await server.person(), await server.person()]
  await acquaint(server, attacker, victim)
  const { id, project, robot } = await organizationOf(attacker)
  const path = `/organizations/${id}/members`
  const { body: added } = await attacker.client.post(path, { user_id: victim.id, role: 'owner' })
  t.equal(added.status, 'active')
  const { body: members } = await attacker.client.get(`${path}?role=owner`)
  const own = members.data.find(({ user }: { user: { id: string } }) => user.id === attacker.id)
  t.equal((await attacker.client.put(`${path}/${own.id}`, { role: 'admin' })).status, 200)
  await spend(robot, { project_id: project })
  t.equal((await limitOf(victim.client, 'tokens_per_day')).used, 0)
  t.ok((await limitOf(attacker.client, 'tokens_per_day')).used >= 400)
})

t.test('tokens stay counted when the organization is deleted or gets another owner', async (t) => {
  const [owner, friend] = [await server.person(), await server.person()]
  const { id, project, robot } = await organizationOf(owner)
  const spent = sum(await spend(robot, { project_id: project }))
  await owner.client.post(`/projects/${project}/transfer`, { user_id: owner.id })
  t.equal((await owner.client.delete(`/organizations/${id}`)).status, 204)
  t.equal((await limitOf(owner.client, 'tokens_per_day')).used, spent, 'after the deletion')

  const other = await server.person()
  const moved = await organizationOf(other)
  const used = sum(await spend(moved.robot, { project_id: moved.project }))
  const path = `/organizations/${moved.id}/members`
  const { body: invited } = await other.client.post(path, { user_id: friend.id, role: 'owner' })
  await friend.client.post(`${path}/${invited.id}/accept`)
  const { data } = (await friend.client.get(`${path}?role=owner`)).body
  const own = data.find(({ user }: { user: { id: string } }) => user.id === other.id)
  t.equal((await friend.client.put(`${path}/${own.id}`, { role: 'member' })).status, 200)
  t.equal((await limitOf(other.client, 'tokens_per_day')).used, used, 'of the former owner')
  t.equal((await limitOf(friend.client, 'tokens_per_day')).used, 0, 'and not of the new one')
  t.ok(sum(await spend(moved.robot, { project_id: moved.project })) >= 400, 'who pays from then on')
})
