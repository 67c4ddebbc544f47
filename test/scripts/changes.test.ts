// `npm run changes`, the gate of this repository: accepted changes, and the release to compare with.
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import published from '../../generated/openapi.json' with { type: 'json' }
import { compareContracts } from '../../packages/changes/compare.ts'
import { acceptor, readAccepted, requireAccepted } from '../../packages/changes/accepted.ts'
import type { AcceptedBreak } from '../../packages/openapi/config.ts'
import { lastRelease } from '../../scripts/changes/release.ts'
import { createSpecLocator } from '../../scripts/changes/spec-locator.ts'
import { profile } from '../../scripts/profiles/changes.ts'

const main = join(import.meta.dirname, '../../scripts/changes/main.ts')

type Json = any

/** A contract with one operation, whose answer has these headers. */
const contract = (headers: Json): Json => ({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1.0.0' },
  paths: { '/things': { get: { responses: { 200: { description: 'A page.', headers } } } } },
})

const accepted: AcceptedBreak = {
  subject: 'GET /things',
  rule: 'header-removed',
  message: 'the header Link',
  reason: 'no client reads it',
  until: '2026-06-30',
}

t.test('a breaking change is accepted with a reason until its date', async (t) => {
  const changes = compareContracts(contract({ Link: {}, Age: {} }), contract({})).filter(
    ({ weight }) => weight === 'breaking',
  )
  t.equal(changes.length, 2, 'Link and Age')
  const on = (day: string, list = [accepted]) => {
    const { reasonFor, problems } = acceptor(list, new Date(day))
    return { reasons: changes.map(reasonFor), ...problems(changes) }
  }
  const last = on('2026-06-30T23:59:00Z')
  t.same(last, { reasons: ['no client reads it, until 2026-06-30', null], errors: [], notes: [] })
  const past = on('2026-07-01')
  t.same(past.reasons, [null, null])
  t.match(past.errors, [/^GET \/things \(header-removed, the header Link\) was accepted until 2026-06-30/])
  const { message, ...both } = accepted
  t.same(on('2026-06-01', [both]).reasons.length, 2)
  t.match(on('2026-06-01', [{ ...accepted, rule: 'body-removed' }]), {
    reasons: [null, null],
    errors: [],
    notes: [/is no longer a change: delete the entry/],
  })
})

t.test('the list of accepted changes is checked', async (t) => {
  t.same(requireAccepted([accepted], 'the list'), [accepted])
  const wrong: Array<[unknown, RegExp]> = [
    [{}, /must be a list/],
    [[{ ...accepted, reason: ' ' }], /entry 1 must have the text `reason`/],
    [[accepted, { ...accepted, until: undefined }], /entry 2 must have the text `until`/],
    [[{ ...accepted, until: '2026-02-30' }], /entry 1 must have a date/],
    [[{ ...accepted, till: '2026-02-03' }], /unknown key `till`/],
  ]
  for (const [list, says] of wrong) t.throws(() => requireAccepted(list, 'the list'), says)
  const file = join(t.testdir({ 'list.json': '[' }), 'list.json')
  t.throws(() => readAccepted(file, 'list.json'), /^list\.json: /)
})

