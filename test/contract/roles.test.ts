// Roles: each operation allows exactly the project roles and states in its x-project-access. What keys of
// other users and other projects get is in tenants.test.ts. `npm test` asks with the lowest role that may and
// the highest that may not, `npm run faults` with all.
import t from 'tap'
import { ranks } from '../../services/projects/access.ts'
import {
  fixtures,
  projectOf,
  send,
  requestFor,
  operationInfos,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import type { Fixture, OperationRequest, ProjectRole } from '../support/operations/operation-fixture.ts'
import { catalogFor, pages } from '../support/database/db-fixtures-payments.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createApiKey, createProject } from '../support/database/db-fixtures.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const projectOperations = operationInfos.filter((info) => info.projectAccess !== null)
const caller = await server.person()
const all = Object.keys(ranks) as ProjectRole[]

for (const info of projectOperations) {
  const { id, projectAccess } = info
  const needed = projectAccess!.role as ProjectRole
  t.test(
    `${id} needs ${needed === 'none' ? 'no role in the project' : `the role ${needed} or above`}`,
    async (t) => {
      const isNear = (rank: ProjectRole) => [0, 1].includes(ranks[needed] - ranks[rank])
      for (const rank of all.filter((rank) => isLongForm || isNear(rank))) {
        const request = await requestFor(server, id, { caller, role: rank })
        if (ranks[rank] >= ranks[needed]) {
          const { statusForMember: whenMember }: Fixture = fixtures[id]
          const reply = await send(request)
          t.equal(
            reply.status,
            (rank === 'none' ? undefined : whenMember) ?? successStatus(id),
            `${rank} may: ${reply.text.slice(0, 200)}`,
          )
          continue
        }
        const before = await changes()
        const reply = await send(request)
        t.equal(reply.status, 403, `${rank} is rejected: ${reply.text.slice(0, 200)}`)
        t.match(reply.body, { error: { code: 'FORBIDDEN', details: { constraint: 'role' } } }, rank)
        t.same(await changes(), before, `${rank} changes nothing`)
      }
    },
  )
}

t.test(
  'an operation on a project in a wrong state is answered with 409, on a deleted project with 404',
  async (t) => {
    const requests: Array<[OperationRequest, 'active' | 'archived' | 'deleted']> = []
    for (const { id, projectAccess } of projectOperations) {
      const allowed = projectAccess!.states ?? ['active', 'archived']
      for (const status of ['active', 'archived', 'deleted'] as const) {
        if (allowed.includes(status)) continue
        // A member can leave an archived project, but not remove another member there.
        const other = id === 'removeMember' ? { forStatus: 409 } : {}
        const request = await requestFor(server, id, { caller, ...other })
        const at = new Date()
        await server.services.database.prisma.project.update({
          where: { id: projectOf(request) },
          data: {
            status,
            archivedAt: status === 'archived' ? at : null,
            deletedAt: status === 'deleted' ? at : null,
          },
        })
        requests.push([request, status])
      }
    }
    const before = await changes()
    for (const [request, status] of requests) {
      const reply = await send(request)
      t.equal(
        reply.status,
        status === 'deleted' ? 404 : 409,
        `${request.id} of a project with status ${status}: ${reply.text.slice(0, 200)}`,
      )
      if (status !== 'deleted')
        t.match(
          reply.body,
          { error: { code: 'INVALID_STATE', details: { field: 'status', constraint: status } } },
          request.id,
        )
    }
    t.same(await changes(), before, 'nothing changes')
  },
)

t.test('a checkout with items needs the role editor in its project', async (t) => {
  const { price, monthly } = await catalogFor(server)
  for (const [mode, id] of [
    ['payment', price],
    ['subscription', monthly],
  ] as const) {
    const postCheckout = async (rank: ProjectRole, status: 'active' | 'archived' | 'deleted' = 'active') =>
      await caller.client.post('/payments/checkout', {
        mode,
        items: [{ price_id: id }],
        project_id: await createProject({ server, caller, role: rank }, status),
        ...pages,
      })
    for (const rank of all) {
      t.equal((await postCheckout(rank)).status, ranks[rank] >= ranks.editor ? 201 : 403, `${mode}: ${rank}`)
    }
    t.match(await postCheckout('editor', 'archived'), {
      status: 409,
      body: { error: { code: 'INVALID_STATE', details: { constraint: 'archived' } } },
    })
    t.equal((await postCheckout('editor', 'deleted')).status, 404)
  }
  const {
    body: { data },
  } = await caller.client.get('/payments/orders?limit=100')
  t.same(
    data.filter((order: { project_id: string | null }) => order.project_id !== null),
    [],
    'none of these orders are personal orders of the caller',
  )
})

const withOptionalProject = projectOperations.filter(({ path }) => !path.includes('/projects'))

t.test('every operation on resources with an optional project has a fixture without a project', async (t) => {
  t.same(
    withOptionalProject.filter(({ id }) => fixtures[id].withoutProject === undefined).map(({ id }) => id),
    [],
  )
})

t.test('the owner of a resource without a project may do everything with it', async (t) => {
  for (const { id } of withOptionalProject) {
    const reply = await send(await requestFor(server, id, { withoutProject: true }))
    t.equal(reply.status, successStatus(id), id)
  }
})

t.test('a key that is limited to projects lists only these', async (t) => {
  const allowed = await requestFor(server, 'getProject', { caller })
  const { secret } = await createApiKey(server, caller.id, { projectIds: [allowed.params!.id] })
  const { body } = await send(await requestFor(server, 'listProjects', { caller }), { key: secret })
  t.same(
    body.data.map(({ id }: { id: string }) => id),
    [allowed.params!.id],
  )
})
