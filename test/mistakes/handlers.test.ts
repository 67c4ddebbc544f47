// Mistakes in the handlers of this project, and in the spec about them: the step `types` of `npm run check`
// finds each, at its place. All are made at once, in a copy. In `npm test` the compiler checks the files
// around the mistakes and what they import, in `npm run faults` all.
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { typeProblems } from '../../scripts/check/types.ts'
import { isLongForm } from '../support/long-form.ts'

const root = join(import.meta.dirname, '../..')

interface Mistake {
  /** Default: handlers/invitations.ts. */
  file?: string
  change: [from: string | RegExp, to: string]
  says: RegExp
}

const mistakes: Record<string, Mistake> = {
  'a handler without the check of the role': {
    change: [
      /(getInvitation.*\n) .*openProject.*\n/,
      '$1    const project = { id: request.params.id } as never\n',
    ],
    says: /^handlers\/invitations\.ts:\d+:3 getInvitation never checks the role/,
  },
  'a handler without If-Match': {
    change: ['      request.ifMatch(previous)\n', ''],
    says: /^handlers\/invitations\.ts:\d+:3 revokeInvitation never compares If-Match/,
  },
  'a handler without its event': {
    change: [/ +await events\.emit\(tx, 'invitation\.revoked'.*\n/, ''],
    says: /^handlers\/invitations\.ts:\d+:3 revokeInvitation writes, but never emits an event/,
  },
  'an answer without its Location': {
    change: [/, headers: \{ location: `\/v1\/projects\/\$\{id\}\/members.*\} \}/, ' }'],
    says: /^handlers\/invitations\.ts:\d+:9 acceptInvitation: Property 'headers' is missing/,
  },
  'an answer with a property that the spec does not declare': {
    file: 'handlers/members.ts',
    change: [/(async getMember[^]*?body: )(await .*) \}\n/, '$1{ ...($2), extra: 1 } }\n'],
    says: /^handlers\/members\.ts:\d+:\d+ getMember: the answer has `extra`/,
  },
  'a status that the spec does not declare': {
    file: 'handlers/api-keys.ts',
    change: [
      'return { status: 200, body: currentApiKey(principal) }',
      'const status = principal.credentialId ? 200 : 202\n' +
        '    return { status, body: currentApiKey(principal) }',
    ],
    says: /^handlers\/api-keys\.ts:\d+:\d+ getCurrentApiKey: .*202/,
  },
  'an answer without a required property': {
    file: 'handlers/system.ts',
    change: ["body: { status: 'ok' }", 'body: {}'],
    says: /^handlers\/system\.ts:\d+:\d+ getHealth: .*'status' is missing/,
  },
  'a handler without an operation': {
    file: 'handlers/avatar.ts',
    change: [
      '  async getAvatar(',
      '  async getPicture() {\n    return { status: 204 }\n  },\n\n  async getAvatar(',
    ],
    says: /^handlers\/avatar\.ts:\d+:\d+ getPicture: .*'getPicture' does not exist/,
  },
  'an operation without a handler': {
    file: 'handlers/ai.ts',
    change: [/ {2}async getAiUsage[^]*?\n {2}\},\n/, ''],
    says: /^handlers\/ai\.ts:\d+:\d+ .*'getAiUsage' is missing/,
  },
  'a promise that is not awaited': {
    file: 'handlers/projects.ts',
    change: [
      "      await update(tx, events, 'project.deleted'",
      "      update(tx, events, 'project.deleted'",
    ],
    says: /^handlers\/projects\.ts:\d+:\d+ this promise is not awaited/,
  },
  'an order that the list does not know': {
    file: 'generated/types.ts',
    change: [/(export interface ListProjectsQuery \{[^]*?sort\?: )/, '$1"nick" | '],
    says: /^(?:handlers|services)\/.*projects\.ts:\d+:\d+ .*"nick"/,
  },
  'a status that no code answers': {
    file: 'generated/openapi.json',
    change: [/("operationId": "removeMember"[^]*?"responses": \{)/, '$1 "202": { "description": "Later." },'],
    says: /^spec\/projects\.yaml:\d+:1 removeMember never answers 202/,
  },
  'a filter that the handler ignores': {
    file: 'generated/types.ts',
    change: ['export interface ListMembersQuery {', 'export interface ListMembersQuery { nick?: string'],
    says: /^services\/projects\/members\.ts:\d+:\d+ nick: .*'NoFilterInSql<"nick">'/,
  },
  'a field of a request that the handler ignores': {
    file: 'generated/types.ts',
    change: ['export interface ProjectCreate {', 'export interface ProjectCreate { nick?: string'],
    says: /^spec\/projects\.yaml:\d+:\d+ no code reads the field `nick` of ProjectCreate \(createProject\)/,
  },
}

t.test('each mistake is found at its place, and nothing else', async (t) => {
  const folder = t.testdir({})
  for (const part of ['app', 'handlers', 'services', 'infra', 'spec', 'generated', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  for (const { file = 'handlers/invitations.ts', change } of Object.values(mistakes)) {
    const before = readFileSync(join(folder, file), 'utf8')
    const after = before.replace(...(change as [string, string]))
    if (after === before) throw new Error(`${file} has no ${change[0]}`)
    writeFileSync(join(folder, file), after)
  }
  const near = new Set(Object.values(mistakes).map(({ file = 'handlers/invitations.ts' }) => file))
  const handlers = [...near].filter((name) => name.startsWith('handlers/'))
  if (!isLongForm) keepHandlers(join(folder, 'generated/routes.ts'), handlers)
  const include = isLongForm
    ? ['app', 'handlers', 'services', 'infra']
    : [...handlers, 'services/projects', 'generated/routes.ts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  const isChecked = isLongForm
    ? undefined
    : (name: string) => near.has(name) || /^(services\/projects\/|generated\/routes)/.test(name)
  const problems = typeProblems(folder, isChecked).filter((problem) => !problem.startsWith('generated/'))
  for (const [name, { says }] of Object.entries(mistakes))
    t.equal(problems.filter((problem) => says.test(problem)).length, 1, name)
  const others = problems.filter((problem) => !Object.values(mistakes).some(({ says }) => says.test(problem)))
  const texts = handlers.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  /** The short form has no handler that could read the field. */
  const isLeftOut = (problem: string): boolean => {
    const operation = /no code reads the field .* \((\w+)\)/.exec(problem)?.[1]
    return !isLongForm && operation !== undefined && !texts.includes(`async ${operation}(`)
  }
  t.same(
    others.filter((problem) => !isLeftOut(problem)),
    [],
  )
})

/**
 * Removes the other handlers from the table of all, so that the program has neither them nor their services.
 */
function keepHandlers(file: string, handlers: string[]): void {
  const text = readFileSync(file, 'utf8')
  const imported = [...text.matchAll(/^import \{ (\w+) \} from '\.\.\/(handlers\/.*)'\n/gm)]
  const others = imported.filter(([, , name]) => !handlers.includes(name)).map(([, name]) => name)
  const name = `(?:${others.join('|')})`
  const line = new RegExp(
    `^(?:import \\{ ${name} \\} .*| {2}\\.\\.\\.${name},| {2}Holds<Exact<typeof ${name}, .*)\\n`,
    'gm',
  )
  writeFileSync(file, text.replace(line, ''))
}

t.test('docs/mistakes.md lists each', (t) => {
  const lines = readFileSync(join(root, 'docs/mistakes.md'), 'utf8').split('\n')
  for (const name of Object.keys(mistakes)) t.ok(lines.includes(`- ${name}`), name)
  t.end()
})
