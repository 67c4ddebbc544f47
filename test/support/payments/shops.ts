// Organizations that sell, and everyone who may not act for them.
import { newId } from '../../../infra/ids.ts'
import { allScopes } from '../../../services/users/scopes.ts'
import { createApiKey, createProject } from '../database/db-fixtures.ts'
import { createClient, type Client } from '../http/client.ts'
import type { Person, TestServer } from '../server/server.ts'

export interface Shop {
  id: string
  owner: Person
  client: Client
}

/** An organization with its owner. */
export async function createShop(server: TestServer): Promise<Shop> {
  const owner = await server.person()
  const { body } = await owner.client.post('/organizations', { name: 'Shop' })
  return { id: body.id, owner, client: owner.client }
}

/** A user who has this role in the organization of a shop. */
export async function join(server: TestServer, { id }: Shop, role: 'member' | 'admin'): Promise<Person> {
  const person = await server.person()
  const now = new Date()
  await server.services.database.prisma.organizationMember.create({
    data: { id: newId('omb'), organizationId: id, userId: person.id, role, status: 'active', createdAt: now },
  })
  return person
}

/** Everyone who may not sell for the shop. */
export async function strangersTo(server: TestServer, shop: Shop): Promise<Array<[string, Client]>> {
  const former = await join(server, shop, 'admin')
  await server.services.database.prisma.organizationMember.deleteMany({ where: { userId: former.id } })
  const project = await createProject({ server, caller: shop.owner, role: 'owner' })
  const limited = await createApiKey(server, shop.owner.id, { scopes: [...allScopes], projectIds: [project] })
  const weak = await createApiKey(server, shop.owner.id, { scopes: ['payments:read', 'payments:write'] })
  const { body: account } = await shop.client.post('/service-accounts', {
    name: 'Robot',
    organization_id: shop.id,
    role: 'admin',
  })
  const scopes = ['payments:read', 'payments:write', 'payments:sell']
  const { body: robot } = await shop.client.post(`/service-accounts/${account.id}/api-keys`, {
    name: 'k',
    scopes,
  })
  return [
    ['an admin of another organization', (await createShop(server)).client],
    ['a member', (await join(server, shop, 'member')).client],
    ['a former admin', former.client],
    ['a stranger', (await server.person()).client],
    ['the operator', server.admin.client],
    ['a key for a project', createClient(server.url, limited.secret)],
    ['a key without the scope', createClient(server.url, weak.secret)],
    ['a service account', createClient(server.url, robot.key)],
  ]
}
