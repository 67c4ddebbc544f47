// A project with a member of each role.
import type { Person, TestServer } from './server.ts'

export type Role = 'owner' | 'admin' | 'editor' | 'viewer'

/** A project with a member of each role, and the members' ids. `path` is the path of the project. */
export async function team(server: TestServer) {
  const [owner, admin, editor, viewer, stranger] = await Promise.all(
    Array.from({ length: 5 }, () => server.person()),
  )
  const project = await owner.api.createProject({ body: { name: 'team' } })
  const path = { id: project.id }
  const ids: Record<string, string> = {}
  for (const [role, person] of [
    ['admin', admin],
    ['editor', editor],
    ['viewer', viewer],
  ] as Array<[Role, Person]>) {
    const { id } = await owner.api.addMember({ path, body: { user_id: person.id, role } })
    ids[role] = (await person.api.acceptInvitation({ path: { ...path, invitation_id: id } })).id
  }
  ids.owner = (await owner.api.listMembers({ path, query: { role: ['owner'] } })).data[0].id
  const member = (role: Role) => ({ ...path, member_id: ids[role] })
  return { path, project, owner, admin, editor, viewer, stranger, member }
}
