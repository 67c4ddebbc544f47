// This project's profile of `changes`: the roles, project states and rate limits that operations declare.
import { child, same, type Node, type Place, type Report } from '@platform-api/changes/change.ts'
import type { ChangesProfile } from '@platform-api/changes/profile.ts'

const access = ['x-project-access', 'x-organization-access']
const roles = ['none', 'viewer', 'editor', 'admin', 'owner']

export const profile: ChangesProfile = {
  extensions: [...access, 'x-rate-limit'],
  includedScopes: (document) => document['x-included-scopes'] ?? {},
  compareOperation(report, before, after) {
    for (const name of access) compareRoles(report, before, after, name)
    const [from, to] = [before.value['x-rate-limit'], after.value['x-rate-limit']]
    if (from !== to)
      report(
        'safe',
        'rate-limit-changed',
        `rate limit changed from ${from ?? 'the default'} to ${to ?? 'the default'}`,
        { side: 'after', pointer: after.pointer },
      )
  },
}

function compareRoles(report: Report, before: Node, after: Node, name: string): void {
  const [from, to] = [before.value[name], after.value[name]]
  if (same(from, to)) return
  const place: Place = { side: 'after', pointer: child(after, name).pointer }
  const [rankBefore, rankAfter] = [roles.indexOf(from?.role ?? 'none'), roles.indexOf(to?.role ?? 'none')]
  if (rankAfter > rankBefore)
    report(
      'breaking',
      'role-raised',
      `the required role changed from ${from?.role ?? 'none'} to ${to.role}`,
      place,
      before.pointer,
    )
  if (rankAfter < rankBefore)
    report(
      'safe',
      'role-lowered',
      `the required role changed from ${from.role} to ${to?.role ?? 'none'}`,
      place,
    )
  const defaults = ['active', 'archived']
  const [statesBefore, statesAfter]: [string[], string[]] = [from?.states ?? defaults, to?.states ?? defaults]
  for (const state of statesBefore)
    if (!statesAfter.includes(state))
      report(
        'breaking',
        'project-state-removed',
        `no longer allowed for a project in state ${state}`,
        place,
        before.pointer,
      )
  for (const state of statesAfter)
    if (!statesBefore.includes(state))
      report('safe', 'project-state-added', `now allowed for a project in state ${state}`, place)
}