/** Creates a repository with a commit for each version and returns its last release. */
async function repository(
  t: Test,
  versions: string[],
  { tag, shallow = false }: { tag?: string; shallow?: boolean } = {},
) {
  const folder = t.testdir({ whole: {} })
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync(
      'git',
      ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false', ...args],
      { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    ).trim()
  const whole = join(folder, 'whole')
  git(whole, 'init', '-q')
  for (const [i, version] of versions.entries()) {
    writeFileSync(join(whole, 'package.json'), `{\n  "version": "${version}",\n  "step": ${i}\n}\n`)
    git(whole, 'add', '.')
    git(whole, 'commit', '-qm', version)
    if (i === 0 && tag !== undefined) git(whole, 'tag', tag)
  }
  if (!shallow) return lastRelease(whole)
  git(folder, 'clone', '-q', '--depth=1', `file://${whole}`, 'shallow')
  return lastRelease(join(folder, 'shallow'))
}

t.test('the last release is the newest tag before HEAD', async (t) => {
  t.same(await repository(t, ['1.0.0', '1.1.0'], { tag: 'v1.0.0' }), { ref: 'v1.0.0', name: 'v1.0.0' })
})

t.test('without tags the last release is the commit that set the version, unless it is HEAD', async (t) => {
  t.match(await repository(t, ['1.0.0', '1.0.0', '1.0.0']), { name: /^1\.0\.0 \([0-9a-f]{7}\)$/ })
  t.match(await repository(t, ['1.0.0', '1.1.0']), { name: /^1\.0\.0 / })
  t.match(await repository(t, ['1.0.0', '1.1.0', '1.1.0']), { name: /^1\.1\.0 / })
})

t.test('a first version has no release before it, and a shallow clone cannot know', async (t) => {
  t.same(await repository(t, ['1.0.0']), { missing: 'no earlier version was found' })
  t.same(await repository(t, ['1.0.0', '1.1.0'], { shallow: true }), {
    missing: 'this clone has no tags and no full history',
  })
})

t.test('paths of two files count from where npm was called', (t) => {
  const document = (description: string): string =>
    JSON.stringify({ ...contract({}), info: { title: 'Things', version: '1.0.0', description } })
  const cwd = t.testdir({ old: { 'a.json': document('One.') }, new: { 'b.json': document('Two.') } })
  const changes = (cwd: string, args: string[], env: Record<string, string> = {}) => {
    const { INIT_CWD: _, npm_lifecycle_event: __, ...inherited } = process.env
    return spawnSync(process.execPath, [main, ...args], {
      cwd,
      env: { ...inherited, ...env },
      encoding: 'utf8',
    })
  }
  const env = { npm_lifecycle_event: 'changes', INIT_CWD: join(cwd, 'old') }
  const found = changes(cwd, ['a.json', '../new/b.json'], env)
  t.match({ ...found }, { status: 0, stdout: /^Since a\.json:\n\nDocumentation only: 1\n/ })
  t.equal(changes(cwd, ['a.json', 'new/b.json']).status, 2, 'otherwise from the working directory')
  t.match({ ...changes(cwd, ['a', 'b', 'c']) }, { status: 2, stderr: /or two files/ })
  t.end()
})

const declared: Record<string, [rule: string, weight: string, from: Json, to: Json]> = {
  'a higher role is required': [
    'role-raised',
    'breaking',
    { 'x-project-access': { role: 'viewer' } },
    { 'x-project-access': { role: 'admin' } },
  ],
  'a role in the organization is required': [
    'role-raised',
    'breaking',
    {},
    { 'x-organization-access': { role: 'admin' } },
  ],
  'a lower role is required': [
    'role-lowered',
    'safe',
    { 'x-project-access': { role: 'editor', states: ['active'] } },
    { 'x-project-access': { role: 'viewer', states: ['active'] } },
  ],
  'a project state is no longer allowed': [
    'project-state-removed',
    'breaking',
    { 'x-project-access': { role: 'viewer' } },
    { 'x-project-access': { role: 'viewer', states: ['active'] } },
  ],
  'another rate limit holds': ['rate-limit-changed', 'safe', {}, { 'x-rate-limit': 'write' }],
}

for (const [name, [rule, weight, from, to]] of Object.entries(declared)) {
  t.test(`${weight}: ${name}`, async (t) => {
    const withAccess = (access: Json): Json => {
      const document = contract({})
      Object.assign(document.paths['/things'].get, access)
      return document
    }
    t.match(compareContracts(withAccess(from), withAccess(to), profile), [{ rule, weight }])
  })
}

t.test('a webhook is found in x-events', async (t) => {
  const text = 'paths: {}\nx-events:\n  thing.created: {}\n'
  const place = createSpecLocator((file) => (file === 'spec/openapi.yaml' ? text : null))
  t.same(place('/webhooks/thing.created/post'), { file: 'spec/openapi.yaml', line: 3 })
})

/** Additions to the real contract that must stay possible within `v1`. */
const growth: Record<string, (schemas: Json) => void> = {
  'a status of subscriptions': ({ SubscriptionStatus }) => {
    SubscriptionStatus.enum.push('expired')
  },
  'a role of members': ({ MemberRole }) => {
    MemberRole.enum.push('billing')
  },
  'a type of document sources': ({ KnowledgeDocument }) => {
    KnowledgeDocument.properties.source.properties.type.anyOf[0].enum.push('url')
  },
  'a field of projects': ({ Project }) => {
    Project.properties.surprise = { type: 'string' }
    Project.required.push('surprise')
  },
}

for (const [name, grow] of Object.entries(growth)) {
  t.test(`the contract can grow within v1 by ${name}`, async (t) => {
    const after = structuredClone(published) as Json
    grow(after.components.schemas)
    const changes = compareContracts(published, after, profile)
    t.ok(changes.length > 0)
    t.same(
      changes.filter(({ weight }) => weight !== 'safe'),
      [],
    )
  })
}

t.test('the events of a stream are compared, not its derived schema', async (t) => {
  const after = structuredClone(published) as Json
  const media = after.components.responses.MessageStream.content['text/event-stream']
  media['x-stream-events'].thought = { $ref: '#/components/schemas/MessageDelta' }
  media.schema.anyOf.push({ type: 'object' })
  t.same(
    [...new Set(compareContracts(published, after, profile).map(({ weight, rule }) => `${weight} ${rule}`))],
    ['safe stream-event-added'],
  )
})
